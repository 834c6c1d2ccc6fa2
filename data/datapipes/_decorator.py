"""Decorators of pipes: names as methods, and promises of determinism."""

from __future__ import annotations

import functools

from .datapipe import IterDataPipe, MapDataPipe

FORBIDDEN = (
    "{name} is non-deterministic{inputs}, but you set 'guaranteed_datapipes_determinism'. "
    "You can turn off determinism for this DataPipe if that is acceptable for your "
    "application"
)


class _Setting:
    """Something that is on or off, for a while."""

    def __init__(self, on: bool):
        self.on = on


_determinism, _validation = _Setting(False), _Setting(True)


class _Changed:
    """Context in which a setting is another; it counts from when the object is made."""

    setting: _Setting
    value: bool

    def __init__(self):
        self.prev, self.setting.on = self.setting.on, self.value

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        self.setting.on = self.prev


class guaranteed_datapipes_determinism(_Changed):
    """Context in which pipes that are `non_deterministic` raise TypeError.

    >>> with torch.utils.data.guaranteed_datapipes_determinism():
    ...   pass
    """

    setting, value = _determinism, True


class runtime_validation_disabled(_Changed):
    """Context without checks of samples (there are none).

    >>> with torch.utils.data.runtime_validation_disabled():
    ...   pass
    """

    setting, value = _validation, False


class functional_datapipe:
    """Let a class of pipes be a method of all pipes.

    >>> from torch.utils.data import IterDataPipe, functional_datapipe
    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> @functional_datapipe("twice")
    ... class Twice(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         for x in self.source:
    ...             yield from (x, x)
    >>> list(IterableWrapper([1, 2]).twice())
    [1, 1, 2, 2]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False):
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls):
        made = cls if isinstance(cls, type) else _decorated(cls)
        if issubclass(made, IterDataPipe):
            IterDataPipe.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
        elif issubclass(made, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


def _decorated(maker) -> type:
    """The class behind `non_deterministic`."""
    holder = getattr(maker, "__self__", maker)
    if not isinstance(holder, non_deterministic):
        raise TypeError("`functional_datapipe` can only decorate IterDataPipe")
    return holder.cls


class non_deterministic:
    """Declare a class of pipes, or those for whose arguments a function says True, as not
    deterministic: `@non_deterministic` or `@non_deterministic(function)`.

    >>> from torch.utils.data.datapipes.iter import IterableWrapper
    >>> @torch.utils.data.non_deterministic
    ... class Mine(IterableWrapper): pass
    >>> list(Mine([1, 2]))
    [1, 2]
    """

    cls: type | None = None

    def __init__(self, arg):
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found"
                )
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args, **kwargs):
        if self.cls is not None:
            return self._made("", args, kwargs)
        cls = args[0]
        if not (isinstance(cls, type) and issubclass(cls, IterDataPipe)):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {cls.__name__} is found")
        self.cls = cls
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args, **kwargs):
        """The pipe; TypeError if the function says that it is not deterministic, and it has to."""
        says = self.deterministic_fn(*args, **kwargs)
        if not isinstance(says, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required to "
                f"return a boolean value, but {type(says)} is found"
            )
        return self._made(" with the inputs", args, kwargs) if says else self.cls(*args, **kwargs)

    def _made(self, inputs: str, args, kwargs):
        if _determinism.on:
            raise TypeError(FORBIDDEN.format(name=self.cls.__name__, inputs=inputs))
        return self.cls(*args, **kwargs)


def argument_validation(f):
    """Accepted: the declared types of pipes are not compared.

    >>> torch.utils.data.argument_validation(len)([1, 2])
    2
    """
    return functools.wraps(f)(lambda *args, **kwargs: f(*args, **kwargs))


def runtime_validation(f):
    """Accepted for `__iter__`: samples are not compared with the declared type.

    >>> class Pipe:
    ...   @torch.utils.data.runtime_validation
    ...   def __iter__(self):
    ...     yield 1
    >>> list(Pipe())
    [1]
    """
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def iterate(self):
        yield from f(self)

    return iterate
