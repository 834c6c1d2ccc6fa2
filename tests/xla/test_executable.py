"""Compile and run: checks, donation, options, analyses, errors."""

import threading

import numpy as np
import pytest

from functorch_core import xla

from .programs import aval, compile_double, double, module, run_python


def test_call_and_run():
    program = compile_double(name="double")
    x = xla.put(np.arange(4, dtype="f"))
    for results in (program([x]), program.run([x]), program((x,))):
        (y,) = results
        assert isinstance(y, xla.Buffer)
        assert xla.device_of(y) is program.device is xla.default_device()
        assert xla.to_numpy(y).tolist() == [0, 2, 4, 6]
    assert repr(program) == "<program 'double' (float32[4]) -> (float32[4]) on cpu:0>"
    assert program.inputs[0].shape == (4,) and program.outputs[0].dtype == np.float32


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_odd_shapes(shape):
    x = np.full(shape, 1.5, "f")
    assert np.array_equal(xla.to_numpy(compile_double(shape)([xla.put(x)])[0]), x + x)


def test_no_inputs_and_no_outputs():
    constant = module([], [aval(())], "%r0 = stablehlo.constant dense<3.0> : tensor<f32>")
    program = xla.compile(constant, inputs=[], outputs=[aval(())])
    assert xla.to_numpy(program([])[0]) == 3
    nothing = xla.compile(module([aval((2,))], [], ""), inputs=[aval((2,))], outputs=[])
    assert nothing([xla.put(np.zeros(2, "f"))]) == []


def test_several_outputs_and_dtypes():
    inputs = [aval((2,), "int32"), aval((), "bfloat16")]
    body = "%r0 = stablehlo.negate %a0 : tensor<2xi32>\n%r1 = stablehlo.add %a1, %a1 : tensor<bf16>"
    program = xla.compile(module(inputs, inputs, body), inputs=inputs, outputs=inputs)
    x, y = program([xla.put(np.array([1, -2], "i4")), xla.put(np.array(1.5, "bfloat16"))])
    assert xla.to_numpy(x).tolist() == [-1, 2]
    assert xla.to_numpy(y) == 3 and xla.to_numpy(y).dtype == "bfloat16"


# ---- what __call__ refuses -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(4, "int32"),  # of the same byte size: XLA itself would run it
        np.zeros((2, 2), "float32"),
        np.zeros(2, "float64"),
        np.zeros(5, "float32"),
        np.float32(0),
    ],
)
def test_wrong_buffers_are_refused(bad):
    with pytest.raises(xla.ExecutionError, match=r"argument 0: expected float32\[4\], got"):
        compile_double()([xla.put(bad)])


def test_wrong_count_and_wrong_type_are_refused():
    program = compile_double()
    x = xla.put(np.zeros(4, "f"))
    with pytest.raises(xla.ExecutionError, match="takes 1 buffers, got 2"):
        program([x, x])
    with pytest.raises(xla.ExecutionError, match="expected a Buffer, got ndarray"):
        program([np.zeros(4, "f")])


def test_deleted_buffers_are_refused():
    program = compile_double()
    x = xla.put(np.zeros(4, "f"))
    xla.delete(x)
    with pytest.raises(xla.ExecutionError, match="was deleted"):
        program([x])
    with pytest.raises(xla.ExecutionError):
        program.run([x])


# ---- donation ------------------------------------------------------------------------------------


@pytest.mark.parametrize("argument", ["{tf.aliasing_output = 0 : i32}", "{jax.buffer_donor = true}"])
def test_donation(argument):
    program = compile_double((1024,), argument=argument)
    x = xla.put(np.ones(1024, "f"))
    where = x.unsafe_buffer_pointer()
    (y,) = program([x])
    assert xla.is_deleted(x)
    assert y.unsafe_buffer_pointer() == where
    assert (xla.to_numpy(y) == 2).all()
    with pytest.raises(xla.ExecutionError, match="donated"):
        program([x])


def test_donating_what_numpy_sees_leaves_numpy_its_values():
    program = compile_double(argument="{tf.aliasing_output = 0 : i32}")
    x = xla.put(np.ones(4, "f"))
    view = xla.to_numpy(x)
    assert (xla.to_numpy(program([x])[0]) == 2).all()
    assert (view == 1).all()


# ---- options and analyses ------------------------------------------------------------------------


@pytest.mark.parametrize("features", [(), ("elementwise",), ("scatter",), ("conv", "scatter")])
def test_chosen_options_compile(features):
    options = xla.choose_options(frozenset(features))
    x = xla.put(np.ones(4, "f"))
    assert xla.to_numpy(compile_double(options=options)([x])[0])[0] == 2


def test_choices():
    emitters = "xla_cpu_use_fusion_emitters"
    wide = {"xla_cpu_prefer_vector_width": 512}
    assert xla.choose_options(frozenset()) == {emitters: False, **wide}
    assert xla.choose_options(frozenset({"scatter"})) == {emitters: True, **wide}
    assert "ELTWISE" not in str(xla.choose_options(frozenset({"conv"})))  # it loses NaN


def test_fast_compile():
    x = xla.put(np.ones(4, "f"))
    assert xla.to_numpy(compile_double(options=xla.FAST_COMPILE)([x])[0])[0] == 2


def test_unknown_option():
    with pytest.raises(xla.CompileError, match="xla_nonsense"):
        compile_double(options={"xla_nonsense": 1})


def test_analyses():
    for _ in range(2):  # compiled, then read from the disk
        program = compile_double((1000,))
        assert program.cost_analysis()["flops"] == 1000
        assert program.memory_analysis()["argument"] == 4000
        assert "f32[1000]" in program.hlo_text()
    assert program.from_disk_cache


def test_compile_stats():
    before = xla.compile_stats()
    program = compile_double((17,))
    compile_double((17,))
    after = xla.compile_stats()
    assert after["compiles"] - before["compiles"] == 1
    assert after["disk_hits"] - before["disk_hits"] == 1
    assert after["compile_seconds"] - before["compile_seconds"] == program.compile_seconds > 0


def test_threads_compile_and_run():
    x = xla.put(np.ones(4, "f"))
    found = []

    def work(scale):
        text = double()[0].replace("stablehlo.add", ["stablehlo.add", "stablehlo.multiply"][scale])
        program = xla.compile(text, inputs=[x.aval], outputs=[x.aval], cache=False)
        for _ in range(50):
            found.append((scale, float(xla.to_numpy(program([x])[0])[0])))

    threads = [threading.Thread(target=work, args=(scale,)) for scale in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(found)) == [(0, 2.0), (1, 1.0)] and len(found) == 100


# ---- errors --------------------------------------------------------------------------------------

LOCATIONS = '#loc2 = loc("user.py":12:3)\n#loc1 = loc("jit(step)/reshape"(#loc2))\n'
RESHAPE = '%r0 = "stablehlo.reshape"(%a0) : (tensor<4xf32>) -> tensor<3xf32> loc(#loc1)'


def broken(body, outputs):
    return module([aval((4,))], outputs, body) + LOCATIONS


@pytest.mark.parametrize(
    "text, op, location, words",
    [
        (broken(RESHAPE, [aval((3,))]), "stablehlo.reshape", "user.py:12", "number of output"),
        (
            broken("%r0 = stablehlo.nonsense %a0 : tensor<4xf32> loc(#loc1)", [aval((4,))]),
            "stablehlo.nonsense",
            "user.py:12",
            "unknown",
        ),
        (
            broken("%r0 = stablehlo.add %a0, %zz : tensor<4xf32> loc(#loc1)", [aval((4,))]),
            "stablehlo.add",
            "user.py:12",
            "undeclared",
        ),
        (broken("%r0 = stablehlo.add %a0, %a0 : tensor<4xf32>", [aval((5,))]), "", "", "expects different type"),
        ("module {", "", "", "expected operation name"),
    ],
)
@pytest.mark.parametrize("how", ["compile", "verify"])
def test_bad_modules(text, op, location, words, how):
    with pytest.raises(xla.CompileError, match=words) as caught:
        if how == "verify":
            xla.verify(text, name="step")
        else:
            xla.compile(text, inputs=[], outputs=[], name="step")
    first = str(caught.value).splitlines()[0]
    assert "cannot compile program 'step'" in first and words in first
    assert caught.value.location == location and location in first
    if op:
        assert caught.value.op == op and op in first
    assert "forward incompatibility" not in str(caught.value)
    assert words in caught.value.details


def test_unknown_target():
    body = (
        "%r0 = stablehlo.custom_call @nowhere(%a0) {api_version = 4 : i32, backend_config = {}}"
        " : (tensor<4xf32>) -> tensor<4xf32> loc(#loc1)"
    )
    with pytest.raises(xla.CompileError, match="@nowhere at user.py:12: No FFI handler"):
        xla.compile(broken(body, [aval((4,))]), inputs=[], outputs=[])


def test_good_module_verifies():
    xla.verify(double()[0])


ON_THIS_THREAD = """
import threading
import numpy as np
from functorch_core import xla
from programs import aval, compile_double, module

x = aval((700, 700))
kind = xla.mlir_type(x.shape, x.dtype)
dot = f"%r0 = stablehlo.dot_general %a0, %a0, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {kind}"
def compiled(where, cache, on_this_thread=True):
    return xla.compile(
        module([x], [x], dot), inputs=[x], outputs=[x], device=where, cache=cache, on_this_thread=on_this_thread
    )

numbers = np.random.default_rng(0).standard_normal(x.shape, np.float32) / 30
close = lambda result, wanted: np.testing.assert_allclose(xla.to_numpy(result), wanted, rtol=1e-3, atol=1e-3)
for where in xla.devices():  # compiled, compiled and stored, from the disk
    for cache in (False, True, True):
        program = compiled(where, cache)
        for _ in range(3):
            (result,) = program([xla.put(numbers, where)])
            assert result.is_ready()  # an asynchronous client's others are not
            close(result, numbers @ numbers)
other = compiled(xla.devices()[0], True, on_this_thread=False)
close(other([xla.put(numbers)])[0], numbers @ numbers)
print(xla.compile_stats())

first, second = compiled(xla.devices()[0], True), compile_double(x.shape)
(result,) = second(first(second(first([xla.put(numbers)]))))  # inputs that are not there yet
double = 2 * numbers @ numbers
close(result, 2 * double @ double)

donated = compile_double((64, 64), argument="{tf.aliasing_output = 0 : i32}", on_this_thread=True)
given = xla.put(numbers[:64, :64])
(result,) = donated([given])
assert given.is_deleted()
close(result, 2 * numbers[:64, :64])

small, wrong = compile_double((64, 64), on_this_thread=True), []
def use(i):
    for j in range(200):
        own = np.full((64, 64), 1000 * i + j, np.float32)
        (result,) = small([xla.put(own)])
        own[:] = -1
        if not (xla.to_numpy(result) == 2 * (1000 * i + j)).all():
            wrong.append((i, j))
threads = [threading.Thread(target=use, args=(i,)) for i in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
assert not wrong, wrong
"""


def test_programs_run_on_the_calling_thread(own_cache):
    """Whichever way they were come by, on each device, donated to, from several threads."""
    said = run_python(ON_THIS_THREAD, FUNCTORCH_CPU_ASYNC="1", FUNCTORCH_CPU_DEVICES="2")
    assert "'compiles': 4" in said and "'disk_hits': 3" in said


LARGE = """
import numpy as np
from functorch_core import xla
from functorch_core.xla.executable import LARGE_TEMPORARY
from programs import aval, module

x, out = aval((64,)), aval((131072,))
body = '''
%b = stablehlo.broadcast_in_dim %a0, dims = [1] : (tensor<64xf32>) -> tensor<131072x64xf32>
%f = stablehlo.fft %b, type = RFFT, length = [64] : (tensor<131072x64xf32>) -> tensor<131072x33xcomplex<f32>>
%p = stablehlo.real %f : (tensor<131072x33xcomplex<f32>>) -> tensor<131072x33xf32>
%z = stablehlo.constant dense<0.0> : tensor<f32>
%r0 = stablehlo.reduce(%p init: %z) applies stablehlo.maximum across dimensions = [1]
  : (tensor<131072x33xf32>, tensor<f32>) -> tensor<131072xf32>'''
program = xla.compile(module([x], [out], body), inputs=[x], outputs=[out], cache=False)
assert program.memory_analysis()["temp"] >= LARGE_TEMPORARY
given = np.random.default_rng(0).random(64, np.float32)
results = []
for i in range(6):
    if i % 2:
        results += program([xla.put(given)])
    else:
        found = []
        program.run_into([xla.put(given)], found)
        results += found[0]
    assert all(result.is_ready() for result in results[:-1])
for result in results:
    np.testing.assert_allclose(xla.to_numpy(result), np.fft.rfft(given).real.max(), rtol=1e-4)
"""


def test_large_programs_run_one_after_another():
    """So that there is one block of temporary memory, whichever way they are started."""
    run_python(LARGE, FUNCTORCH_CPU_ASYNC="1")
