"""The process that callgrind watches: python -m ..._counted FOLDER runs what `callgrind.collect` wrote there."""

from __future__ import annotations

import ctypes
import gc
import mmap
import platform
import sys
import timeit

import functorch_core.torch as torch

from .....engine import flush

# What programs tell valgrind, as valgrind.h documents it: a sequence without effect, which it knows; rdi has the
# address of the request and its five arguments.
REQUEST = bytes.fromhex("4889f8 4889f2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
CALLGRIND = ord("C") << 24 | ord("T") << 16
DUMP, TOGGLE, START = CALLGRIND, CALLGRIND + 2, CALLGRIND + 4
WARM_UP = 100  # until how it is computed has been found


def requester():
    """request(what): tell callgrind something."""
    if platform.machine() not in ("x86_64", "AMD64"):
        raise NotImplementedError("torch.utils.benchmark.Timer.collect_callgrind on a machine that is not an x86-64")
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(REQUEST)
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    call = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)(address)

    def request(what: int, _kept=code):
        call((ctypes.c_uint64 * 6)(what), 0)

    return request


def main(folder: str):
    """Count."""
    request = requester()
    work = torch.load(f"{folder}/work.pt", weights_only=False)
    names: dict = {"torch": torch}
    for setup in work["setups"]:
        exec(setup, names)
    names.update(torch.load(f"{folder}/globals.pt", weights_only=False))
    task = work["task"]
    torch.set_num_threads(task["num_threads"])
    exec(task["global_setup"], names)

    def toggle() -> float:
        flush("a timer was read")
        request(TOGGLE)
        return 0.0

    counted = timeit.Timer(task["stmt"], task["setup"], toggle, names)
    timers = [timeit.Timer("pass", task["setup"], toggle, names)] * work["baseline"] + [counted] * work["repeats"]
    timeit.Timer(task["stmt"], task["setup"], globals=names).timeit(WARM_UP)
    request(START)
    gc.collect()
    gc.disable()
    for timer in timers:
        timer.timeit(work["number"])
        request(DUMP)


if __name__ == "__main__":
    main(sys.argv[1])
