"""Structures of trees and signatures of functions as plain data, for what is saved to files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..core import tree
from ..core.aval import Aval, aval
from ..core.dtypes import canonical

LEAF = {"leaf": True}
NOT_SAVED = """export: {kind} in the arguments or the result is a container that is not known to files.
    Register it: export.register_pytree_node_serialization({kind}, serialized_name="...", serialize_auxdata=...,
    deserialize_auxdata=...), or register_namedtuple_serialization."""
UNKNOWN = """export.deserialize: the file has the container {name!r}, which is not registered here.
    Register it as where the file was written: export.register_pytree_node_serialization."""

# serialized name -> (class, aux -> bytes, bytes -> aux, the tree of aux and children)
registered: dict[str, tuple[type, Callable, Callable, Callable]] = {}


def tree_data(treedef: tree.PyTreeDef) -> Any:
    """A structure as JSON's data."""
    if treedef.node_data() is None:
        return LEAF if treedef.num_leaves else {"none": True}
    kind, aux = treedef.node_data()
    children = [tree_data(child) for child in treedef.children()]
    if kind is type(None):
        return {"none": True}
    if kind in (tuple, list):
        return {kind.__name__: children}
    if kind is dict:
        return {"dict": [[type(k).__name__, k, c] for k, c in zip(aux, children)]}
    for name, (cls, write, _, _) in registered.items():
        if cls is kind:
            return {"node": name, "aux": write(aux).hex(), "children": children}
    raise TypeError(NOT_SAVED.format(kind=kind.__name__))


def structure_of(data: Any) -> tree.PyTreeDef:
    """The structure of JSON's data."""
    return tree.structure(_example(data))


def _example(data: Any) -> Any:
    if "leaf" in data:
        return 0
    if "none" in data:
        return None
    if "dict" in data:
        return {(int(k) if kind == "int" else k): _example(c) for kind, k, c in data["dict"]}
    if "node" in data:
        if data["node"] not in registered:
            raise ValueError(UNKNOWN.format(name=data["node"]))
        _, _, read, make = registered[data["node"]]
        return make(read(bytes.fromhex(data["aux"])), [_example(c) for c in data["children"]])
    ((kind, children),) = data.items()
    return {"tuple": tuple, "list": list}[kind](map(_example, children))


def kind_data(kind: Aval | type) -> Any:
    """What a signature has of an argument: an aval, or float or int for a Python number."""
    return kind.__name__ if isinstance(kind, type) else [list(kind.shape), kind.dtype.name]


def kind_of_data(data: Any) -> Aval | type:
    """The aval, or the class of numbers."""
    if isinstance(data, str):
        return {"float": float, "int": int, "complex": complex, "bool": bool}[data]
    return aval(tuple(data[0]), canonical(data[1]))


def packed(header: dict, *blobs: bytes) -> bytes:
    """A header and blobs as bytes."""
    head = json.dumps({**header, "sizes": list(map(len, blobs))}).encode()
    return len(head).to_bytes(8, "little") + head + b"".join(blobs)


def unpacked(data: bytes) -> tuple[dict, list[bytes]]:
    """The header and the blobs of packed bytes."""
    data = bytes(data)
    begin = 8 + int.from_bytes(data[:8], "little")
    header, blobs = json.loads(data[8:begin]), []
    for size in header["sizes"]:
        blobs.append(data[begin : begin + size])
        begin += size
    return header, blobs
