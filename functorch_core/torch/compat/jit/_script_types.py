"""The types of TorchScript, as torch.IntType.get() and torch.ListType(...): they are named, printed and compared."""

from __future__ import annotations

from collections.abc import Sequence


class Type:
    """A type of TorchScript.

    >>> isinstance(torch.IntType.get(), torch.Type)
    True
    """

    __module__ = "torch"

    def __init__(self, *args):
        raise TypeError(f"torch._C.{type(self).__name__}: No constructor defined!")

    def kind(self) -> str:
        """The name of its class."""
        return type(self).__name__

    @property
    def annotation_str(self) -> str:
        """The type as an annotation is written."""
        return self._text

    def str(self) -> str:
        """The type as schemas of operators write it."""
        return self._in_schemas

    def __repr__(self):
        return self._text

    def containedTypes(self) -> list[Type]:
        """The types of its elements."""
        return []

    def is_interface_type(self) -> bool:
        """Whether it is an InterfaceType: no."""
        return False

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether its values are values of another type, too."""
        if isinstance(other, OptionalType):
            return self == other or isinstance(self, NoneType) or self.isSubtypeOf(other.getElementType())
        return self == other or isinstance(other, AnyType)

    def __eq__(self, other: Type):
        if not isinstance(other, Type):
            raise TypeError(f"__eq__(): incompatible function arguments: a torch.Type is expected, got {other!r}")
        return type(self) is type(other) and self.containedTypes() == other.containedTypes()

    __hash__ = None


# ---- types without elements ----------------------------------------------------------------------


class _Single(Type):
    """A type there is one of."""

    @property
    def _in_schemas(self) -> str:
        return self._text

    @classmethod
    def get(cls):
        """The type."""
        if "_only" not in vars(cls):
            cls._only = object.__new__(cls)
        return cls._only


class _OfNumbers(_Single):
    def isSubtypeOf(self, other: Type) -> bool:
        """Whether its values are values of another type, too: of NumberType."""
        return isinstance(other, NumberType) or super().isSubtypeOf(other)


class AnyType(_Single):
    """The type Any of TorchScript.

    >>> torch.AnyType.get()
    Any
    """

    __module__, _text = "torch", "Any"


class BoolType(_Single):
    """The type bool of TorchScript.

    >>> torch.BoolType.get()
    bool
    """

    __module__, _text = "torch", "bool"


class DeviceObjType(_Single):
    """The type Device of TorchScript.

    >>> torch.DeviceObjType.get()
    Device
    """

    __module__, _text = "torch", "Device"


class NoneType(_Single):
    """The type NoneType of TorchScript.

    >>> torch.NoneType.get()
    NoneType
    """

    __module__, _text = "torch", "NoneType"


class PyObjectType(_Single):
    """The type PyObject of TorchScript.

    >>> torch.PyObjectType.get()
    PyObject
    """

    __module__, _text = "torch", "PyObject"


class StreamObjType(_Single):
    """The type Stream of TorchScript.

    >>> torch.StreamObjType.get()
    Stream
    """

    __module__, _text = "torch", "Stream"


class StringType(_Single):
    """The type str of TorchScript.

    >>> torch.StringType.get()
    str
    """

    __module__, _text = "torch", "str"


class SymBoolType(_Single):
    """The type bool of TorchScript.

    >>> torch.SymBoolType.get()
    bool
    """

    __module__, _text = "torch", "bool"
    _in_schemas = "SymBool"


class SymIntType(_Single):
    """The type int of TorchScript.

    >>> torch.SymIntType.get()
    int
    """

    __module__, _text = "torch", "int"
    _in_schemas = "SymInt"


class TensorType(_Single):
    """The type Tensor of TorchScript.

    >>> torch.TensorType.get()
    Tensor
    """

    __module__, _text = "torch", "Tensor"


class ComplexType(_OfNumbers):
    """The type complex of TorchScript.

    >>> torch.ComplexType.get()
    complex
    """

    __module__, _text = "torch", "complex"


class FloatType(_OfNumbers):
    """The type float of TorchScript.

    >>> torch.FloatType.get()
    float
    """

    __module__, _text = "torch", "float"


class IntType(_OfNumbers):
    """The type int of TorchScript.

    >>> torch.IntType.get()
    int
    """

    __module__, _text = "torch", "int"


class NumberType(_OfNumbers):
    """The type number of TorchScript.

    >>> torch.NumberType.get()
    number
    """

    __module__, _text = "torch", "number"
    _in_schemas = "Scalar"


# ---- types of elements ---------------------------------------------------------------------------


class _Container(Type):
    """A type with one type of elements."""

    _title = _form = ""  # of annotations and of schemas

    def __init__(self, element: Type):
        _check(type(self), element)
        self._elements = (element,)

    @property
    def _text(self) -> str:
        return f"{self._title}[{', '.join([x._text for x in self._elements])}]"

    @property
    def _in_schemas(self) -> str:
        return self._form.format(", ".join([x.str() for x in self._elements]))

    def getElementType(self) -> Type:
        """The type of its elements."""
        return self._elements[0]

    def containedTypes(self) -> list[Type]:
        """The types of its elements."""
        return list(self._elements)


def _check(cls: type, *types):
    for x in types:
        if not isinstance(x, Type):
            raise TypeError(f"torch.{cls.__name__}(): a torch.Type is expected, got {x!r}")


class FutureType(_Container):
    """The type of torch.jit.fork's result.

    >>> torch.FutureType(torch.IntType.get())
    Future[int]
    """

    __module__, _title, _form = "torch", "Future", "Future[{}]"


class AwaitType(_Container):
    """The type of a value that is computed when it is waited for.

    >>> torch.AwaitType(torch.IntType.get())
    Await[int]
    """

    __module__, _title, _form = "torch", "Await", "Await({})"


class RRefType(_Container):
    """The type of a reference to another process's value.

    >>> torch.RRefType(torch.IntType.get())
    RRef[int]
    """

    __module__, _title, _form = "torch", "RRef", "RRef[{}]"


class ListType(_Container):
    """The type of a list.

    >>> torch.ListType(torch.IntType.get())
    List[int]
    """

    __module__, _title, _form = "torch", "List", "{}[]"

    @classmethod
    def ofBools(cls) -> ListType:
        """List[bool]."""
        return cls(BoolType.get())

    @classmethod
    def ofComplexDoubles(cls) -> ListType:
        """List[complex]."""
        return cls(ComplexType.get())

    @classmethod
    def ofFloats(cls) -> ListType:
        """List[float]."""
        return cls(FloatType.get())

    @classmethod
    def ofInts(cls) -> ListType:
        """List[int]."""
        return cls(IntType.get())

    @classmethod
    def ofStrings(cls) -> ListType:
        """List[str]."""
        return cls(StringType.get())

    @classmethod
    def ofTensors(cls) -> ListType:
        """List[Tensor]."""
        return cls(TensorType.get())


class OptionalType(_Container):
    """The type of a value or None.

    >>> torch.OptionalType(torch.FloatType.get())
    Optional[float]
    """

    __module__, _title, _form = "torch", "Optional", "{}?"

    def __init__(self, element: Type):
        super().__init__(element.getElementType() if isinstance(element, OptionalType) else element)

    @classmethod
    def ofTensor(cls) -> OptionalType:
        """Optional[Tensor]."""
        return cls(TensorType.get())

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether its values are values of another type, too."""
        if isinstance(other, OptionalType):
            return self.getElementType().isSubtypeOf(other.getElementType())
        return super().isSubtypeOf(other)


class DictType(_Container):
    """The type of a dict.

    >>> torch.DictType(torch.StringType.get(), torch.IntType.get())
    Dict[str, int]
    """

    __module__, _title, _form = "torch", "Dict", "Dict({})"

    def __init__(self, key: Type, value: Type):
        _check(DictType, key, value)
        self._elements = (key, value)

    def getKeyType(self) -> Type:
        """The type of its keys."""
        return self._elements[0]

    def getValueType(self) -> Type:
        """The type of its values."""
        return self._elements[1]


class TupleType(_Container):
    """The type of a tuple.

    >>> torch.TupleType([torch.IntType.get(), torch.FloatType.get()])
    Tuple[int, float]
    """

    __module__, _title, _form = "torch", "Tuple", "({})"

    def __init__(self, elements: Sequence[Type]):
        _check(TupleType, *elements)
        self._elements = tuple(elements)

    @property
    def _text(self) -> str:
        return super()._text if self._elements else "Tuple[()]"

    def elements(self) -> list[Type]:
        """The types of its elements."""
        return list(self._elements)

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether its values are values of another type, too: its elements are, one by one."""
        if isinstance(other, TupleType) and len(other._elements) == len(self._elements):
            return all(x.isSubtypeOf(y) for x, y in zip(self._elements, other._elements))
        return super().isSubtypeOf(other)


class FatalError(Exception):
    """What PyTorch's interpreter of TorchScript raises when it cannot go on; nothing here raises it.

    >>> issubclass(torch.FatalError, Exception)
    True
    """

    __module__ = "torch"
