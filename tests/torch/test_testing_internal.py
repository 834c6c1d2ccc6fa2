"""PyTorch's test utilities, torch.testing._internal of an installed wheel, on this library; package functorch.

The utilities are imported from the wheel's folder under the shim, where `import torch` is this library:
nothing else of the wheel may be loaded.
"""

import importlib.util
import os
import warnings

import pytest

from functorch_core import torch
from tests.torch.test_shim import printed, run

found = importlib.util.find_spec("torch")
WHEEL = None if found is None else os.path.join(os.path.dirname(found.origin), "testing", "_internal")
needs_wheel = pytest.mark.skipif(
    WHEEL is None or not os.path.isdir(WHEEL), reason="PyTorch's wheel, which has the utilities, is not installed"
)
MODULES = """common_utils common_dtype common_device_type common_cuda common_methods_invocations common_nn
    common_modules common_optimizers common_quantization common_quantized common_jit jit_utils
    opinfo.definitions autograd_function_db custom_op_db composite_compliance""".split()


@needs_wheel
def test_the_utilities_import():
    program = f"""
        import importlib, sys, warnings
        warnings.simplefilter("ignore")
        for name in {MODULES}:
            importlib.import_module("torch.testing._internal." + name)
        import torch
        loaded = [m for n, m in sys.modules.items() if n.partition(".")[0] in ("torch", "functorch")]
        files = [getattr(m, "__file__", None) or "" for m in loaded]
        wheels = [f for f in files if "site-packages" in f and "/testing/_internal/" not in f]
        print(torch.__version__, len(sys.modules["torch.testing._internal.common_methods_invocations"].op_db) > 500)
        print([f for f in wheels if "functorch_core" not in f])
        """
    assert printed(code=program) == ["2.7.0+xla True", "[]"]


SUITE = """
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase, parametrize, run_tests

class TestIt(TestCase):
    @parametrize("n", [0, 3])
    def test_sum(self, device, n):
        self.assertEqual(torch.ones(n, device=device).sum(), n)

    @ops([op for op in op_db if op.name == "sin"], allowed_dtypes=(torch.float32, torch.int64))
    def test_sin(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            self.assertEqual(op(sample.input), torch.sin(sample.input))

    def test_differs(self, device):
        with self.assertRaisesRegex(AssertionError, "Tensor-likes are not close"):
            self.assertEqual(torch.ones(2), torch.zeros(2))

instantiate_device_type_tests(TestIt, globals(), only_for="cpu")
if __name__ == "__main__":
    run_tests()
"""


@needs_wheel
def test_a_suite_written_with_them_runs(tmp_path):
    (tmp_path / "suite.py").write_text(SUITE)
    done = run("suite.py", cwd=tmp_path, PYTHONWARNINGS="ignore", CI="")  # under CI they want a package for reports
    assert "Ran 5 tests" in done.stderr and "OK" in done.stderr, done.stderr


def test_without_a_wheel_they_are_not_there():
    program = (
        "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; import torch.testing._internal"
    )
    assert "No module named 'torch.testing._internal'" in run(code=program).stderr


# ---- private names that are small ----------------------------------------------------------------


def test_state_of_overrides():
    C = torch._C
    kinds = C._TorchFunctionState
    assert C._get_torch_function_state() is kinds.ENABLED and C._len_torch_function_stack() == 0
    with C.DisableTorchFunctionSubclass():
        assert C._get_torch_function_state() is kinds.SUBCLASSES_DISABLED
    with torch.overrides.BaseTorchFunctionMode() as mode:
        assert C._len_torch_function_stack() == 1
        assert C._pop_torch_function_stack() is mode and C._len_torch_function_stack() == 0


def test_references_are_the_functions():
    refs = importlib.import_module("functorch_core.torch._refs")
    assert refs.add is torch.add and refs.nn.functional.relu is torch.nn.functional.relu
    assert refs._conversions.double(torch.ones(1)).dtype is torch.float64
    with pytest.raises(AttributeError, match="torch._refs"):
        refs.no_such_function
    with pytest.raises(NotImplementedError, match=r"torch\._refs\.geometric"):
        refs.geometric(torch.ones(1), 0.5)


def test_reductions_have_pytorchs_numbers():
    theirs = pytest.importorskip("torch.nn._reduction")
    ours = importlib.import_module("functorch_core.nn._reduction")
    for reduction in ("none", "mean", "sum"):
        assert ours.get_enum(reduction) == theirs.get_enum(reduction)
    for old in ((True, True), (True, False), (False, True), (None, None)):
        assert ours.legacy_get_string(*old, emit_warning=False) == theirs.legacy_get_string(*old, emit_warning=False)
    for module in (ours, theirs):
        with pytest.raises(ValueError, match="is not a valid value for reduction"):
            module.get_enum("other")


# ---- functorch -----------------------------------------------------------------------------------


def test_functorch_under_the_shim():
    program = """
        import warnings, functorch, functorch.compile, torch, torch._functorch.make_functional
        from functorch.experimental import control_flow
        print(functorch.__name__, functorch.__version__, control_flow.cond is torch.cond)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(functorch.vmap(torch.sin)(torch.zeros(2)), functorch.grad(torch.sin)(torch.tensor(0.)))
        print([w.category.__name__ for w in caught], "`torch.func.grad` instead" in str(caught[1].message))
        try:
            functorch.compile.aot_function(None)
        except NotImplementedError as error:
            print(str(error).partition(" is not")[0])
        """
    assert printed(code=program) == [
        "functorch 2.7.0+xla True",
        "tensor([0., 0.]) tensor(1.)",
        "['FutureWarning', 'FutureWarning'] True",
        "functorch.compile.aot_function",
    ]


def _made(t, functorch):
    """What make_functional and its kin make of modules with the same weights: shapes, flags, outputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Tanh())
        with t.no_grad():
            for i, weight in enumerate(net.parameters()):
                weight.copy_(t.arange(weight.numel()).reshape(weight.shape) * 0.1 + i)
        x = t.tensor([[1.0, 2.0]])
        function, params = functorch.make_functional(net)
        yield [tuple(p.shape) for p in params], function.param_names, params[0].requires_grad
        yield function(params, x).round(decimals=4).tolist(), params[0] is net[0].weight
        yield functorch.make_functional(net, disable_autograd_tracking=True)[1][0].requires_grad
        with_norm = t.nn.Sequential(net, t.nn.BatchNorm1d(3)).eval()
        function, params, buffers = functorch.make_functional_with_buffers(with_norm)
        yield function(params, buffers, x).round(decimals=4).tolist(), function.buffer_names
        function, params, buffers = functorch.combine_state_for_ensemble([with_norm, with_norm])
        yield (
            [tuple(p.shape) for p in params],
            t.func.vmap(function, (0, 0, None))(params, buffers, x).round(decimals=4).tolist(),
        )
        for wrong in (lambda: functorch.make_functional(with_norm), lambda: functorch.combine_state_for_ensemble([])):
            with pytest.raises(RuntimeError) as caught:
                wrong()
            yield str(caught.value)


def test_make_functional():
    theirs = pytest.importorskip("torch._functorch.deprecated")
    reference = pytest.importorskip("torch")
    ours = importlib.import_module("functorch_core.torch._functorch.deprecated")
    for mine, other in zip(_made(torch, ours), _made(reference, theirs), strict=True):
        assert mine == other


# ---- further private names -----------------------------------------------------------------------


def test_hooks_of_all_modules_are_in_pytorchs_tables():
    module = importlib.import_module("functorch_core.nn.modules.module")
    theirs = importlib.import_module("torch.nn.modules.module")
    assert all(hasattr(theirs, name) for name in vars(module) if name.startswith("_global_"))
    handle = module.register_module_forward_hook(lambda *args: None)
    assert list(module._global_forward_hooks) == [handle.id]
    handle.remove()
    assert not module._global_forward_hooks


def test_errors_of_workers():
    reference = pytest.importorskip("torch")
    for make in (lambda: KeyError("a"), lambda: ValueError("b")):
        texts = []
        for t in (torch, reference):
            try:
                raise make()
            except Exception:
                wrapped = importlib.import_module(f"{t.__name__}._utils").ExceptionWrapper(where="in worker")
            with pytest.raises(type(make())) as caught:
                wrapped.reraise()
            texts.append([line for line in str(caught.value).splitlines() if not line.startswith("  File")])
        assert texts[0] == texts[1]


def test_names_of_nn_that_are_missing_raise():
    functions = importlib.import_module("functorch_core.nn.parallel._functions")
    with pytest.raises(
        NotImplementedError, match=r"torch\.nn\.parallel\._functions\.Broadcast.apply is not implemented"
    ):
        functions.Broadcast.apply(None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("functorch_core.nn.parallel._others")


@needs_wheel
def test_pytorchs_other_test_cases():
    program = """
        import warnings
        warnings.simplefilter("ignore")
        from torch._inductor.test_case import TestCase, run_tests
        from torch.testing._internal import common_utils
        print(TestCase is common_utils.TestCase)
        """
    assert printed(code=program) == ["True"]
    case = importlib.import_module("functorch_core.torch._dynamo.test_case")
    with pytest.raises(NotImplementedError, match=r"torch\._dynamo\.test_case\.TestCase"):
        case.TestCase()


def test_questions_about_dtypes():
    reference = pytest.importorskip("torch")
    for (
        name
    ) in "corresponding_complex_dtype corresponding_real_dtype dtype_to_type is_integer_dtype is_boolean_dtype".split():
        found = []
        for t, where in ((torch, "functorch_core.torch._prims_common"), (reference, "torch._prims_common")):
            question, answers = getattr(importlib.import_module(where), name), []
            for dtype in "float16 float64 complex64 int8 uint8 bool".split():
                if "corresponding" not in name or dtype.startswith("complex" if "real" in name else "float"):
                    answers.append(str(question(getattr(t, dtype))))
            found.append(answers)
        assert found[0] == found[1] and found[0]
