"""The course of PyTorch's tutorial on fully_shard, run twice: the second time it goes on from the first's checkpoint.

`fsdp.py FOLDER [--explicit-prefetching] [--mixed-precision] [--dcp-api]`."""

import argparse
import os
import time

import torch
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    _init_optim_state,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from transformer import ModelArgs, Transformer

MODEL_CHECKPOINT, OPTIM_CHECKPOINT, PARAMS = "model_state_dict.pt", "optim_state_dict.pt", "params"


def get_latest_checkpoint_folder(path):
    max_num = None
    if not os.path.exists(path):
        return max_num
    for name in os.listdir(path):
        folder_path = os.path.join(path, name)
        if os.path.isdir(folder_path) and name.isdigit():
            max_num = max(int(name), max_num or 0)
    return max_num


class Checkpointer:
    def __init__(self, folder: str, dcp_api: bool):
        self.folder = folder
        self.dcp_api = dcp_api
        self.last_training_time = get_latest_checkpoint_folder(f"{folder}/{'dcp_api' if dcp_api else 'dtensor_api'}")

    def is_empty(self):
        return self.last_training_time is None

    def path(self, name, at=None):
        kind = "dcp_api" if self.dcp_api else "dtensor_api"
        return f"{self.folder}/{kind}/{at or self.last_training_time}/{name}"

    def load_model(self, model: FSDPModule):
        full_sd = torch.load(self.path(MODEL_CHECKPOINT), mmap=True, weights_only=True, map_location="cpu")
        if self.dcp_api:
            set_model_state_dict(
                model=model,
                model_state_dict=full_sd,
                options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True),
            )
            return
        meta_sharded_sd = model.state_dict()
        sharded_sd = {}
        for param_name, full_tensor in full_sd.items():
            sharded_meta_param = meta_sharded_sd.get(param_name)
            sharded_tensor = distribute_tensor(
                full_tensor, sharded_meta_param.device_mesh, sharded_meta_param.placements
            )
            sharded_sd[param_name] = torch.nn.Parameter(sharded_tensor)
        # choose `assign=True` since we cannot call `copy_` on meta tensor
        model.load_state_dict(sharded_sd, strict=False, assign=True)

    def load_optim(self, model: FSDPModule, opt: torch.optim.Optimizer):
        full_sd = torch.load(self.path(OPTIM_CHECKPOINT), mmap=True, weights_only=True, map_location="cpu")
        if self.dcp_api:
            set_optimizer_state_dict(
                model=model,
                optimizers=opt,
                optim_state_dict=full_sd,
                options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True),
            )
            return
        _init_optim_state(opt)
        param_groups, state = opt.state_dict()["param_groups"], opt.state_dict()["state"]
        full_param_groups, full_state = full_sd["param_groups"], full_sd["state"]
        for param_group, full_param_group in zip(param_groups, full_param_groups):
            for key, value in full_param_group.items():
                if key == PARAMS:
                    continue
                param_group[key] = value
            for pid, full_pid in zip(param_group[PARAMS], full_param_group[PARAMS]):
                if pid not in state:
                    continue
                param_state, full_param_state = state[pid], full_state[full_pid]
                for attr, full_tensor in full_param_state.items():
                    sharded_tensor = param_state[attr]
                    if isinstance(sharded_tensor, DTensor):
                        param_state[attr] = distribute_tensor(
                            full_tensor, sharded_tensor.device_mesh, sharded_tensor.placements
                        )
                    else:
                        param_state[attr] = full_tensor
        opt.load_state_dict({"param_groups": param_groups, "state": state})

    def _get_full_model_state_dict(self, model: FSDPModule):
        if self.dcp_api:
            return get_model_state_dict(model=model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        cpu_state_dict = {}
        for param_name, sharded_param in model.state_dict().items():
            full_param = sharded_param.full_tensor()
            if torch.distributed.get_rank() == 0:
                cpu_state_dict[param_name] = full_param.cpu()
            else:
                del full_param
        return cpu_state_dict

    def _get_full_optimizer_state_dict(self, model: FSDPModule, opt: torch.optim.Optimizer):
        if self.dcp_api:
            return get_optimizer_state_dict(
                model=model, optimizers=opt, options=StateDictOptions(full_state_dict=True, cpu_offload=True)
            )
        is_rank_zero = torch.distributed.get_rank() == 0
        sharded_sd = opt.state_dict()
        full_state = {}
        for group_id, sharded_group in sharded_sd["state"].items():
            group_state = {}
            for attr, sharded_tensor in sharded_group.items():
                if isinstance(sharded_tensor, DTensor):
                    full_tensor = sharded_tensor.full_tensor()
                else:
                    full_tensor = sharded_tensor
                if is_rank_zero:
                    group_state[attr] = full_tensor.cpu()
            full_state[group_id] = group_state
        return {"param_groups": sharded_sd["param_groups"], "state": full_state} if is_rank_zero else {}

    def save(self, model: FSDPModule, optim: torch.optim.Optimizer):
        model_state_dict = self._get_full_model_state_dict(model)
        optim_state_dict = self._get_full_optimizer_state_dict(model, optim)
        if torch.distributed.get_rank() == 0:
            new_training_time = int(time.time() * 1000)
            os.makedirs(os.path.dirname(self.path(MODEL_CHECKPOINT, new_training_time)), exist_ok=True)
            torch.save(model_state_dict, self.path(MODEL_CHECKPOINT, new_training_time))
            torch.save(optim_state_dict, self.path(OPTIM_CHECKPOINT, new_training_time))


def inspect_model(model: FSDPModule):
    assert isinstance(model, Transformer)
    assert isinstance(model, FSDPModule)
    if torch.distributed.get_rank() == 0:
        print(model)
    for param in model.parameters():
        assert param.placements == (Shard(0),)
        assert param.dtype == torch.float32


def inspect_mixed_precision(model: FSDPModule):
    model.unshard()
    for param in model.parameters(recurse=False):
        assert param.dtype == torch.bfloat16
    model.reshard()
    for param in model.parameters(recurse=False):
        assert param.dtype == torch.float32


def set_modules_to_forward_prefetch(model, num_to_forward_prefetch):
    for i, layer in enumerate(model.layers):
        if i >= len(model.layers) - num_to_forward_prefetch:
            break
        layers_to_prefetch = [model.layers[i + j] for j in range(1, num_to_forward_prefetch + 1)]
        layer.set_modules_to_forward_prefetch(layers_to_prefetch)


def set_modules_to_backward_prefetch(model, num_to_backward_prefetch):
    for i, layer in enumerate(model.layers):
        if i < num_to_backward_prefetch:
            continue
        layers_to_prefetch = [model.layers[i - j] for j in range(1, num_to_backward_prefetch + 1)]
        layer.set_modules_to_backward_prefetch(layers_to_prefetch)


def main(args):
    torch.distributed.init_process_group(backend="gloo", device_id=None)
    torch.manual_seed(0)
    vocab_size, batch_size, seq_len = 1024, 8, 16
    model_args = ModelArgs(n_layers=3, n_heads=4, vocab_size=vocab_size, max_seq_len=seq_len, dropout_p=0)
    with torch.device("meta"):
        model = Transformer(model_args)
    fsdp_kwargs = {}
    if args.mixed_precision:
        fsdp_kwargs["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, **fsdp_kwargs)
    fully_shard(model, **fsdp_kwargs)
    inspect_model(model)
    if args.explicit_prefetching:
        set_modules_to_forward_prefetch(model, num_to_forward_prefetch=2)
        set_modules_to_backward_prefetch(model, num_to_backward_prefetch=2)
    checkpointer = Checkpointer(args.folder, dcp_api=args.dcp_api)
    if checkpointer.last_training_time is None:
        model.to_empty(device="cpu")
        model.reset_parameters()
    else:
        if args.dcp_api:
            model.to_empty(device="cpu")
        checkpointer.load_model(model)
    if args.mixed_precision:
        inspect_mixed_precision(model)
    optim = torch.optim.Adam(model.parameters(), lr=1e-2)
    if checkpointer.last_training_time is not None:
        checkpointer.load_optim(model, optim)
    rank, n = torch.distributed.get_rank(), torch.distributed.get_world_size()
    for _ in range(args.steps):
        if args.explicit_prefetching:
            model.unshard()
        x = torch.randint(0, vocab_size, (batch_size, seq_len)).chunk(n)[rank]
        loss = model(x).logsumexp(-1).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optim.step()
        optim.zero_grad()
        shown = loss.detach().clone()
        torch.distributed.all_reduce(shown, op=torch.distributed.ReduceOp.AVG)
        if rank == 0:
            print(f"loss {shown.item():.7f}")
    checkpointer.save(model, optim)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="PyTorch FSDP2 example")
    parser.add_argument("folder")
    parser.add_argument("--explicit-prefetching", action="store_true", default=False)
    parser.add_argument("--mixed-precision", action="store_true", default=False)
    parser.add_argument("--dcp-api", action="store_true", default=False)
    parser.add_argument("--steps", type=int, default=6)
    main(parser.parse_args())
