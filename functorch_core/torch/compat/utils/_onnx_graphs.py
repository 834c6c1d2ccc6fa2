"""The graph of an ONNX file, as TensorBoard shows it: for SummaryWriter.add_onnx_graph. The package onnx reads it."""

from __future__ import annotations

import importlib

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from ._module_graphs import PRODUCER


def onnx_graph(path: str) -> GraphDef:
    """A node for each input, each output and each operator, which has the name of its first result."""
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise ModuleNotFoundError(
            "SummaryWriter.add_onnx_graph reads files by the package onnx: pip install onnx", name="onnx"
        ) from error
    graph = onnx.load(path).graph
    nodes = [_variable(x) for x in (*graph.input, *graph.output)] + [_operator(x) for x in graph.node]
    return GraphDef(node=nodes, versions=VersionDef(producer=PRODUCER))


def _variable(x) -> NodeDef:
    kind = x.type.tensor_type
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=dim.dim_value) for dim in kind.shape.dim])
    return NodeDef(
        name=x.name, op="Variable", attr={"dtype": AttrValue(type=kind.elem_type), "shape": AttrValue(shape=shape)}
    )


def _operator(x) -> NodeDef:
    parameters = [" = ".join([str(value) for _, value in attribute.ListFields()]) for attribute in x.attribute]
    attributes = {"parameters": AttrValue(s=", ".join(parameters).encode())}
    return NodeDef(name=x.output[0], op=x.op_type, input=x.input, attr=attributes)
