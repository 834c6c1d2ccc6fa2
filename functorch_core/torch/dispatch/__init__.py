"""From a declared op to its call: signatures, `out=`, in-place forms, autocast, __torch_function__."""
