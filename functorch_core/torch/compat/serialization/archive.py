"""The zip archive around a checkpoint: aligned records, checked on reading."""

import contextlib
import hashlib
import os
import struct
import sys
import zipfile
import zlib
from typing import BinaryIO

import numpy as np

ALIGNMENT = 64
FORMAT_VERSION = b"3\n"
ZIP_MAGIC = b"PK\x03\x04"
# Pieces that stay in the cache: 100 MB are read and checked in 43 ms, with 16 MiB in 71 ms.
CHUNK = 1 << 20

# What zipfile lets through when a file is damaged, besides BadZipFile.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    IndexError,
    KeyError,
    NotImplementedError,
    OverflowError,
    UnicodeDecodeError,
    ValueError,
)


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The array's memory as uint8, in the machine's byte order."""
    native = array.dtype.newbyteorder("=")
    return np.ascontiguousarray(array, dtype=native).view(np.uint8)


class Settings:
    """Whether records have checksums: torch.serialization.set_crc32_options."""

    crc32 = True


def read_exactly(file: BinaryIO, size: int) -> np.ndarray:
    """`size` bytes of a file as writable uint8; EOFError if it ends before.

    The memory is taken at once: the caller has checked that the file can hold as much.
    """
    return read_and_sum(file, size, False)[0]


def read_and_sum(file: BinaryIO, size: int, summed: bool = True) -> tuple[np.ndarray, int]:
    """`size` bytes of a file and, if `summed`, their CRC-32, computed while they are in the cache."""
    out = np.empty(size, np.uint8)
    whole, filled, crc = memoryview(out), 0, 0
    readinto = getattr(file, "readinto", None)  # no copy
    while filled < size:
        end = min(filled + CHUNK, size)
        count = readinto(whole[filled:end]) if readinto is not None else 0
        if not count:
            piece = file.read(end - filled)
            if not piece:
                raise EOFError(f"{size} bytes stated, {filled} found")
            count = len(piece)
            whole[filled : filled + count] = piece
        if summed:
            crc = zlib.crc32(whole[filled : filled + count], crc)
        filled += count
    return out, crc


def bytes_until_end(file: BinaryIO) -> int:
    """How many bytes follow the current position."""
    position = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(position)
    return end - position


class _Sink:
    """Counts from zero wherever the user's file stands, and asks nothing of it but `write`.

    Without `seek`, zipfile puts sizes behind the data, as PyTorch's own writer does. After a
    failure everything is swallowed, or zipfile would still close the archive as if it were whole.
    """

    def __init__(self, file: BinaryIO):
        self._file: BinaryIO | None = file
        self._position = 0

    def abandon(self) -> None:
        """Write nothing any more."""
        self._file = None

    def write(self, data: bytes | memoryview) -> int:
        """Write all of `data`, in as many calls as an unbuffered file needs."""
        self._position += len(data)
        view = memoryview(data)
        while self._file is not None and len(view):
            written = self._file.write(view)
            view = view[len(view) if written is None else written :]
        return len(data)

    def tell(self) -> int:
        """Bytes written so far."""
        return self._position

    def flush(self) -> None:
        """Flush the file, if it can."""
        flush = getattr(self._file, "flush", None)
        if flush is not None:
            flush()


class ArchiveWriter:
    """Writes records `prefix/name`, uncompressed, each starting at a multiple of 64 bytes.

    `.format_version` is left out on purpose: it would promise the exact gaps of PyTorch's zip
    writer, from which PyTorch then computes where storages lie instead of reading it.
    """

    def __init__(self, file: BinaryIO, prefix: str):
        self._sink = _Sink(file)
        self._zip = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_STORED, allowZip64=True)
        self.prefix = prefix
        self._names = hashlib.blake2b(digest_size=8)
        self._sums = hashlib.blake2b(digest_size=8)

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Add one record; `data` is anything flat with a buffer of bytes."""
        info = zipfile.ZipInfo(f"{self.prefix}/{name}")
        info.file_size, info.CRC = len(data), 0
        # zipfile decides on 8-byte sizes by the same size; asking for it makes the header final.
        needs_zip64 = len(data) * 1.05 > zipfile.ZIP64_LIMIT
        header = len(info.FileHeader(needs_zip64)) + 4
        padding = -(self._sink.tell() + header) % ALIGNMENT
        info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
        with self._zip.open(info, "w", force_zip64=needs_zip64) as record:
            for start in range(0, len(data), CHUNK):
                record.write(data[start : start + CHUNK])
            if not Settings.crc32:
                record._crc = 0  # as PyTorch writes that there is none
        self._names.update(name.encode())
        self._sums.update(struct.pack("<I", self._zip.getinfo(info.filename).CRC))

    def __enter__(self) -> "ArchiveWriter":
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if kind is not None:
            self._sink.abandon()
            with contextlib.suppress(Exception):
                self._zip.close()
            return
        self._close()

    def _close(self) -> None:
        """Add the closing records and the directory."""
        digests = (self._names.digest(), self._sums.digest())
        identity = "".join(f"{int.from_bytes(digest, 'little'):020d}" for digest in digests)
        self.write("version", FORMAT_VERSION)
        self.write(".data/serialization_id", identity.encode())
        self._zip.close()


def native_byteorder() -> bytes:
    """What the `byteorder` record says on this machine."""
    return sys.byteorder.encode()


def damaged(reason: object) -> RuntimeError:
    """The error for an archive that cannot be read, worded as PyTorch begins it."""
    return RuntimeError(f"PytorchStreamReader failed reading zip archive: {reason}")


class _Seekable:
    """A file-like object that can be seeked and does not say so."""

    def __init__(self, file: BinaryIO):
        self.read, self.seek, self.tell = file.read, file.seek, file.tell

    def seekable(self) -> bool:
        """True: it has been."""
        return True


def _folder_of_pickle(names: list[str]) -> str:
    pickles = [name for name in names if name.count("/") == 1 and name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise ValueError(f"not a checkpoint: {len(pickles)} records NAME/data.pkl, not one")
    return pickles[0].removesuffix("data.pkl")


class ArchiveReader:
    """Reads records by name below the archive's one folder; every size and sum is checked."""

    def __init__(self, file: BinaryIO, of_tensors: bool = True):
        self._file, self._of_tensors = file, of_tensors
        file.seek(0)
        self._total_size = bytes_until_end(file)
        try:
            self._zip = zipfile.ZipFile(file if hasattr(file, "seekable") else _Seekable(file))
            self._records = self._index(self._zip.infolist())
        except DAMAGE as error:
            raise damaged(error) from error

    def _index(self, infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        """Records by name without the folder; two of one name would be ambiguous."""
        for info in infos:
            end = info.header_offset + info.compress_size
            if not 0 <= info.header_offset <= end <= self._total_size:
                raise ValueError(f"record {info.filename} lies outside the file")
        names = [info.filename for info in infos]
        if len(set(names)) != len(names):
            raise ValueError("two records have the same name")
        folder = _folder_of_pickle(names) if self._of_tensors else "".join(names[:1]).partition("/")[0] + "/"
        return {info.filename.removeprefix(folder): info for info in infos if info.filename.startswith(folder)}

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = self._records.get(name)
        if info is None:
            raise damaged(f"file not found: {name}")
        return info

    def names(self) -> list[str]:
        """The records, as they come."""
        return list(self._records)

    def size(self, name: str) -> int:
        """Bytes that the record says it holds."""
        return self._info(name).file_size

    def read(self, name: str) -> bytes:
        """A small record, its checksum verified."""
        return bytes(self.read_array(name))

    def read_array(self, name: str) -> np.ndarray:
        """A record as writable uint8, its checksum verified."""
        info = self._info(name)
        is_stored = info.compress_type == zipfile.ZIP_STORED
        if is_stored and info.compress_size != info.file_size:
            raise damaged(f"record {name} states two sizes")
        # Deflate shrinks at most 1032-fold.
        if info.file_size > (1 if is_stored else 1032) * self._total_size:
            raise damaged(f"{name}: {info.file_size} bytes stated, more than the file can hold")
        try:
            if is_stored and not info.flag_bits & 1:
                self._file.seek(self.data_offset(name))
                found, crc = read_and_sum(self._file, info.file_size, info.CRC != 0)  # 0: there is none
                if crc != info.CRC:
                    raise zipfile.BadZipFile(f"Bad CRC-32 for file {info.filename!r}")
                return found
            with self._zip.open(info) as record:
                # zipfile compares the checksum when the last byte is read.
                return read_exactly(record, info.file_size)
        except DAMAGE as error:
            raise damaged(f"{name}: {error}") from error

    def data_offset(self, name: str) -> int:
        """Where the record's bytes begin in the file, for mapping it."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise damaged(f"record {name} is compressed or encrypted and cannot be mapped")
        self._file.seek(info.header_offset)
        header = self._file.read(30)
        if len(header) < 30 or not header.startswith(ZIP_MAGIC):
            raise damaged(f"no record header where {name} should start")
        name_length, extra_length = struct.unpack("<HH", header[26:30])
        start = info.header_offset + 30 + name_length + extra_length
        if start + info.file_size > self._total_size:
            raise damaged(f"record {name} reaches beyond the end of the file")
        return start
