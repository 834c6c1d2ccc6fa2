"""Layers against PyTorch: same seed, same weights, repr, outputs, gradients, buffers."""

import copy

import pytest

from tests.nn.both import agree, failing, warned

# name, arguments, shapes of the inputs (or a function of torch that makes them)
FLOATS = [
    # ---- linear
    ("Linear", (3, 4), [(2, 3)]),
    ("Linear", (3, 4, False), [(2, 5, 3)]),
    ("Bilinear", (3, 4, 5), [(2, 3), (2, 4)]),
    ("Identity", (1, 2), [(3,)]),
    ("LazyLinear", (4,), [(2, 3)]),
    # ---- convolutions
    ("Conv1d", (4, 6, 3, 2, 1, 2, 2), [(2, 4, 9)]),
    ("Conv2d", (2, 3, (3, 2), 1, "same"), [(1, 2, 5, 6)]),
    ("Conv2d", (2, 4, 3, 1, 2, 1, 2, False, "circular"), [(2, 2, 5, 5)]),
    ("Conv2d", (2, 3, 3, 1, 1, 1, 1, True, "reflect"), [(2, 5, 5)]),
    ("Conv3d", (2, 3, 2), [(1, 2, 3, 4, 3)]),
    ("Conv1d", (2, 3, 3, 1, "valid"), [(2, 9)]),
    ("ConvTranspose1d", (4, 6, 3, 2, 1, 1, 2), [(2, 4, 5)]),
    ("ConvTranspose2d", (2, 3, 3, 2), [(1, 2, 4, 3)]),
    ("ConvTranspose3d", (2, 3, 2), [(1, 2, 2, 3, 2)]),
    ("LazyConv1d", (4, 3), [(2, 3, 7)]),
    ("LazyConvTranspose2d", (4, 3), [(2, 3, 4, 4)]),
    ("Unfold", ((2, 3), 1, 1, 2), [(1, 2, 4, 5)]),
    ("Fold", ((4, 5), (2, 2)), [(1, 8, 12)]),
    # ---- normalisation
    ("BatchNorm1d", (3,), [(4, 3)]),
    ("BatchNorm2d", (3, 1e-3, None), [(4, 3, 2, 2)]),
    ("BatchNorm3d", (3, 1e-3, 0.1, False), [(4, 3, 2, 2, 2)]),
    ("BatchNorm1d", (3, 1e-5, 0.1, True, False), [(4, 3, 2)]),
    ("LazyBatchNorm1d", (), [(4, 3)]),
    ("SyncBatchNorm", (3,), [(4, 3, 2)]),
    ("InstanceNorm1d", (3,), [(2, 3, 5)]),
    ("InstanceNorm2d", (3, 1e-5, 0.1, True, True), [(2, 3, 4, 4)]),
    ("InstanceNorm3d", (3,), [(3, 2, 2, 2)]),
    ("LazyInstanceNorm2d", (), [(2, 3, 4, 4)]),
    ("LayerNorm", ((3, 4),), [(2, 3, 4)]),
    ("LayerNorm", (4, 1e-3, True, False), [(2, 4)]),
    ("GroupNorm", (2, 4), [(2, 4, 3)]),
    ("RMSNorm", (4,), [(2, 4)]),
    ("LocalResponseNorm", (2,), [(2, 4, 3, 3)]),
    # ---- activations
    *(
        (name, (), [(3, 4)])
        for name in (
            "CELU",
            "ELU",
            "GELU",
            "GLU",
            "Hardshrink",
            "Hardsigmoid",
            "Hardswish",
            "Hardtanh",
            "LeakyReLU",
            "LogSigmoid",
            "Mish",
            "PReLU",
            "ReLU",
            "ReLU6",
            "SELU",
            "Sigmoid",
            "SiLU",
            "Softplus",
            "Softshrink",
            "Softsign",
            "Tanh",
            "Tanhshrink",
            "RReLU",
        )
    ),
    ("ELU", (0.5,), [(3,)]),
    ("Threshold", (0.1, 2.0), [(5,)]),
    ("PReLU", (3,), [(2, 3, 2)]),
    ("GELU", ("tanh",), [(3,)]),
    ("Softmax", (1,), [(2, 3)]),
    ("Softmin", (0,), [(2, 3)]),
    ("LogSoftmax", (-1,), [(2, 3)]),
    ("Softmax2d", (), [(2, 3, 2, 2)]),
    # ---- pooling
    ("MaxPool1d", (2,), [(1, 2, 7)]),
    ("MaxPool2d", ((2, 3), 2, 1), [(1, 2, 5, 6)]),
    ("MaxPool3d", (2, 1), [(1, 3, 4, 3)]),
    ("AvgPool1d", (3, 2), [(1, 2, 7)]),
    ("AvgPool2d", (3, 1, 1, True, False), [(2, 5, 5)]),
    ("AvgPool3d", (2,), [(1, 2, 4, 4, 4)]),
    ("LPPool1d", (2, 3), [(1, 2, 7)]),
    ("LPPool2d", (3, 2), [(1, 2, 4, 4)]),
    ("AdaptiveAvgPool1d", (3,), [(1, 2, 7)]),
    ("AdaptiveAvgPool2d", ((3, None),), [(1, 2, 7, 5)]),
    ("AdaptiveMaxPool2d", (2,), [(1, 2, 5, 5)]),
    ("AdaptiveAvgPool3d", (2,), [(1, 4, 3, 5)]),
    # ---- shapes
    ("Flatten", (), [(2, 3, 4)]),
    ("Unflatten", (1, (2, 3)), [(4, 6)]),
    ("PixelShuffle", (2,), [(1, 8, 2, 3)]),
    ("PixelUnshuffle", (2,), [(1, 2, 4, 6)]),
    ("ChannelShuffle", (2,), [(1, 4, 2, 2)]),
    ("Upsample", (None, 2.0), [(1, 2, 3, 3)]),
    ("Upsample", ((5, 4), None, "bilinear"), [(1, 2, 3, 3)]),
    ("UpsamplingBilinear2d", (4,), [(1, 2, 3, 3)]),
    ("UpsamplingNearest2d", (None, 2), [(1, 2, 3, 3)]),
    ("ZeroPad1d", (1,), [(2, 3)]),
    ("ZeroPad2d", ((1, 2, 0, 1),), [(1, 2, 3, 3)]),
    ("ConstantPad3d", (1, 2.0), [(1, 2, 2, 2)]),
    ("ReflectionPad2d", (1,), [(1, 2, 3, 3)]),
    ("ReplicationPad1d", ((1, 2),), [(2, 3)]),
    ("CircularPad2d", (1,), [(1, 2, 3, 3)]),
    # ---- distances, losses
    ("PairwiseDistance", (), [(3, 4), (3, 4)]),
    ("CosineSimilarity", (), [(3, 4), (3, 4)]),
    ("L1Loss", (), [(3,), (3,)]),
    ("MSELoss", (None, None, "sum"), [(3,), (3,)]),
    ("SmoothL1Loss", (), [(3,), (3,)]),
    ("HuberLoss", ("none", 0.5), [(3,), (3,)]),
    ("GaussianNLLLoss", (), lambda t: [t.randn(3), t.randn(3), t.rand(3)]),
    ("PoissonNLLLoss", (), [(3,), (3,)]),
    ("KLDivLoss", (None, None, "batchmean"), lambda t: [t.randn(2, 3).log_softmax(1), t.randn(2, 3).softmax(1)]),
    ("BCELoss", (), lambda t: [t.rand(3), t.rand(3)]),
    ("BCEWithLogitsLoss", (), [(3,), (3,)]),
    ("NLLLoss", (), lambda t: [t.randn(3, 4), t.tensor([0, 3, 1])]),
    ("CrossEntropyLoss", (), lambda t: [t.randn(3, 4), t.tensor([0, -100, 1])]),
    ("MultiMarginLoss", (), lambda t: [t.randn(3, 4), t.tensor([0, 3, 1])]),
    ("MultiLabelMarginLoss", (), lambda t: [t.randn(1, 3), t.tensor([[2, 0, -1]])]),
    ("MultiLabelSoftMarginLoss", (), lambda t: [t.randn(2, 3), t.ones(2, 3)]),
    ("SoftMarginLoss", (), lambda t: [t.randn(3), t.tensor([1.0, -1.0, 1.0])]),
    ("HingeEmbeddingLoss", (), lambda t: [t.randn(3), t.tensor([1.0, -1.0, 1.0])]),
    ("MarginRankingLoss", (0.5,), lambda t: [t.randn(3), t.randn(3), t.ones(3)]),
    ("CosineEmbeddingLoss", (), lambda t: [t.randn(2, 3), t.randn(2, 3), t.tensor([1, -1])]),
    ("TripletMarginLoss", (), [(2, 3), (2, 3), (2, 3)]),
    ("TripletMarginWithDistanceLoss", (), [(2, 3), (2, 3), (2, 3)]),
    (
        "CTCLoss",
        (),
        lambda t: [t.randn(6, 2, 4).log_softmax(2), t.tensor([[1, 2], [3, 1]]), t.tensor([6, 5]), t.tensor([2, 1])],
    ),
    ("AdaptiveLogSoftmaxWithLoss", (8, 10, [3, 6]), lambda t: [t.randn(4, 8), t.tensor([0, 4, 9, 3])]),
    # ---- embeddings
    ("Embedding", (5, 3, 1), lambda t: [t.tensor([[1, 4], [0, 2]])]),
    ("Embedding", (5, 3, -1, 0.5, 1.0), lambda t: [t.tensor([1, 4])]),
    ("EmbeddingBag", (5, 3), lambda t: [t.tensor([1, 4, 2, 2]), t.tensor([0, 3])]),
    ("EmbeddingBag", (5, 3, None, 2.0, False, "sum"), lambda t: [t.tensor([[1, 4], [2, 2]])]),
    # ---- attention
    ("MultiheadAttention", (8, 2, 0.0, True, True, True), [(3, 2, 8), (4, 2, 8), (4, 2, 8)]),
    ("MultiheadAttention", (8, 2, 0.0, False, False, False, 5, 6, True), [(2, 3, 8), (2, 4, 5), (2, 4, 6)]),
    ("TransformerEncoderLayer", (8, 2, 16, 0.3), [(4, 2, 8)]),
    ("TransformerDecoderLayer", (8, 2, 16, 0.0, "gelu", 1e-4, True, True, False), [(2, 4, 8), (2, 3, 8)]),
]


def inputs_of(t, given):
    if callable(given):  # targets behind the input
        first, *rest = given(t)
        return [first.requires_grad_() if first.is_floating_point() else first, *rest]
    return [t.randn(*shape).requires_grad_() for shape in given]


def total(x):
    if isinstance(x, (list, tuple)):
        return sum(total(y) for y in x if y is not None)
    return (x * x.detach().cos()).sum() if x.is_floating_point() else 0


@pytest.mark.parametrize("name,args,given", FLOATS, ids=lambda x: x if isinstance(x, str) else "")
def test_layer(name, args, given):
    def program(t):
        m = getattr(t.nn, name)(*args)
        before, inputs = repr(m), inputs_of(t, given)
        out = m(*inputs)
        loss = total(out)
        if loss.requires_grad:
            loss.backward()
        trained = [before, m, out, [x.grad for x in inputs], [p.grad for p in m.parameters()], m.state_dict()]
        m.eval()
        return [
            trained,
            m(*[x.detach() for x in inputs]),
            sorted(k for k in vars(m) if k in ("in_features", "out_channels", "kernel_size", "eps", "p")),
        ]

    agree(program)


@pytest.mark.parametrize(
    "name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]
)
def test_random_layers_draw_the_same(name):
    def program(t):
        m = getattr(t.nn, name)()
        x = t.randn(*{"Dropout1d": (2, 3, 4), "Dropout3d": (2, 3, 2, 2, 2)}.get(name, (2, 3, 4, 5)))
        return [m, m(x), m(x), m.eval()(x), failing(t.nn.Dropout, 2.0)]

    agree(program)


def test_inplace_activations_write_to_their_input():
    def program(t):
        out = []
        for name in ("ReLU", "ELU", "LeakyReLU", "Hardtanh", "SiLU", "SELU", "CELU"):
            x = t.tensor([-1.0, 2.0])
            m = getattr(t.nn, name)(inplace=True)
            out += [m, m(x) is x, x]
        return out

    agree(program)


def test_pooling_with_indices_and_back():
    def program(t):
        nn, x = t.nn, t.randn(1, 2, 6, 6)
        y, indices = nn.MaxPool2d(2, return_indices=True)(x)
        flat, places = nn.MaxPool1d(3, 2, return_indices=True)(x[0])
        return [
            indices,
            nn.MaxUnpool2d(2)(y, indices),
            nn.MaxUnpool2d(2),
            flat,
            places,
            nn.AdaptiveMaxPool2d(3, return_indices=True)(x),
            nn.FractionalMaxPool2d(2, output_ratio=0.6)(x),
            failing(nn.FractionalMaxPool2d, 2),
        ]

    agree(program)


def test_output_size_of_transposed_convolutions():
    def program(t):
        m = t.nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)
        x = t.randn(1, 1, 3, 3)
        return [m(x, output_size=(6, 6)), failing(m, x, (9, 9)), failing(m, x, (3,))]

    agree(program)


# ---- constructors' errors ------------------------------------------------------------------------


def test_errors():
    def program(t):
        nn = t.nn
        calls = [
            (nn.Conv2d, 3, 4, 3, 2, "same"),
            (nn.Conv2d, 3, 4, 3, 1, 0, 1, 2),
            (nn.Conv2d, 4, 3, 3, 1, 0, 1, 2),
            (nn.Conv2d, 3, 4, 3, 1, 0, 1, 0),
            (nn.ConvTranspose1d, 1, 1, 1, 1, 0, 0, 1, True, 1, "reflect"),
            (nn.GroupNorm, 2, 3),
            (nn.Hardtanh, 1.0, 0.0),
            (nn.MultiheadAttention, 8, 3),
            (nn.MultiheadAttention, 0, 3),
            (nn.Embedding, 3, 2, 3),
            (nn.Embedding, 3, 2, -4),
            (nn.MultiMarginLoss, 3),
            (nn.TripletMarginLoss, 0.0),
            (nn.HuberLoss, "mean", "x"),
            (nn.AdaptiveLogSoftmaxWithLoss, 4, 5, []),
            (nn.Bilinear, 0, 1, 1),
            (nn.AdaptiveLogSoftmaxWithLoss, 4, 5, [3, 2]),
            (nn.Unflatten, 1, 3),
            (nn.Unflatten, 1, (2, "x")),
            (nn.BatchNorm2d(3), t.ones(2, 3)),
            (nn.BatchNorm1d(3), t.ones(3)),
            (nn.Softmax2d(), t.ones(2)),
            (nn.InstanceNorm1d(3, affine=True), t.ones(1, 2, 3)),
            (nn.CircularPad1d(1), t.ones(1)),
            (nn.LazyConv2d(2, 3), t.ones(2, 2)),
            (nn.SyncBatchNorm(3), t.ones(3)),
            (nn.FractionalMaxPool3d, 0, 1),
            (nn.FractionalMaxPool2d, 2, None, 2.0),
        ]
        return [failing(*c) for c in calls]

    agree(program)


def test_warnings():
    def program(t):
        nn = t.nn
        return [
            warned(lambda: nn.Hardtanh(min_value=-2.0)),
            warned(lambda: nn.MSELoss(True)),
            warned(lambda: nn.L1Loss(reduce=False)),
            warned(nn.InstanceNorm1d(3), t.ones(1, 2, 3)),
            warned(nn.Container),
            warned(nn.NLLLoss2d),
        ]

    agree(program)


def test_old_checkpoints():
    def program(t):
        m = t.nn.BatchNorm1d(2)
        state = m.state_dict()
        del state["num_batches_tracked"]
        state._metadata[""] = {"version": 1}
        out = [m.load_state_dict(state)]
        m = t.nn.InstanceNorm1d(2)
        return out + [failing(m.load_state_dict, {"running_mean": t.ones(2)})]

    agree(program)


def test_from_pretrained_and_sync_batch_norm():
    def program(t):
        nn = t.nn
        e = nn.Embedding.from_pretrained(t.ones(3, 2), padding_idx=1)
        b = nn.EmbeddingBag.from_pretrained(t.ones(3, 2), freeze=False, mode="max")
        m = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(3), nn.ReLU()))
        return [e, e.weight.requires_grad, b, b.weight.requires_grad, m, list(m.state_dict())]

    agree(program)


def test_adaptive_softmax_predicts():
    def program(t):
        m = t.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], head_bias=True)
        x = t.randn(5, 8) * 5
        return [
            m,
            m.log_prob(x),
            m.predict(x),
            failing(m, x, t.tensor([0, 1, 2, 3, 10])),
            failing(m, x, t.tensor([0])),
            failing(m, x, t.zeros(5, 1)),
        ]

    agree(program)


# ---- transformers --------------------------------------------------------------------------------


def test_transformer():
    def program(t):
        m = t.nn.Transformer(8, 2, 2, 2, 16, dropout=0.2, batch_first=True)
        src, tgt = t.randn(2, 5, 8, requires_grad=True), t.randn(2, 4, 8)
        mask = t.nn.Transformer.generate_square_subsequent_mask(4)
        padding = t.tensor([[False] * 5, [False, False, True, True, True]])
        out = m(src, tgt, tgt_mask=mask, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        total(out).backward()
        return [
            m,
            out,
            src.grad,
            list(m.state_dict()),
            mask,
            [p.grad for p in m.parameters()],
            failing(m, src, t.randn(3, 4, 8)),
            failing(m, src, t.randn(2, 4, 7)),
        ]

    agree(program, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_stack_in_inference(norm_first):
    def program(t):
        layer = t.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first)
        m = t.nn.TransformerEncoder(layer, 2, t.nn.LayerNorm(8)).eval()
        x = t.randn(2, 4, 8)
        padding = t.tensor([[False] * 4, [False, False, True, True]])
        causal = t.nn.Transformer.generate_square_subsequent_mask(4)
        with t.no_grad():  # here PyTorch leaves padding out, and gives zeros for it
            out = [m(x, src_key_padding_mask=padding), m(x), m(x, mask=causal)]
        kept = ~padding.unsqueeze(-1)
        return [
            out[0] if not norm_first else out[0] * kept,
            out[1:],
            m(x, is_causal=True, mask=causal),
            m.use_nested_tensor,
            warned(t.nn.TransformerEncoder, layer, 1),
        ]

    agree(program)


def test_attention_masks():
    def program(t):
        m = t.nn.MultiheadAttention(8, 2, batch_first=True)
        x = t.randn(2, 3, 8)
        padding = t.tensor([[False, False, True], [False, True, True]])
        keep = t.zeros(3, 3).bool()
        heads = t.randn(4, 3, 3)
        merged = m.merge_masks(heads, t.zeros(2, 3), x)
        return [
            m(x, x, x, key_padding_mask=padding),
            m(x, x, x, attn_mask=keep),
            m(x, x, x, attn_mask=heads, average_attn_weights=False),
            m(x, x, x, need_weights=False),
            m(x[0], x[0], x[0]),
            merged,
            m(x, x, x, attn_mask=t.triu(t.full((3, 3), float("-inf")), 1), is_causal=True, need_weights=False),
            failing(m, x, x, x, key_padding_mask=padding.int()),
            failing(m, x, x, x, attn_mask=t.zeros(2, 2)),
        ]

    agree(program)


def test_clones_are_independent():
    def program(t):
        m = t.nn.TransformerEncoder(t.nn.TransformerEncoderLayer(4, 1, 8), 3, enable_nested_tensor=False)
        c = copy.deepcopy(m)
        with t.no_grad():
            m.layers[0].linear1.weight.zero_()
        return [m, m.state_dict(), c.state_dict()]

    agree(program)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_cross_map_normalisation(size):
    def program(t):
        layer = t.nn.CrossMapLRN2d(size, 0.1, 0.5, 2.0)
        return [repr(layer), layer(t.randn(2, 7, 3, 3))]

    agree(program)


# ---- arguments that are wrong --------------------------------------------------------------------


@pytest.mark.parametrize(
    "input, target",
    [
        ([[2.0, 0.5]], [[1.0, 1.0]]),
        ([[0.2, 0.5]], [[1.0, 3.0]]),
        ([[0.2, float("nan")]], [[1.0, 1.0]]),
        ([[-0.1, 0.5]], [[0.0, 0.0]]),
        ([[0.0, 1.0]], [[0.0, 1.0]]),
    ],
)
def test_probabilities_out_of_range(input, target):
    def program(t):
        return failing(lambda: t.nn.functional.binary_cross_entropy(t.tensor(input), t.tensor(target)).item())

    agree(program)


def test_logits_in_place_of_probabilities():
    """The error comes at the first reading, if the numbers were not there before."""

    def program(t):
        layer, loss = t.nn.Linear(2, 1), t.nn.BCELoss()
        with t.no_grad():
            layer.bias.fill_(9.0)
        return failing(lambda: loss(layer(t.ones(3, 2)), t.ones(3, 1)).item())

    agree(program)


def test_functions_refuse():
    def program(t):
        f, x = t.nn.functional, t.ones(2, 3, 5)
        return [
            failing(f.scaled_dot_product_attention, x, x, x, t.ones(3, 3, dtype=t.int64))[0],
            failing(f.dropout, t.arange(4), 0.5),
            failing(f.conv_transpose2d, t.ones(1, 1, 3, 3), t.ones(1, 1, 2, 2), padding="same"),
            failing(f.pad, x, (1, 1), "reflect", 3.0),
        ]

    agree(program)


def test_fractional_pooling_with_indices():
    def program(t):
        f, samples = t.nn.functional, t.full((1, 2, 3), 0.3)
        return [
            f.fractional_max_pool2d_with_indices(
                t.randn(1, 2, 8, 8), 2, output_size=3, _random_samples=samples[..., :2]
            ),
            f.fractional_max_pool3d_with_indices(t.randn(1, 2, 6, 6, 6), 2, output_size=3, _random_samples=samples),
        ]

    agree(program)


# ---- errors --------------------------------------------------------------------------------------


def test_dtypes_that_do_not_fit():
    def program(t):
        f = t.nn.functional
        x, y, bias = t.ones(2, 3), t.ones(2, 3, dtype=t.float64), t.ones(2)
        n = t.ones(2, 3, dtype=t.int64)
        return [
            failing(call)
            for call in (
                lambda: f.linear(x, y),
                lambda: f.linear(n, x, bias),
                lambda: f.linear(x, y, bias),
                lambda: f.linear(x[None], y),
                lambda: x @ n.T,
                lambda: x @ y[0],
                lambda: t.mv(x, y[0]),
                lambda: t.bmm(x[None], y.mT[None]),
                lambda: t.addmm(bias, x, y.T),
                lambda: t.inner(x, y),
                lambda: t.einsum("ij,kj->ik", x, y),
                lambda: f.linear("x", x),
                lambda: t.nn.ReLU()(1),
                lambda: f.nll_loss(x, t.ones(2)),
                lambda: f.cross_entropy(x, t.ones(2)),
                lambda: f.cross_entropy(x, n[:, 0], label_smoothing=2.0),
                lambda: f.poisson_nll_loss(x, x, reduction="x"),
            )
        ]

    agree(program)


def test_lengths_that_do_not_fit_ctc():
    def program(t):
        log_p, labels = t.zeros(4, 2, 3).log_softmax(-1), t.ones(2, 2, dtype=t.int64)
        return [
            failing(t.nn.functional.ctc_loss, log_p, *rest)
            for rest in (
                (labels, t.tensor([4, 5]), t.tensor([2, 1])),
                (labels, (4, -1), (2, 1)),
                (labels, t.tensor([4, 4]), t.tensor([3, 1])),
                (labels, (4, 4), (2, -1)),
                (labels[:1], t.tensor([4, 4]), t.tensor([2, 2])),
                (labels, t.tensor([4.0, 4.0]), t.tensor([2, 2])),
            )
        ]

    agree(program)


def test_masks_that_do_not_fit():
    def program(t):
        attend, x = t.nn.MultiheadAttention(4, 2), t.ones(3, 2, 4)
        return [
            failing(attend, x, x, x, is_causal=True),
            failing(attend, x, x, x, key_padding_mask=t.zeros(2, 4, dtype=t.bool)),
            failing(attend, x, x, x, key_padding_mask=t.zeros(1, 3, dtype=t.bool)),
        ]

    agree(program)


REPLACED = [
    ("Conv1d", (2, 3, 2), "conv1d", (1, 2, 5)),
    ("Conv2d", (2, 3, 2), "conv2d", (1, 2, 5, 5)),
    ("Conv3d", (2, 3, 2), "conv3d", (1, 2, 3, 3, 3)),
    ("ConvTranspose1d", (2, 3, 2), "conv_transpose1d", (1, 2, 5)),
    ("ConvTranspose2d", (2, 3, 2), "conv_transpose2d", (1, 2, 3, 3)),
    ("ConvTranspose3d", (2, 3, 2), "conv_transpose3d", (1, 2, 3, 3, 3)),
    ("MaxPool1d", (2,), "max_pool1d", (1, 2, 4)),
    ("MaxPool2d", (2,), "max_pool2d", (1, 2, 4, 4)),
    ("MaxPool3d", (2,), "max_pool3d", (1, 2, 4, 4, 4)),
    ("FractionalMaxPool2d", (2, 2), "fractional_max_pool2d", (1, 2, 5, 5)),
    ("AvgPool1d", (2,), "avg_pool1d", (1, 2, 4)),
    ("AvgPool2d", (2,), "avg_pool2d", (1, 2, 4, 4)),
    ("AvgPool3d", (2,), "avg_pool3d", (1, 2, 4, 4, 4)),
    ("LPPool1d", (2, 2), "lp_pool1d", (1, 2, 4)),
    ("LPPool2d", (2, 2), "lp_pool2d", (1, 2, 4, 4)),
    ("AdaptiveMaxPool2d", (2,), "adaptive_max_pool2d", (1, 2, 4, 4)),
    ("AdaptiveAvgPool1d", (2,), "adaptive_avg_pool1d", (1, 2, 4)),
    ("AdaptiveAvgPool2d", (2,), "adaptive_avg_pool2d", (1, 2, 4, 4)),
    ("AdaptiveAvgPool3d", (2,), "adaptive_avg_pool3d", (1, 2, 4, 4, 4)),
    ("Linear", (3, 2), "linear", (4, 3)),
]


@pytest.mark.parametrize("layer, args, function, shape", REPLACED)
def test_replaced_functions_are_called(layer, args, function, shape):
    def program(t):
        functional, calls = t.nn.functional, []
        module, original = getattr(t.nn, layer)(*args), getattr(functional, function)

        def replacement(*args, **kwargs):
            calls.append(function)
            return original(*args, **kwargs) * 2

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(functional, function, replacement)
            doubled = module(t.ones(shape))
        return calls, doubled

    agree(program)


@pytest.mark.parametrize("options", [{}, {"need_weights": False}, {"average_attn_weights": False}])
@pytest.mark.parametrize("own_widths", [False, True])
def test_replaced_parts_of_attention_are_called(options, own_widths):
    """What is put into nn.functional takes part: all that attention is made of."""

    def program(t):
        functional, calls = t.nn.functional, []
        widths = {"kdim": 3, "vdim": 5} if own_widths else {}
        module = t.nn.MultiheadAttention(4, 2, dropout=1e-9, **widths)
        for p in module.parameters():
            t.nn.init.constant_(p, 0.5)
        x = t.linspace(-1, 1, 12).reshape(3, 1, 4)
        given = (t.ones(2, 1, 3), t.ones(2, 1, 5)) if own_widths else (x, x)

        def replaced(name):
            original = getattr(functional, name)

            def replacement(*args, **kwargs):
                calls.append((name, len(args), sorted(kwargs)))
                found = original(*args, **kwargs)
                return (found[0] * 2, found[1]) if isinstance(found, tuple) else found * 2

            return replacement

        parts = "multi_head_attention_forward", "scaled_dot_product_attention", "linear", "softmax", "dropout"
        with pytest.MonkeyPatch.context() as patch:
            for name in parts:
                patch.setattr(functional, name, replaced(name))
            found = module(x, *given, **options)
        return calls, found

    agree(program)
