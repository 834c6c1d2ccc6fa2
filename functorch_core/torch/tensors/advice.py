"""What to do next about the commonest mistakes, by what PyTorch's message says.

One line each: a pattern of the message, and the next step: a text, in which {0} is the pattern's first
group, or a function of the match and the call.
"""

from __future__ import annotations

import re


def _product(found: re.Match, call: str) -> str:
    rows, inner, other, columns = found.groups()
    if "Linear(" in call or call.startswith("F.linear"):
        return f"the last dimension of the input must be in_features, {other}: it is {inner}"
    if inner == columns:
        return f"transpose the second: x @ y.mT, which is {rows}x{inner} @ {columns}x{other}"
    if rows == other:
        return f"transpose the first: x.mT @ y, which is {inner}x{rows} @ {other}x{columns}"
    return f"the {inner} columns of the first must be as many as the {other} rows of the second: transpose one of them (x.mT), or reshape"


def _dtypes(found: re.Match, call: str) -> str:
    if "Linear(" in call or "Conv" in call:
        return "convert the input to the dtype of the weights, x.to(layer.weight.dtype), or the module, module.double()"
    return "convert one of them: x.to(y.dtype)"


def _channels(found: re.Match, call: str) -> str:
    return f"the input is (batch, channels, ...): give it {found[1]} channels (x.movedim(-1, 1) if they come last), or make the layer with in_channels={found[2]}"


def _indices(found: re.Match, call: str) -> str:
    if "mbedding" in call:
        return "indices must be from 0 to num_embeddings - 1: look at indices.min() and indices.max(), or make the table larger"
    return "look at index.min() and index.max(): valid are 0 to size - 1 of that dimension"


def _places(found: re.Match, call: str) -> str:
    last = int(found[2]) - 1
    if call.endswith("]"):
        return f"valid are -{found[2]} to {last}; a slice, x[i:i + 1], is empty there instead"
    return f"look at index.min() and index.max(): valid are 0 to {last}"


BROADCAST = (
    "dimensions, counted from the last, must be equal or 1: insert one with x[:, None] or x.unsqueeze(dim), "
    "or exchange two with x.mT"
)
CLASSES = (
    "cross_entropy's targets are class indices as int64, target.long(), or probabilities in the shape of the input"
)
LEAF = "write to it under `with torch.no_grad():`, or to a copy that is not a leaf: y = x.clone()"
ONE_NUMBER = "reduce it to one number first, x.sum() or x.mean(); x.tolist() gives all of them"

STEPS = (
    # ---- products
    (r"^mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", _product),
    (
        r"^size mismatch, got input",
        "the matrix's columns must be as many as the vector has elements: transpose it, x.mT @ v",
    ),
    (
        r"^Expected size for first two dimensions of batch2",
        "the second's rows must be the first's columns: transpose it, y.mT",
    ),
    (
        r"^batch\d must be a 3D tensor",
        "give it a batch dimension, x[None], or multiply with x @ y, which takes any number of them",
    ),
    (
        r"^inconsistent tensor size, expected tensor \[",
        "both must be of one length; x @ y multiplies matrices, (x * y).sum() broadcasts",
    ),
    (r"(must|to) have the same dtype", _dtypes),
    # ---- shapes
    (
        r"^The size of tensor a \(\d+\) must match|^The expanded size of the tensor|doesn't match the broadcast shape",
        BROADCAST,
    ),
    (
        r"^Sizes of tensors must match except in dimension (\d+)",
        "choose the dimension in which they differ, dim=..., or cut or pad the others; torch.stack makes a new one",
    ),
    (
        r"^Tensors must have same number of dimensions",
        "give the smaller one a dimension with x[None] or x.unsqueeze(dim)",
    ),
    (
        r"^stack expects each tensor to be equal size",
        "torch.cat joins along a dimension that is there; nn.utils.rnn.pad_sequence pads to one length",
    ),
    (
        r"^shape '.*' is invalid for input of size (\d+)",
        "the sizes must multiply to {0}; one of them may be -1, which is then computed",
    ),
    (r"^view size is not compatible", "x.reshape(...) copies where it must; so does x.contiguous().view(...)"),
    (
        r"^split_with_sizes expects",
        "the sizes must add up to that dimension; x.split(n) or x.chunk(n) makes equal parts",
    ),
    (r"^Using a target size", "bring both to one shape: target.view_as(input), or input.squeeze(-1) if it ends in 1"),
    (
        r"number of dimensions in the tensor input does not match the length of the desired ordering",
        "name every dimension once; x.movedim(a, b) moves one, x.transpose(a, b) exchanges two",
    ),
    (r"^Given normalized_shape=", "normalized_shape must be the last dimensions of the input, x.shape[-n:]"),
    (
        r"^(running_mean|weight) should contain (\d+) elements not (\d+)",
        "the layer is for num_features={2} but dimension 1 of the input has {1}",
    ),
    (
        r"^Expected more than 1 value per channel",
        "use a larger batch (DataLoader(..., drop_last=True)), or module.eval() to use the running statistics",
    ),
    (
        r"must be batches of square matrices",
        "torch.linalg.pinv and torch.linalg.lstsq take matrices that are not square",
    ),
    (
        r"input matrix is singular|^_?linalg.*singular",
        "torch.linalg.pinv and torch.linalg.lstsq take singular matrices; or add a small multiple of the identity",
    ),
    (r"^selected index k out of range", "k must be at most the size of that dimension: min(k, x.size(dim))"),
    (
        r"^input\.size\(-1\) must be equal to input_size",
        "the last dimension of the input is input_size; the order is (time, batch, input_size), or batch_first=True",
    ),
    # ---- layers
    (r"expected input\[.*\] to have (\d+) channels, but got (\d+) channels", _channels),
    (
        r"^Expected (\d)D \(unbatched\) or (\d)D \(batched\) input",
        "give it the channel and batch dimensions that are missing: x[None, None], x.unsqueeze(0)",
    ),
    (
        r"Kernel size can't be greater than actual input size|Output size is too small",
        "use a larger input, a smaller kernel, or padding=...",
    ),
    (r"^expected target dtype to be Long or Byte|^expected scalar type Long", CLASSES),
    (
        r"^Target (-?\d+) is out of bounds",
        "class indices are from 0 to the number of classes - 1, which is the input's size in dimension 1; others may be left out with ignore_index={0}",
    ),
    (
        r"^Expected input batch_size",
        "the input is (batch, classes, ...) and the target (batch, ...): look at their shapes",
    ),
    (
        r"scalar types: Long, Int; but got|Expected dtype int\d\d/int64 for index|^one_hot is only applicable",
        "indices are integers: index.long()",
    ),
    (r"^index out of range in self", _indices),
    # ---- indexing
    (r"^index -?\d+ is out of bounds for dimension (\d+) with size (\d+)", _places),
    (
        r"^too many indices for tensor of dimension (\d+)",
        "give at most {0}; x[..., i] counts from the last dimension, x[None] adds one",
    ),
    (
        r"^only integers, slices|^tensors used as indices must be",
        "convert the index: int(i), index.long(), or a mask with x > 0",
    ),
    (
        r"^The shape of the mask",
        "the mask must have the tensor's shape in the dimensions it stands for: x[:, mask] puts it to the second one",
    ),
    (
        r"^Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\]",
        "dimensions are {0} to {1}; x.unsqueeze(dim) adds one",
    ),
    (
        r"^invalid index of a 0-dim tensor|0-d tensor",
        "it has no dimensions: x.item() gives the number, x[None] or x.reshape(1) a dimension",
    ),
    # ---- dtypes and devices
    (
        r"could not infer output dtype|not implemented for '(Long|Int|Short|Byte|Char|Bool)'",
        "convert it: x.float(), or dtype=torch.float32 where the function takes one",
    ),
    (
        r"not implemented for '(Float|Double|Half|BFloat16)'",
        "convert it to integers or bools: x.long(), x.bool(), x > 0",
    ),
    (
        r"can't be cast to the desired output type (\w+)",
        "use the form that is not in place, x = x.add(...), or convert the tensor first: x = x.float()",
    ),
    (
        r"not on the expected device|Expected all tensors to be on the same device",
        "bring them to one device: x.to(y.device)",
    ),
    (r"^where expected condition to be a boolean", "make it a condition, x > 0, or convert it: x.bool()"),
    (r"^Integers to negative integer powers", "use a floating point base: x.float() ** n"),
    (
        r"^only Tensors of floating point (and complex )?dtype can require gradients",
        "convert it: x.float().requires_grad_()",
    ),
    # ---- transforms
    (
        r"^vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow",
        "torch.where chooses per element; what needs the value goes outside of the vmapped function",
    ),
    # ---- gradients
    (r"^a (view of a )?leaf Variable that requires grad", LEAF),
    (
        r"^Trying to backward through the graph a second time",
        "call backward once, of the sum of the losses; or backward(retain_graph=True) the first time; or detach() what is kept from step to step",
    ),
    (
        r"modified by an inplace operation",
        "use the form that is not in place (y = y + 1 for y += 1) on what a gradient is computed from, or a clone() of it",
    ),
    (
        r"^grad can be implicitly created only for scalar outputs",
        "reduce it, y.sum().backward(), or give the gradient: y.backward(torch.ones_like(y))",
    ),
    (
        r"does not require grad and does not have a grad_fn|^One of the differentiated Tensors does not require grad",
        "call requires_grad_() on an input before it is used; results of no_grad(), detach(), .data, argmax and integers have no gradient",
    ),
    (
        r"appears to not have been used in the graph",
        "pass what the output was computed from, not a copy or view of it; allow_unused=True gives None",
    ),
    (r"^you can only change requires_grad flags of leaf", "y = x.detach() has no history"),
    (
        r"^Can't call numpy\(\) on Tensor that requires grad",
        "x.detach().numpy(), or compute under `with torch.no_grad():`",
    ),
    # ---- numbers
    (r"elements cannot be converted to Scalar|^only one element tensors can be converted", ONE_NUMBER),
    (
        r"^Boolean value of Tensor with more than one value",
        "say which is meant: x.any(), x.all(); elementwise use &, |, ~ and torch.where",
    ),
    (r"^Boolean value of Tensor with no values", "ask for the number of elements: x.numel() > 0"),
    (r"must be Tensor, not (list|tuple|int|float|ndarray|numpy\.ndarray)", "make it a tensor: torch.as_tensor(...)"),
)


def next_step(message: str, call: str) -> str:
    """What to do about an error with this message, which came of this call; "" where nothing is known."""
    for pattern, step in STEPS:
        found = re.search(pattern, message)
        if found:
            return step(found, call) if callable(step) else step.format(*found.groups())
    return ""
