"""Boxes and regions of interest: non-maximum suppression, and pooling of what lies in boxes.

A bin of a pooled region averages samples, or elements, of a rectangle: weights of rows times weights of columns. So a
region is two products of matrices, and its gradient follows from them. Boxes have no gradient, as in torchvision.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import functorch_core.torch as torch

CHUNK = 64  # regions computed at once


def nms(dets, scores, iou_threshold: float):
    """The indices of the boxes that are kept, by decreasing score: of those that overlap by more, the first."""
    if dets.dim() != 2 or dets.size(1) != 4:
        raise RuntimeError(f"boxes should be a 2d tensor of (K, 4), got {tuple(dets.shape)}")
    if scores.dim() != 1 or scores.size(0) != dets.size(0):
        raise RuntimeError(
            f"scores should be a 1d tensor of as many as boxes ({dets.size(0)}), got {tuple(scores.shape)}"
        )
    boxes = dets.detach().numpy()
    order = torch.sort(scores.detach(), stable=True, descending=True).indices.numpy()
    x1, y1, x2, y2 = boxes.T
    areas = (x2 - x1) * (y2 - y1)
    there, kept = np.ones(len(boxes), bool), []
    with np.errstate(all="ignore"):
        for at, i in enumerate(order):
            if not there[i]:
                continue
            kept.append(i)
            rest = order[at + 1 :]
            width = np.maximum(np.minimum(x2[i], x2[rest]) - np.maximum(x1[i], x1[rest]), 0)
            height = np.maximum(np.minimum(y2[i], y2[rest]) - np.maximum(y1[i], y1[rest]), 0)
            shared = width * height
            there[rest[shared / (areas[i] + areas[rest] - shared) > iou_threshold]] = False
    return torch.tensor(np.asarray(kept, np.int64))


# ---- weights of rows or columns ------------------------------------------------------------------


def _checked(input, rois) -> np.ndarray:
    """The boxes as an array."""
    if rois.dim() != 2 or rois.size(1) != 5:
        raise RuntimeError(f"Tensor rois should have shape as Tensor[K, 5], got {tuple(rois.shape)}")
    if input.dtype != rois.dtype:
        raise RuntimeError(
            f"Expected tensor for input to have the same type as tensor for rois; got {input.dtype} and {rois.dtype}"
        )
    return rois.detach().numpy()


def _sampled(start: np.ndarray, length: np.ndarray, bins: int, size: int, ratio: int) -> np.ndarray:
    """(K, bins, size): how much an element counts in the mean of a bin's samples, each between two elements."""
    dtype = start.dtype
    number = np.full(len(start), ratio) if ratio > 0 else np.ceil(length / bins).astype(int)
    weights = np.zeros((len(start), bins, size), dtype)
    step = length / bins
    regions, places = np.arange(len(start))[:, None], np.arange(bins)
    for i in range(max(number.max(initial=0), 0)):
        share = (i + 0.5) * step / np.maximum(number, 1)
        at = start[:, None] + places * step[:, None] + share[:, None]
        is_there = (at >= -1) & (at <= size) & (i < number)[:, None]
        at = np.clip(at, 0, size - 1)
        low = at.astype(int)
        high = np.minimum(low + 1, size - 1)
        part = (at - low).astype(dtype)
        np.add.at(weights, (regions, places, low), np.where(is_there, 1 - part, 0))
        np.add.at(weights, (regions, places, high), np.where(is_there, part, 0))
    return weights / np.maximum(number, 1)[:, None, None].astype(dtype)


def _ranges(start: np.ndarray, length: np.ndarray, bins: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """(K, bins) each: where the elements of a bin begin and end; length / bins is computed in the boxes' dtype."""
    step = length / bins
    places = np.arange(bins + 1, dtype=step.dtype) * step[:, None]
    begin, end = np.floor(places[:, :-1]), np.ceil(places[:, 1:])
    return tuple(np.clip(x + start[:, None], 0, last).astype(int) for x in (begin, end))


def _rounded(x: np.ndarray) -> np.ndarray:
    """To the nearest integer, halves away from zero."""
    return np.trunc(x + np.copysign(np.array(0.5, x.dtype), x))


# ---- pooling -------------------------------------------------------------------------------------


def roi_align(
    input, rois, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int, aligned: bool
):
    """(K, C, pooled_height, pooled_width): means of samples in each bin of the boxes."""
    boxes = _checked(input, rois)
    rows, columns = _aligned(
        input, boxes, spatial_scale, (pooled_height, pooled_width), sampling_ratio, aligned, not aligned
    )
    found = []
    for first in range(0, len(boxes), CHUNK):
        part = slice(first, first + CHUNK)
        images = input[torch.from_numpy(boxes[part, 0].astype(np.int64))]
        across = torch.einsum("kchw,kqw->kchq", images, torch.from_numpy(columns[part]))
        found.append(torch.einsum("kchq,kph->kcpq", across, torch.from_numpy(rows[part])))
    return torch.cat(found) if found else input.new_zeros(0, input.size(1), pooled_height, pooled_width)


def _aligned(input, boxes: np.ndarray, scale: float, pooled, ratio: int, shifted: bool, at_least_one: bool):
    """The weights of rows and of columns."""
    corners = boxes[:, 1:] * boxes.dtype.type(scale) - boxes.dtype.type(0.5 if shifted else 0)
    found = []
    for axis, bins, size in zip((1, 0), pooled, input.shape[2:]):
        start, length = corners[:, axis], corners[:, axis + 2] - corners[:, axis]
        length = np.maximum(length, 1) if at_least_one else length
        found.append(_sampled(start, length.astype(boxes.dtype), bins, size, ratio))
    return found


def ps_roi_align(input, rois, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int):
    """As roi_align, each bin of channels of its own; and which channels they are."""
    boxes = _checked(input, rois)
    pooled = pooled_height, pooled_width
    rows, columns = _aligned(input, boxes, spatial_scale, pooled, sampling_ratio, True, False)
    return _position_sensitive(input, boxes, rows, columns)


def ps_roi_pool(input, rois, spatial_scale: float, pooled_height: int, pooled_width: int):
    """The means of the elements in each bin of the boxes, each bin of channels of its own; and which they are."""
    boxes = _checked(input, rois)
    corners = _rounded(boxes[:, 1:] * boxes.dtype.type(spatial_scale))
    weights = []
    for axis, bins, size in zip((1, 0), (pooled_height, pooled_width), input.shape[2:]):
        length = np.maximum(corners[:, axis + 2] - corners[:, axis], 1)
        begin, end = _ranges(
            corners[:, axis], length, bins, size - 1
        )  # the last element is left out, as by torchvision
        places = np.arange(size)
        inside = (places >= begin[..., None]) & (places < end[..., None])
        weights.append((inside / np.maximum(end - begin, 1)[..., None]).astype(boxes.dtype))
    return _position_sensitive(input, boxes, *weights)


def _position_sensitive(input, boxes: np.ndarray, rows: np.ndarray, columns: np.ndarray):
    ph, pw = rows.shape[1], columns.shape[1]
    if input.size(1) % (ph * pw):
        raise RuntimeError(f"input channels must be a multiple of pooling height * pooling width, got {input.size(1)}")
    channels = torch.arange(input.size(1), dtype=torch.int32).reshape(1, -1, ph, pw).repeat(len(boxes), 1, 1, 1)
    found = []
    for first in range(0, len(boxes), CHUNK):
        part = slice(first, first + CHUNK)
        images = input[torch.from_numpy(boxes[part, 0].astype(np.int64))].unflatten(1, (-1, ph, pw))
        across = torch.einsum("kcpqhw,kqw->kcpqh", images, torch.from_numpy(columns[part]))
        found.append(torch.einsum("kcpqh,kph->kcpq", across, torch.from_numpy(rows[part])))
    return (torch.cat(found) if found else input.new_zeros(0, input.size(1) // (ph * pw), ph, pw)), channels


def roi_pool(input, rois, spatial_scale: float, pooled_height: int, pooled_width: int):
    """The largest element in each bin of the boxes, 0 of an empty one; and where in its channel it is (-1)."""
    boxes = _checked(input, rois)
    array, (height, width) = input.detach().numpy(), input.shape[2:]
    corners = _rounded(boxes[:, 1:] * boxes.dtype.type(spatial_scale))
    spans = []
    for axis, bins, size in zip((1, 0), (pooled_height, pooled_width), (height, width)):
        length = np.maximum(corners[:, axis + 2] - corners[:, axis] + 1, 1)
        spans.append(_ranges(corners[:, axis], length, bins, size))
    places = np.full((len(boxes), input.size(1), pooled_height, pooled_width), -1, np.int64)
    (top, bottom), (left, right) = spans
    for k, p, q in np.ndindex(len(boxes), pooled_height, pooled_width):
        h, w = slice(top[k, p], bottom[k, p]), slice(left[k, q], right[k, q])
        part = array[int(boxes[k, 0]), :, h, w]
        if part.size:
            at = part.reshape(len(part), -1).argmax(1)
            places[k, :, p, q] = (top[k, p] + at // part.shape[2]) * width + left[k, q] + at % part.shape[2]
    argmax = torch.from_numpy(places)
    images = input[torch.from_numpy(boxes[:, 0].astype(np.int64))].flatten(2)
    found = images.gather(2, argmax.clamp(min=0).flatten(2)).reshape(argmax.shape)
    return torch.where(argmax >= 0, found, 0.0).to(input.dtype), argmax.to(torch.int32)


POOLED = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
OPERATORS: dict[str, Callable] = {
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": nms,
    f"roi_align({POOLED}, int sampling_ratio, bool aligned) -> Tensor": roi_align,
    f"roi_pool({POOLED}) -> (Tensor, Tensor)": roi_pool,
    f"ps_roi_align({POOLED}, int sampling_ratio) -> (Tensor, Tensor)": ps_roi_align,
    f"ps_roi_pool({POOLED}) -> (Tensor, Tensor)": ps_roi_pool,
}
