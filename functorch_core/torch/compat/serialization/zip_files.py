"""Archives record by record: the private names by which packages write and read checkpoints themselves."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from ...tensors import types as _types
from ...tensors.base import from_array
from .api import _archive_name, _is_path, _open_output
from .archive import ArchiveReader, ArchiveWriter


class PyTorchFileWriter:
    """An archive that is written record by record, to a path or a file."""

    __module__ = "torch._C"

    def __init__(self, file, *args, **kwargs):
        self._stack, self._file = contextlib.ExitStack(), file
        output = self._stack.enter_context(_open_output(file))
        self._archive = self._stack.enter_context(ArchiveWriter(output, _archive_name(file)))

    def write_record(self, name: str, data, size: int):
        """Add the first `size` bytes of some text, bytes or storage."""
        if isinstance(data, str):
            data = data.encode()
        elif hasattr(data, "_array"):
            data = np.ascontiguousarray(data._array()).reshape(-1).view(np.uint8)
        self._archive.write(name, memoryview(data)[:size])

    def write_record_metadata(self, name: str, size: int):
        """Add a record of `size` zeros, to be filled by who finds its place."""
        self._archive.write(name, memoryview(bytes(size)))

    def archive_name(self) -> str:
        """The folder that the records are in."""
        return self._archive.prefix

    def write_end_of_file(self):
        """Close the archive."""
        self._stack.close()
        if hasattr(self._file, "flush"):  # who reads by the file's name finds everything
            self._file.flush()


class PyTorchFileReader:
    """An archive that is read record by record."""

    __module__ = "torch._C"

    def __init__(self, file):
        self._opened = open(file, "rb") if _is_path(file) else None  # noqa: SIM115  open as long as the reader
        self._archive = ArchiveReader(self._opened or file, of_tensors=False)

    def has_record(self, name: str) -> bool:
        """Whether there is a record of a name."""
        return name in self._archive

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self._archive.read(name)

    def get_record_offset(self, name: str) -> int:
        """Where the bytes of a record begin in the file."""
        return self._archive.data_offset(name)

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._archive.size(name)

    def get_all_records(self) -> list[str]:
        """The names of the records."""
        return self._archive.names()

    def get_storage_from_record(self, name: str, numel: int, dtype: _types.dtype):
        """The first numbers of a record as a tensor of one dimension."""
        array = self._archive.read_array(name)[: numel * dtype.itemsize]
        return from_array(array.view(dtype.numpy))

    def close(self):
        """Close the file, if it was opened here."""
        if self._opened is not None:
            self._opened.close()


@contextlib.contextmanager
def _open_zipfile_writer(name_or_buffer) -> Iterator[PyTorchFileWriter]:
    """Context: an archive to write records to."""
    writer = PyTorchFileWriter(name_or_buffer)
    with writer._stack:
        yield writer
        writer.write_end_of_file()


@contextlib.contextmanager
def _open_zipfile_reader(name_or_buffer) -> Iterator[PyTorchFileReader]:
    """Context: the records of an archive."""
    reader = PyTorchFileReader(name_or_buffer)
    try:
        yield reader
    finally:
        reader.close()


@contextlib.contextmanager
def _open_file_like(name_or_buffer, mode: str) -> Iterator[BinaryIO]:
    """Context: the file of a path; a file as it is, flushed if it was written to."""
    if _is_path(name_or_buffer):
        with open(os.fspath(name_or_buffer), mode) as opened:
            yield opened
    else:
        yield name_or_buffer
        if "w" in mode and hasattr(name_or_buffer, "flush"):
            name_or_buffer.flush()
