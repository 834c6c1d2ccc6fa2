"""torch.utils._dtype_abbrs: short names of dtypes, as PyTorch prints them in graphs."""

from ...tensors.types import by_name as _by_name

NAMES = {
    "bfloat16": "bf16",
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "complex32": "c32",
    "complex64": "c64",
    "complex128": "c128",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bool": "b8",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}
dtype_abbrs = {_by_name[name]: short for name, short in NAMES.items()}
