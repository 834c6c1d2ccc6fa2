"""The operators of torchvision's libraries against loops over elements, and files of images against Pillow's."""

import io
import math

import numpy as np
import pytest

from functorch_core import torch

rng = np.random.default_rng(0)


@pytest.fixture(scope="module", autouse=True)
def loaded():
    for library in ("_C", "image"):
        torch.ops.load_library(f"/any/torchvision/{library}.so")


def test_other_libraries_are_refused_as_pytorch_refuses_what_it_cannot_load():
    for error in (OSError, NotImplementedError):  # packages go on without theirs after the first
        with pytest.raises(error, match="other.so"):
            torch.ops.load_library("/any/other.so")


# ---- boxes ---------------------------------------------------------------------------------------


def kept_by_loops(boxes, scores, threshold):
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        for j in kept:
            w = min(boxes[i, 2], boxes[j, 2]) - max(boxes[i, 0], boxes[j, 0])
            h = min(boxes[i, 3], boxes[j, 3]) - max(boxes[i, 1], boxes[j, 1])
            shared = max(w, 0) * max(h, 0)
            areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (boxes[i], boxes[j])]
            if shared / (areas[0] + areas[1] - shared) > threshold:
                break
        else:
            kept.append(i)
    return kept


@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
def test_nms(n, threshold):
    corners = rng.uniform(0, 10, (n, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(1, 5, (n, 2))], 1)
    scores = np.round(rng.uniform(0, 1, n), 1)  # some are alike
    found = torch.ops.torchvision.nms(torch.tensor(boxes.reshape(n, 4)), torch.tensor(scores), threshold)
    assert found.dtype == torch.int64 and found.tolist() == kept_by_loops(boxes, scores, threshold)


def test_nms_refuses_other_shapes():
    with pytest.raises(RuntimeError, match="boxes should be a 2d tensor"):
        torch.ops.torchvision.nms(torch.ones(3), torch.ones(3), 0.5)
    with pytest.raises(RuntimeError, match="scores should be a 1d tensor"):
        torch.ops.torchvision.nms(torch.ones(3, 4), torch.ones(2), 0.5)


# ---- regions -------------------------------------------------------------------------------------

SIZE = (2, 8, 6, 7)
ROIS = np.array(
    [
        [0, 1.0, 1.5, 5.0, 4.0],
        [1, -2.0, -1.0, 3.0, 9.0],
        [1, 2.2, 2.2, 2.4, 2.3],
        [0, 5.5, 4.5, 12.0, 12.0],
        [0, 3, 3, 1, 1],
    ]
)


def between(image, y, x):
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    (fy, y0), (fx, x0) = math.modf(y), math.modf(x)
    y0, x0 = int(y0), int(x0)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    top, bottom = ((1 - fx) * image[r, x0] + fx * image[r, x1] for r in (y0, y1))
    return (1 - fy) * top + fy * bottom


def samples_of(box, scale, pooled, ratio, shift, at_least_one):
    x1, y1, x2, y2 = (v * scale - shift for v in box[1:])
    h, w = y2 - y1, x2 - x1
    if at_least_one:
        h, w = max(h, 1), max(w, 1)
    step = h / pooled[0], w / pooled[1]
    n = [ratio if ratio > 0 else max(math.ceil(s), 0) for s in step]
    for p, q in np.ndindex(*pooled):
        rows = [y1 + (p + (i + 0.5) / n[0]) * step[0] for i in range(n[0])]
        columns = [x1 + (q + (j + 0.5) / n[1]) * step[1] for j in range(n[1])]
        yield p, q, [(y, x) for y in rows for x in columns]


@pytest.mark.parametrize("ratio", [-1, 2])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(ratio, aligned):
    image, scale, pooled = rng.standard_normal(SIZE), 0.8, (3, 2)
    wanted = np.zeros((len(ROIS), SIZE[1], *pooled))
    for k, box in enumerate(ROIS):
        for p, q, places in samples_of(box, scale, pooled, ratio, 0.5 if aligned else 0.0, not aligned):
            for c in range(SIZE[1]):
                values = [between(image[int(box[0]), c], y, x) for y, x in places]
                wanted[k, c, p, q] = sum(values) / max(len(values), 1)
    x = torch.tensor(image, requires_grad=True)

    def call(x):
        return torch.ops.torchvision.roi_align(x, torch.tensor(ROIS), scale, *pooled, ratio, aligned)

    np.testing.assert_allclose(call(x).detach().numpy(), wanted, atol=1e-12)
    assert torch.autograd.gradcheck(lambda x: call(x)[:, :2], x, fast_mode=True)
    assert torch.ops.torchvision.roi_align(x, torch.zeros(0, 5).double(), 1.0, 3, 2, 2, False).shape == (0, 8, 3, 2)


@pytest.mark.parametrize("ratio", [-1, 2])
def test_ps_roi_align(ratio):
    image, scale, pooled = rng.standard_normal(SIZE), 0.8, (2, 2)
    rois = ROIS[:4]
    wanted, channels = np.zeros((4, 2, 2, 2)), np.zeros((4, 2, 2, 2), int)
    for k, box in enumerate(rois):
        for p, q, places in samples_of(box, scale, pooled, ratio, 0.5, False):
            for c in range(2):
                channels[k, c, p, q] = at = (c * 2 + p) * 2 + q
                values = [between(image[int(box[0]), at], y, x) for y, x in places]
                wanted[k, c, p, q] = sum(values) / len(values)
    x = torch.tensor(image, requires_grad=True)
    found, which = torch.ops.torchvision.ps_roi_align(x, torch.tensor(rois), scale, *pooled, ratio)
    np.testing.assert_allclose(found.detach().numpy(), wanted, atol=1e-12)
    assert which.dtype == torch.int32 and which.tolist() == channels.tolist()


def bins(start, length, n, last):
    step = length / n
    for p in range(n):
        yield tuple(min(max(int(f(v * step)) + start, 0), last) for f, v in ((math.floor, p), (math.ceil, p + 1)))


def away_from_zero(v):
    return int(math.copysign(math.floor(abs(v) + 0.5), v))


def test_roi_pool():
    image, scale, pooled = rng.standard_normal(SIZE), 0.75, (3, 2)
    wanted, where = np.zeros((len(ROIS), SIZE[1], *pooled)), np.full((len(ROIS), SIZE[1], *pooled), -1)
    for k, box in enumerate(ROIS):
        x1, y1, x2, y2 = (away_from_zero(v * scale) for v in box[1:])
        rows, columns = bins(y1, max(y2 - y1 + 1, 1), 3, SIZE[2]), list(bins(x1, max(x2 - x1 + 1, 1), 2, SIZE[3]))
        for p, (top, bottom) in enumerate(rows):
            for q, (left, right) in enumerate(columns):
                for c in range(SIZE[1]):
                    best = -math.inf
                    for h in range(top, bottom):
                        for w in range(left, right):
                            if image[int(box[0]), c, h, w] > best:
                                best = wanted[k, c, p, q] = image[int(box[0]), c, h, w]
                                where[k, c, p, q] = h * SIZE[3] + w
    x = torch.tensor(image, requires_grad=True)
    found, argmax = torch.ops.torchvision.roi_pool(x, torch.tensor(ROIS), scale, *pooled)
    np.testing.assert_allclose(found.detach().numpy(), wanted)
    assert argmax.tolist() == where.tolist()
    found.sum().backward()
    counts = np.zeros(SIZE)
    for (k, c, _, _), at in np.ndenumerate(where):
        if at >= 0:
            counts[int(ROIS[k, 0]), c, at // SIZE[3], at % SIZE[3]] += 1
    np.testing.assert_array_equal(x.grad.numpy(), counts)


def test_ps_roi_pool():
    image, scale, pooled = rng.standard_normal(SIZE), 1.0, (2, 2)
    wanted = np.zeros((len(ROIS), 2, *pooled))
    for k, box in enumerate(ROIS):
        x1, y1, x2, y2 = (away_from_zero(v * scale) for v in box[1:])
        rows, columns = bins(y1, max(y2 - y1, 1), 2, SIZE[2] - 1), list(bins(x1, max(x2 - x1, 1), 2, SIZE[3] - 1))
        for p, (top, bottom) in enumerate(rows):
            for q, (left, right) in enumerate(columns):
                for c in range(2):
                    part = image[int(box[0]), (c * 2 + p) * 2 + q, top:bottom, left:right]
                    wanted[k, c, p, q] = part.mean() if part.size else 0.0
    x = torch.tensor(image, requires_grad=True)
    found, _ = torch.ops.torchvision.ps_roi_pool(x, torch.tensor(ROIS), scale, *pooled)
    np.testing.assert_allclose(found.detach().numpy(), wanted, atol=1e-12)


def test_regions_refuse_other_boxes():
    with pytest.raises(RuntimeError, match=r"shape as Tensor\[K, 5\]"):
        torch.ops.torchvision.roi_align(torch.ones(1, 1, 2, 2), torch.ones(3, 4), 1.0, 1, 1, 1, False)
    with pytest.raises(RuntimeError, match="same type"):
        torch.ops.torchvision.roi_align(torch.ones(1, 1, 2, 2), torch.ones(3, 5).double(), 1.0, 1, 1, 1, False)


# ---- deformable convolutions ---------------------------------------------------------------------


def deformed_by_loops(x, weight, offset, mask, bias, stride, pad, dilation, groups, offset_groups):
    (n, c, height, width), (out, per_group, kh, kw) = x.shape, weight.shape
    oh, ow = offset.shape[2:]
    found = np.zeros((n, out, oh, ow)) + bias[:, None, None]

    def at(image, y, x):
        y0, x0 = math.floor(y), math.floor(x)
        total = 0.0
        for r in (y0, y0 + 1):
            for s in (x0, x0 + 1):
                if 0 <= r < height and 0 <= s < width:
                    total += (1 - abs(y - r)) * (1 - abs(x - s)) * image[r, s]
        return total

    for b, o, i, j in np.ndindex(n, out, oh, ow):
        first = o // (out // groups) * per_group
        for ci, p, q in np.ndindex(per_group, kh, kw):
            channel = first + ci
            tap = (channel // (c // offset_groups) * kh + p) * kw + q
            y = i * stride[0] - pad[0] + p * dilation[0] + offset[b, 2 * tap, i, j]
            z = j * stride[1] - pad[1] + q * dilation[1] + offset[b, 2 * tap + 1, i, j]
            found[b, o, i, j] += weight[o, ci, p, q] * mask[b, tap, i, j] * at(x[b, channel], y, z)
    return found


@pytest.mark.parametrize("use_mask", [False, True])
@pytest.mark.parametrize(("groups", "offset_groups"), [(1, 1), (2, 1), (1, 2), (2, 4)])
def test_deform_conv2d(groups, offset_groups, use_mask):
    stride, pad, dilation, (kh, kw) = (2, 1), (1, 0), (1, 2), (3, 2)
    x, weight, bias = (
        rng.standard_normal((2, 4, 5, 6)),
        rng.standard_normal((4, 4 // groups, kh, kw)),
        rng.standard_normal(4),
    )
    oh, ow = (5 + 2 - 3) // 2 + 1, (6 - 3) // 1 + 1
    offset = rng.uniform(-2, 2, (2, 2 * offset_groups * kh * kw, oh, ow))
    mask = (
        rng.uniform(0, 1, (2, offset_groups * kh * kw, oh, ow))
        if use_mask
        else np.ones((2, offset_groups * kh * kw, oh, ow))
    )
    wanted = deformed_by_loops(x, weight, offset, mask, bias, stride, pad, dilation, groups, offset_groups)
    given = [torch.tensor(a, requires_grad=True) for a in (x, weight, offset, mask, bias)]

    def call(*a):
        return torch.ops.torchvision.deform_conv2d(*a, *stride, *pad, *dilation, groups, offset_groups, use_mask)

    np.testing.assert_allclose(call(*given).detach().numpy(), wanted, atol=1e-12)
    assert torch.autograd.gradcheck(call, given, fast_mode=True)


# ---- autocast, files -----------------------------------------------------------------------------


def test_kernels_for_autocast_are_called_under_it():
    torch.library.define("vision_test::same", "(Tensor x) -> Tensor")
    torch.library.impl("vision_test::same", "CompositeImplicitAutograd", lambda x: x.clone())
    torch.library.register_autocast("vision_test::same", "cpu", torch.bfloat16)
    same, x = torch.ops.vision_test.same, torch.ones(2)
    assert same(x).dtype == torch.float32
    with torch.autocast("cpu"):
        assert same(x).dtype == torch.bfloat16 and same(x.double()).dtype == torch.float64
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)):
            assert same(x).dtype == torch.float32
    with pytest.raises(NotImplementedError, match="Python"):
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.Python)):
            pass


def test_files_of_images(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    array = rng.integers(0, 256, (5, 6, 3), np.uint8)
    ops, path = torch.ops.image, tmp_path / "a.png"
    pillow.fromarray(array).save(path)
    data = ops.read_file(str(path))
    assert ops.decode_image(data, 0).permute(1, 2, 0).tolist() == array.tolist()
    assert ops.decode_png(data, 1).shape == (1, 5, 6) and ops.decode_png(data, 4).shape == (4, 5, 6)
    encoded = ops.encode_png(torch.tensor(array).permute(2, 0, 1), 6)
    ops.write_file(str(tmp_path / "b.png"), encoded)
    assert np.asarray(pillow.open(tmp_path / "b.png")).tolist() == array.tolist()
    jpeg = ops.encode_jpeg(torch.tensor(array).permute(2, 0, 1), 90)
    wanted = np.asarray(pillow.open(io.BytesIO(jpeg.numpy().tobytes())))
    assert ops.decode_jpeg(jpeg, 3).permute(1, 2, 0).tolist() == wanted.tolist()
    with pytest.raises(RuntimeError, match="uint8"):
        ops.encode_png(torch.ones(3, 2, 2), 6)
