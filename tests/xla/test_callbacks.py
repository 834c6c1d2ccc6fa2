"""Python callbacks: values, checks of what they return, exceptions, the disk cache."""

import gc
import threading

import numpy as np
import pytest

from functorch_core import xla

from .programs import aval, double, module

CALL = (
    "{r}stablehlo.custom_call @xla_ffi_python_cpu_callback({operands}) "
    "{{api_version = 4 : i32, has_side_effect = {effect}, "
    "backend_config = {{index = {index} : ui64}}}}"
    " : ({takes}) -> ({gives})"
)


def call(takes, gives, *, operands="%a0", results="%r0", index=0, effect=False):
    count = f":{len(gives)}" if len(gives) > 1 else ""
    types = [", ".join(xla.mlir_type(a.shape, a.dtype) for a in avals) for avals in (takes, gives)]
    return CALL.format(
        r=f"{results}{count} = " if gives else "",
        operands=operands,
        effect=str(effect).lower(),
        index=index,
        takes=types[0],
        gives=types[1],
    )


def program_of(fn, takes=None, gives=None, *, borrow=False, **kwargs):
    """A program that is one call of fn."""
    takes = takes or [aval((4,))]
    gives = gives or takes
    operands = ", ".join(f"%a{i}" for i in range(len(takes)))
    results = "%r" if len(gives) > 1 else "%r0"
    body = call(takes, gives, operands=operands, results=results)
    text = module(takes, gives, body)
    if len(gives) > 1:
        for i in range(len(gives)):
            text = text.replace(f"%r{i}", f"%r#{i}")
    callback = xla.Callback(fn, gives, borrow=borrow)
    return xla.compile(text, inputs=takes, outputs=gives, callbacks=[callback], **kwargs)


X = np.arange(4, dtype="f")


@pytest.mark.parametrize("borrow", [False, True])
def test_values(borrow):
    program = program_of(lambda x: (x * 2,), borrow=borrow)
    assert xla.to_numpy(program([xla.put(X)])[0]).tolist() == [0, 2, 4, 6]


def test_a_bare_array_and_strided_results():
    assert xla.to_numpy(program_of(lambda x: x[::-1])([xla.put(X)])[0]).tolist() == [3, 2, 1, 0]
    turned = program_of(lambda x: x.T, [aval((2, 3))], [aval((3, 2))])
    matrix = np.arange(6, dtype="f").reshape(2, 3)
    assert np.array_equal(xla.to_numpy(turned([xla.put(matrix)])[0]), matrix.T)


def test_several_operands_and_dtypes():
    takes = [aval((2,), "bfloat16"), aval((), "bool"), aval((0, 3), "int8")]
    program = program_of(lambda x, y, z: (x + x, ~y, z), takes)
    values = [np.array([1, 2], "bfloat16"), np.array(True), np.zeros((0, 3), "i1")]
    results = [xla.to_numpy(y) for y in program([xla.put(x) for x in values])]
    assert results[0].tolist() == [2, 4] and not results[1] and results[2].shape == (0, 3)


def test_arguments_may_be_kept():
    kept = []
    program = program_of(lambda x: (kept.append(x), x)[1])
    for scale in range(5):
        program([xla.put(X + scale)])
    gc.collect()
    assert [x[0] for x in kept] == [0, 1, 2, 3, 4]
    assert all(x.flags.owndata for x in kept)


def test_two_callbacks_and_an_effect():
    x = [aval((4,))]
    seen = []
    body = "\n".join(
        [
            call(x, x, results="%m", index=0),
            call(x, [], operands="%m", index=1, effect=True),
            call(x, x, operands="%m", index=2),
        ]
    )
    callbacks = [
        xla.Callback(lambda v: v + 1, x),
        xla.Callback(lambda v: seen.append(v.tolist()), []),
        xla.Callback(lambda v: v * 10, x),
    ]
    program = xla.compile(module(x, x, body), inputs=x, outputs=x, callbacks=callbacks)
    assert xla.to_numpy(program([xla.put(X)])[0]).tolist() == [10, 20, 30, 40]
    assert seen == [[1, 2, 3, 4]]


# ---- results are checked -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fn, error, words",
    [
        (lambda x: x[:2], ValueError, r"expected shape \(4,\), got \(2,\)"),
        (lambda x: x.reshape(2, 2), ValueError, "expected shape"),
        (lambda x: x.astype("int32"), TypeError, "expected dtype float32, got int32"),
        (lambda x: x.astype(">f4"), TypeError, "expected dtype float32"),
        (lambda x: (x, x), ValueError, "returned 2 arrays, its declaration has 1"),
        (lambda x: None, ValueError, "returned 0 arrays"),
    ],
)
def test_wrong_results(fn, error, words):
    with pytest.raises(error, match=words):
        program_of(fn)([xla.put(X)])


# ---- exceptions ----------------------------------------------------------------------------------


class Mine(Exception):
    pass


def test_the_exception_itself_arrives():
    mine = Mine("boom", 42)
    cause = KeyError("why")

    def fails(x):
        raise mine from cause

    program = program_of(fails)
    for run in (program, program.run):
        with pytest.raises(Mine) as caught:
            run([xla.put(X)])
        assert caught.value is mine and mine.__cause__ is cause
        names = [entry.name for entry in caught.traceback]
        assert "fails" in names


def test_keyboard_interrupt_arrives():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        program_of(interrupted)([xla.put(X)])


def test_a_program_works_again_after_an_exception():
    fail = [True]

    def sometimes(x):
        if fail[0]:
            raise Mine
        return x

    program = program_of(sometimes)
    with pytest.raises(Mine):
        program([xla.put(X)])
    fail[0] = False
    assert xla.to_numpy(program([xla.put(X)])[0]).tolist() == X.tolist()


def test_threads_get_their_own_exceptions():
    def fails(x):
        raise Mine(float(x[0]))

    program = program_of(fails)
    wrong = []

    def work(number):
        for _ in range(50):
            try:
                program([xla.put(np.full(4, number, "f"))])
            except Mine as error:
                if error.args != (number,):
                    wrong.append(error.args)

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_program_run_inside_a_callback():
    text, inputs, outputs = double()
    inner = xla.compile(text, inputs=inputs, outputs=outputs)
    program = program_of(lambda x: xla.to_numpy(inner([xla.put(x)])[0]))
    assert xla.to_numpy(program([xla.put(X)])[0]).tolist() == [0, 2, 4, 6]


# ---- declaration and cache -----------------------------------------------------------------------


def test_a_bare_function_is_refused():
    text, inputs, outputs = double()
    with pytest.raises(TypeError, match="Callback"):
        xla.compile(text, inputs=inputs, outputs=outputs, callbacks=[lambda x: x])


def test_from_the_disk_with_other_functions():
    first = program_of(lambda x: x + 1)
    second = program_of(lambda x: x * 5)
    assert (first.from_disk_cache, second.from_disk_cache) == (False, True)
    assert xla.to_numpy(second([xla.put(X)])[0]).tolist() == [0, 5, 10, 15]


def test_bad_module_with_a_callback():
    with pytest.raises(xla.CompileError, match="expected operation name"):
        callbacks = [xla.Callback(lambda x: x, [])]
        xla.compile("module {", inputs=[], outputs=[], callbacks=callbacks)
