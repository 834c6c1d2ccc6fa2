"""Pipes of files."""

from __future__ import annotations

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import get_file_binaries_from_pathnames, get_file_pathnames_from_root, no_length
from .utils import IterableWrapperIterDataPipe


class _OfKnownLength(IterDataPipe):
    length: int

    def __len__(self) -> int:
        if self.length == -1:
            raise no_length(self)
        return self.length


@functional_datapipe("list_files")
class FileListerIterDataPipe(_OfKnownLength):
    """The paths of the files in folders, sorted; `masks` are patterns such as "*.txt".

    >>> import os, tempfile
    >>> from torch.utils.data.datapipes.iter import FileLister
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   open(os.path.join(folder, "a.txt"), "w").close()
    ...   [os.path.basename(path) for path in FileLister(folder, "*.txt")]
    ['a.txt']
    """

    def __init__(
        self,
        root=".",
        masks="",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ):
        root = [root] if isinstance(root, str) else root
        self.datapipe = root if isinstance(root, IterDataPipe) else (IterableWrapperIterDataPipe(root))
        self.masks, self.recursive, self.abspath = masks, recursive, abspath
        self.non_deterministic, self.length = non_deterministic, length

    def __iter__(self):
        for path in self.datapipe:
            yield from get_file_pathnames_from_root(
                path, self.masks, self.recursive, self.abspath, self.non_deterministic
            )


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(_OfKnownLength):
    """(path, stream) of the files at paths.

    >>> import os, tempfile
    >>> from torch.utils.data.datapipes.iter import FileOpener, IterableWrapper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...   with open(os.path.join(folder, "a.txt"), "w") as file: _ = file.write("text")
    ...   [stream.read() for path, stream in FileOpener(IterableWrapper([file.name]))]
    ['text']
    """

    def __init__(self, datapipe, mode: str = "r", encoding: str | None = None, length: int = -1):
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe, self.mode, self.encoding, self.length = datapipe, mode, encoding, length

    def __iter__(self):
        yield from get_file_binaries_from_pathnames(self.datapipe, self.mode, self.encoding)


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """(path, data) of (path, stream): all of it, or in chunks of so many bytes.

    >>> import io
    >>> from torch.utils.data.datapipes.iter import IterableWrapper, StreamReader
    >>> list(StreamReader(IterableWrapper([("a", io.BytesIO(b"12"))])))
    [('a', b'12')]
    """

    def __init__(self, datapipe, chunk: int | None = None):
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self):
        for path, stream in self.datapipe:
            while data := stream.read(self.chunk):
                yield path, data
            stream.close()


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe):
    """Not implemented.

    >>> from torch.utils.data.datapipes.iter import RoutedDecoder
    >>> RoutedDecoder([])
    Traceback (most recent call last):
    NotImplementedError: torch.utils.data.datapipes.iter.RoutedDecoder is not implemented; decode with map()
    """

    def __init__(self, datapipe, *handlers, key_fn=None):
        raise NotImplementedError("torch.utils.data.datapipes.iter.RoutedDecoder is not implemented; decode with map()")


__all__ = ["FileListerIterDataPipe", "FileOpenerIterDataPipe", "RoutedDecoderIterDataPipe", "StreamReaderIterDataPipe"]
