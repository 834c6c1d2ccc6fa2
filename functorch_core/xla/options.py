"""Compile options for XLA:CPU, chosen by what a program contains.

Times are ratios to XLA's defaults (below 1 is faster), measured with jaxlib 0.10.2 on 2 cores with
AVX-512. Options not named here changed nothing that could be measured.
"""

from __future__ import annotations

EMITTERS = "xla_cpu_use_fusion_emitters"
YNN = "xla_cpu_experimental_ynn_fusion_type"
LEVEL = "xla_backend_optimization_level"
SPLIT = "xla_cpu_parallel_codegen_split_count"
DISABLED = "xla_disable_hlo_passes"
WIDTH = "xla_cpu_prefer_vector_width"

# For a program that is run once or twice, or computes little beside what Python does to record it. Compile time of a
# tiny one: 24 ms by default, 12 without fusion emitters, 6.7 like this; of 512 loops over 100 numbers 3.1 s, 0.3 like
# this (a run 32 us, 65). The price: exp 7.6, erf 7.4, cumsum 10.9, sort 1.2, matmul 1.0.
FAST_COMPILE: dict[str, object] = {LEVEL: 0, EMITTERS: False, SPLIT: 1}
# Rematerialisation: XLA:CPU drops optimization barriers before it merges equal operations, and
# so undoes it. Temporaries of 8 layers of 512 x 512: 30 MB, and 16 with the barriers kept. Loops of
# less than 1,024 bytes it compiles as one function, and ends the process where that has a barrier.
KEEP_BARRIERS: dict[str, object] = {DISABLED: "cse_barrier_expander,small-while-loop-hoisting"}

_LIBRARY = "LIBRARY_FUSION_TYPE_"

# feature -> options, the later line wins. Features are names for what a program has in it:
# 'conv', 'few', 'onednn', 'scatter', 'fft', 'erf', 'distance', 'sampled', 'alone', 'hot', 'donated',
# 'brief', 'barrier', 'in_place', 'jit', 'narrow'
# ('dot' chooses nothing).
_CHOICES = (
    # ---- every program
    # Compile time 0.5; exp 0.84, erf 0.74, sqrt 0.61, cbrt 0.39, cumsum 0.38; MLP step 1.09.
    # Vectors as wide as the processor has them (256 bits is XLA's default; one without AVX-512 takes no notice). ms:
    # exp 0.149 for 0.305, tanh 0.132 for 0.257, sigmoid and its gradient 0.195 for 0.382; compile time as before.
    (None, {EMITTERS: False, WIDTH: 512}),
    # ---- by who asked
    # Programs of fc.jit are compiled once and run often. Of 40 research programs (tests/benchmarks/functional) a
    # field of rays takes 7.3 ms without emitters, 2.1 with; Hamiltonian chains 41, 3.1; evolution 45, 19; a particle
    # filter 2.1, 2.9. They take 1.0 to 1.7 of the compile time, 0.5 where bits are drawn.
    ("jit", {EMITTERS: True}),
    # Programs of fc.jit without a transcendental function of rows of 64: LLVM unrolls loops over 8 to 32 elements, the
    # longer the wider vectors are. Compile time 0.71 (an ensemble), 0.79, 0.84, 0.85, 1.0; a run takes 1.03, 1.04,
    # 1.01, 0.95, 1.01. With such rows: a run 1.11 (a neural ODE), 1.06, 1.05, compile time 0.93 to 1.04.
    ("narrow", {WIDTH: 256}),
    # ---- by content
    # A scatter-add of rows takes 2.46 without fusion emitters, and twice the compile time.
    ("scatter", {EMITTERS: True}),
    # What is known to run often: box_muller_float32 of 524,288 numbers 2.4 ms, 0.55 with emitters.
    ("hot", {EMITTERS: True}),
    # gelu of 64 x 128 x 128 read takes 0.33 ms without emitters, 0.14 with; with its gradient 0.53 and 0.32.
    ("erf", {EMITTERS: True}),
    # Roots of what products gave run number by number without: distances of 1,000 x 8 points 0.81 ms, 0.25 with;
    # of 300 to 2,000 in 128 dimensions 1.7, 1.0; of 8 batches of 200 in 64 0.74, 0.42. Roots alone do not want them.
    ("distance", {EMITTERS: True}),
    # Gathers of what a barrier keeps apart: grid_sample, 8 x 16 x 32 x 32, 0.19 ms without, 0.12 with; with its
    # gradients 0.44 to 0.59, 0.40.
    ("sampled", {EMITTERS: True}),
    # Running sums of one vector. A million float32: 2.0 ms by XLA's blocks alone; by groups of four 3.5 without
    # emitters, 0.7 with; 100,000 take 0.22, 0.26 and 0.08. Of rows both ways are alike (1024 x 1024: 0.38, 0.57).
    ("alone", {EMITTERS: True}),
    # Complex numbers are slow without: |fft(x)| of 256 x 1024 and its gradient 4.4 ms, 0.85 with emitters.
    ("fft", {EMITTERS: True}),
    # A ResNet-18 step takes 1.97-1.99 of PyTorch's time by default, 1.49 with these fusions and
    # 1.36-1.44 with REDUCE,ELTWISE, which is not to be had: ELTWISE loses NaN (relu(NaN) is 0). The
    # emitters were chosen on three 3 x 3 convolutions of 32 x 64 x 32 x 32, forward: 84.8 ms by
    # default, 47.2 with fusions for them off, 52.5 without emitters as well.
    # Few multiplications in a program of fc.jit are 'few', without these: five of 0.15 to 0.6 million 0.20 ms for 0.23.
    ("conv", {EMITTERS: True, YNN: ",".join(_LIBRARY + k for k in ("DOT", "INDIVIDUAL_DOT", "REDUCE"))}),
    # Convolutions by oneDNN; what lies between them is channels last. A step, CPU ms without and with
    # emitters: small mobile network 191, 171, ResNet-18 782, 753 (and with the fusions above 190, 849).
    ("onednn", {EMITTERS: True}),
    # Results written in the place of inputs: AdamW on 20 x 256 x 256 takes 3.25 ms without emitters,
    # which then run scalar code, 0.95 with them, and 1.52 if nothing is donated.
    ("donated", {EMITTERS: True}),
    # The same within a program, of transcendental functions: XLA gives the result of a loop the memory of what it
    # reads, if another operation has made that, and without emitters such a loop is scalar code. ms: tanh(x @ w + b),
    # 2048 x 128 by 128 x 1000, 3.4 and 1.4; an MLP with tanh, 512 wide, 256 samples 0.81, 0.56; log_softmax and
    # nll_loss of 2048 x 1000 with gradients 3.9, 1.1. Not for every program: emitters take 1.2 to 1.8 of the time for
    # a softmax, 3 for layer norm, 10 and 28 for bilinear and bicubic interpolation, 2 for few elements.
    ("in_place", {EMITTERS: True}),
    # What takes one core less than 100 us: XLA divides loops from 256 KB on among its threads, and to wake one takes 30
    # to 50 us. Read, us, divided and not: relu of 64 x 128 x 128 108, 90, where(x > y, x, y) of 512 x 1024 83, 78,
    # masked_fill of it 83, 66, gather of 1000 x 100 76, 62. Longer or transcendental ones: sigmoid 137, 186.
    ("brief", {DISABLED: "cpu-parallel-task-assigner"}),
    ("barrier", KEEP_BARRIERS),
)


def choose_options(features: frozenset[str], fast: bool = False) -> dict[str, object]:
    """The options for `compile` of a CPU program that contains these features; `fast`: whatever it contains, compiling
    is to be quick."""
    if fast:
        return FAST_COMPILE | (KEEP_BARRIERS if "barrier" in features else {})
    options: dict[str, object] = {}
    for feature, choice in _CHOICES:
        if feature is None or feature in features:
            options.update(choice)
    return options
