"""What packages written for PyTorch ask of it: private names, attributes, habits."""

import copy
import importlib
import pickle
import time

import numpy as np
import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


@BOTH
def test_dict_of_a_tensor_holds_what_users_set(t):
    x = (t.ones(2, requires_grad=True) * 2).detach()
    assert x.__dict__ == {} and vars(t.nn.Parameter(x)) == {}
    x.note = 1
    x.__dict__["more"] = 2
    x.__dict__.update(third=3)
    assert vars(x) == {"note": 1, "more": 2, "third": 3} and (x.more, x.third) == (2, 3)
    del x.__dict__["note"]
    assert not hasattr(x, "note") and x.__dict__.pop("third") == 3 and not hasattr(x, "third")
    assert x.__dict__.setdefault("more", 5) == 2 and x.__dict__.setdefault("last", 5) == x.last == 5
    assert vars(copy.deepcopy(x)) == vars(pickle.loads(pickle.dumps(x))) == vars(copy.copy(x)) == {"more": 2, "last": 5}
    y = t.nn.Parameter(x, **t.nn.Parameter(x).__dict__)
    assert y.tolist() == [2, 2] and "note" not in dir(x) and "last" in dir(x)
    x.__dict__.clear()
    assert vars(x) == {}


@BOTH
def test_numpy_of_what_requires_grad_where_gradients_are_off(t):
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        assert x.numpy().tolist() == np.asarray(x).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()


@BOTH
def test_functions_beside_methods(t):
    x = t.arange(6.0, requires_grad=True).reshape(2, 3)
    y = t.detach(x)
    assert not y.requires_grad and y.data_ptr() == x.data_ptr() and t.detach_(x * 1).is_leaf
    assert t.is_same_size(x, y) and not t.is_same_size(x, y[0]) and t.get_device(x) == -1
    assert t.legacy_contiguous_format is t.contiguous_format and not t.is_distributed(x)
    for dim in (0, 1, -1):
        np.testing.assert_allclose(
            t.norm_except_dim(y, 2, dim).numpy(), reference.norm_except_dim(reference.tensor(y.tolist()), 2, dim)
        )
    assert t.as_strided_(t.arange(4.0), (2,), (2,)).tolist() == [0, 2]
    assert t.rrelu_(t.tensor([-24.0, 1.0])).tolist() == [-5.5, 1]
    assert t.GradScaler is t.amp.GradScaler


@BOTH
def test_split_by_the_name_of_the_method(t):
    x = t.arange(5)
    assert [p.tolist() for p in x.split(split_size=2)] == [[0, 1], [2, 3], [4]]
    assert [p.tolist() for p in x.split(split_size=[1, 4], dim=0)] == [[0], [1, 2, 3, 4]]
    assert [p.tolist() for p in t.split(x, split_size_or_sections=3)] == [[0, 1, 2], [3, 4]]
    with pytest.raises(TypeError):
        x.split()


@BOTH
def test_questions_about_export(t):
    assert not t.onnx.is_in_onnx_export() and t.onnx.TrainingMode.EVAL.value == 0
    assert t.hub.HASH_REGEX.search("resnet-abc123.pth").group(1) == "abc123"


@BOTH
def test_placements(t):
    importlib.import_module(f"{t.__name__}.distributed.tensor")
    Shard, Replicate, Partial = (getattr(t.distributed.tensor, name) for name in ("Shard", "Replicate", "Partial"))
    assert [str(p) for p in (Shard(1), Replicate(), Partial(), Partial("avg"))] == ["S(1)", "R", "P(sum)", "P(avg)"]
    assert [repr(p) for p in (Shard(1), Replicate(), Partial())] == ["Shard(dim=1)", "Replicate()", "Partial(sum)"]
    assert Shard(1) == Shard(1) != Shard(0) and len({Shard(0), Shard(0), Replicate()}) == 2
    assert Shard(1).is_shard() and Shard(1).is_shard(1) and not Shard(1).is_shard(0)
    assert Replicate().is_replicate() and Partial().is_partial() and not Partial().is_shard()


@BOTH
def test_paths_of_trees(t):
    pytree = importlib.import_module(f"{t.__name__}.utils._pytree")

    class Pair:
        def __init__(self, *parts):
            self.parts = parts

    pytree.register_pytree_node(
        Pair,
        lambda x: (list(x.parts), None),
        lambda parts, _: Pair(*parts),
        flatten_with_keys_fn=lambda x: ([(pytree.GetAttrKey(n), p) for n, p in zip("ab", x.parts)], None),
    )
    tree = {"x": [1, 2], "y": Pair(3, (4,))}
    assert [(pytree.keystr(path), leaf) for path, leaf in pytree.tree_leaves_with_path(tree)] == [
        ("['x'][0]", 1),
        ("['x'][1]", 2),
        ("['y'].a", 3),
        ("['y'].b[0]", 4),
    ]
    values, context = pytree._dict_flatten({"a": 1, "b": 2})
    assert pytree._dict_unflatten(values, context) == {"a": 1, "b": 2}
    assert pytree._dict_flatten_with_keys({"a": 1}) == ([(pytree.MappingKey("a"), 1)], ["a"])
    Other = type("Other", (), {})
    pytree.register_pytree_node(Other, lambda x: ([], None), lambda parts, _: Other())
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        pytree.tree_leaves_with_path(Other())


@BOTH
def test_names_of_dynamo(t):
    dynamo = importlib.import_module(f"{t.__name__}._dynamo")
    f = dynamo.allow_in_graph(lambda x: x)
    assert f(1) == 1 and not dynamo.is_compiling() and dynamo.disable(len)([]) == 0
    assert not isinstance(t.nn.Linear(1, 1), dynamo.OptimizedModule)
    dynamo.mark_static_address(t.ones(1)), dynamo.mark_dynamic(t.ones(2), 0), dynamo.reset()
    before = dynamo.config.capture_scalar_outputs
    with dynamo.config.patch(capture_scalar_outputs=not before):
        assert dynamo.config.capture_scalar_outputs is not before
    assert dynamo.config.capture_scalar_outputs is before
    with pytest.raises(AttributeError):
        with dynamo.config.patch("nonsense_setting", 1):
            pass
    config = importlib.import_module(f"{t.__name__}._dynamo.config")
    assert config is dynamo.config
    with pytest.raises(TypeError):
        dynamo.OptimizedModule()


def test_decorators_that_are_missing():
    """Modules apply them where they are imported."""
    decorate = importlib.import_module("functorch_core.torch.distributed.rpc.api")._require_initialized
    with pytest.raises(NotImplementedError, match="_require_initialized"):
        decorate(len)([])


@BOTH
def test_questions_and_switches_of_c(t):
    c = importlib.import_module(f"{t.__name__}._C")
    if not t.accelerator.is_available():
        assert c._get_accelerator() == t.device("cpu")
    assert c._get_default_device() == "cpu" and not c._jit_can_fuse_on_gpu()
    assert c._get_privateuse1_backend_name() == "privateuseone"
    assert not isinstance(t.ones(1), (c.Graph, c.Value))


class Forty(torch.utils.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return i


def seed_worker(worker):
    torch.manual_seed(worker), torch.cuda.manual_seed_all(worker), torch.cuda.manual_seed(worker)
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_in_workers():
    """Trainers seed all devices in worker_init_fn."""
    torch.ones(2).sum().item()  # a client runs, which a forked process cannot use
    loader = torch.utils.data.DataLoader(Forty(), batch_size=8, num_workers=1, worker_init_fn=seed_worker)
    assert [len(batch) for batch in loader] == [8] * 5


@BOTH
def test_rows_of_sparse_matrices(t):
    rows, columns = t.tensor([0, 0, 2, 2, 2]), t.tensor([1, 3, 0, 1, 2])
    starts = t._convert_indices_from_coo_to_csr(rows, 4)
    assert starts.tolist() == [0, 2, 2, 5, 5] and starts.dtype is t.int64
    assert t._convert_indices_from_coo_to_csr(rows, 4, out_int32=True).dtype is t.int32
    back = t._convert_indices_from_csr_to_coo(starts, columns)
    assert back.tolist() == [rows.tolist(), columns.tolist()]
    turned = t._convert_indices_from_csr_to_coo(starts, columns, transpose=True)
    assert turned.tolist() == [columns.tolist(), rows.tolist()]
    assert t._convert_indices_from_coo_to_csr(t.tensor([], dtype=t.int64), 2).tolist() == [0, 0, 0]


@BOTH
def test_members_by_their_names(t):
    accessors = importlib.import_module(f"{t.nn.__name__}.utils._named_member_accessor")
    net = t.nn.Sequential(t.nn.Linear(2, 1), t.nn.BatchNorm1d(1))
    members, ones, said = accessors.NamedMemberAccessor(net), t.ones(1, 2), []
    weight = accessors.swap_tensor(net[0], "weight", ones)
    assert net[0].weight is ones and isinstance(weight, t.nn.Parameter)
    assert members.swap_tensor("0.weight", weight) is ones and members.get_tensor("0.weight") is weight
    before, missing = members.swap_tensors_dict({"0.bias": ones, "0.further": ones}, allow_missing=True)
    assert missing == ["0.further"] and net[0].further is ones
    members.swap_tensors_dict(before, allow_missing=True)
    assert not hasattr(net[0], "further") and isinstance(net[0].bias, t.nn.Parameter)
    for call in (
        lambda: accessors.swap_tensor(net[0], "other", ones),
        lambda: accessors.swap_tensor(net, "0.weight", ones),
        lambda: accessors.swap_tensor(net[0], "weight", 1.0),
        lambda: members.swap_tensors_dict({"0.weight": ones, "0.further": ones}),
        lambda: members.get_tensor("0.further"),
    ):
        with pytest.raises((AttributeError, KeyError, TypeError, RuntimeError)) as caught:
            call()
        said.append((caught.type, str(caught.value)))
    assert net[0].weight is weight
    assert [kind for kind, _ in said] == [AttributeError, KeyError, TypeError, RuntimeError, AttributeError]
    assert said[3][1] == "Missing key(s): '0.further'." and "`other`" in said[0][1]
    assert members.check_keys(["0.weight", "nothing"])[1] == ["nothing"]
    layer = t.nn.Linear(1, 1)
    assert isinstance(members.swap_submodule("0", layer), t.nn.Linear) and net[0] is layer


@BOTH
def test_small_names_of_tensordict(t):
    tree, utils = (importlib.import_module(f"{t.__name__}.{name}") for name in ("utils._pytree", "_utils"))
    assert tree.is_structseq_instance(time.gmtime(0)) and not tree.is_structseq_instance((1, 2))
    assert utils._get_device_module("cuda") is t.cuda and issubclass(t.UntypedStorage, t.StorageBase)
    with pytest.raises(RuntimeError, match="does not have a corresponding module"):
        utils._get_device_module("nothing")
    assert not t._C._is_torch_function_mode_enabled()
    with t.overrides.TorchFunctionMode():
        assert t._C._is_torch_function_mode_enabled()
    assert t.vmap(lambda x: t.nn.Parameter(x, requires_grad=False) * 2)(t.ones(2)).tolist() == [2, 2]
