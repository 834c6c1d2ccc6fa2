"""What pipes share: checks of their functions, files, streams that close themselves."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator

from ....annotations import lenient_signature
from ....core.warn import warn

NOT_PICKLED = "{} function is not supported by pickle, please use regular python function or functools.partial instead."

# ---- the functions of pipes ----------------------------------------------------------------------


def check_function(fn: Callable):
    """TypeError for what is no function, UserWarning for one that pickle does not find again."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    fn = fn.func if isinstance(fn, functools.partial) else fn
    if _is_local(fn):
        warn(NOT_PICKLED.format("Local"))
    elif getattr(fn, "__name__", "") == "<lambda>":
        warn(NOT_PICKLED.format("Lambda"))


def _is_local(fn) -> bool:
    if hasattr(fn, "__code__"):
        return bool(fn.__code__.co_flags & inspect.CO_NESTED)
    return "<locals>" in getattr(fn, "__qualname__", type(fn).__qualname__)


def validate_input_col(fn: Callable, input_col):
    """ValueError for a function that does not take as many arguments as there are columns."""
    try:
        parameters = lenient_signature(fn).parameters.values()
    except ValueError:  # written in C
        return
    n = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    takes_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    inner = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(inner, "__name__", repr(inner))
    if named:
        raise ValueError(
            f"The function {name} takes {len(named)} non-default keyword-only parameters, which is not allowed."
        )
    if len(parameters) < n and not takes_more:
        raise ValueError(f"The function {name} takes {len(parameters)} parameters, but {n} are required.")
    required = [p for p in positional[n:] if p.default is p.empty]
    if required or len(positional) < n and not takes_more:
        raise ValueError(f"The function {name} takes {len(positional)} positional parameters, but {n} are required.")


def picked(fn: Callable, data, input_col):
    """fn of a sample, of one of its columns, or of several."""
    if input_col is None:
        return fn(data)
    if isinstance(input_col, (list, tuple)):
        return fn(*[data[column] for column in input_col])
    return fn(data[input_col])


def length_of(pipe, *sources) -> list[int]:
    """The lengths of the sources; TypeError naming the pipe if one has none."""
    try:
        return [len(source) for source in sources]
    except (TypeError, AttributeError):
        raise no_length(pipe) from None


def no_length(pipe) -> TypeError:
    """The error of len() for a pipe that does not know its length."""
    return TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


# ---- files ---------------------------------------------------------------------------------------


def match_masks(name: str, masks) -> bool:
    """Whether a file's name is like one of the patterns; no pattern takes all."""
    masks = [masks] if isinstance(masks, str) else masks
    return not any(masks) or any(fnmatch.fnmatch(name, mask) for mask in masks)


def get_file_pathnames_from_root(
    root: str, masks, recursive: bool = False, abspath: bool = False, non_deterministic: bool = False
) -> Iterator[str]:
    """The files in a folder whose names are like the masks; the file itself if it is one."""

    def fail(error: OSError):
        warn(f"{error.filename} : {error.strerror}")
        raise error

    arranged = list if non_deterministic else sorted
    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for folder, folders, files in os.walk(root, onerror=fail):
        place = os.path.abspath(folder) if abspath else folder
        yield from (os.path.join(place, f) for f in arranged(files) if match_masks(f, masks))
        folders[:] = arranged(folders) if recursive else []


def get_file_binaries_from_pathnames(pathnames, mode: str, encoding: str | None = None):
    """(path, open stream) of files."""
    mode = f"r{mode}" if mode in ("b", "t") else mode
    for path in pathnames if isinstance(pathnames, Iterable) else [pathnames]:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        yield path, StreamWrapper(open(path, mode, encoding=encoding))


class StreamWrapper:
    """A stream that is closed when nobody refers to it any more."""

    session_streams: dict = {}
    debug_unclosed_streams = False

    def __init__(self, file_obj, parent_stream=None, name=None):
        self.file_obj, self.parent_stream, self.name = file_obj, parent_stream, name
        self.child_counter, self.close_on_last_child, self.closed = 0, False, False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v, depth: int = 0):
        """Close the streams in a sample: in it, its lists and its dicts."""
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, (dict, list, tuple)) and depth <= 10:
            for item in v.values() if isinstance(v, dict) else v:
                cls.close_streams(item, depth + 1)

    def close(self, *args, **kwargs):
        """Close the stream, and a parent that waits for its last child."""
        if self.closed:
            return
        StreamWrapper.session_streams.pop(self, None)
        parent = self.parent_stream
        if parent is not None:
            parent.child_counter -= 1
            if not parent.child_counter and parent.close_on_last_child:
                parent.close()
        with contextlib.suppress(AttributeError):
            self.file_obj.close(*args, **kwargs)
        self.closed = True

    def autoclose(self):
        """Close when the last child is closed, at once if there is none."""
        self.close_on_last_child = True
        if self.child_counter == 0:
            self.close()

    def __getattr__(self, name: str):
        return getattr(self.__dict__["file_obj"], name)

    def __dir__(self):
        return sorted({*self.__dict__, *vars(StreamWrapper), *dir(self.file_obj)})

    def __del__(self):
        if not self.__dict__.get("closed", True):
            self.close()

    def __iter__(self):
        yield from self.file_obj

    def __next__(self):
        return next(self.file_obj)

    def __repr__(self):
        name = "" if self.name is None else f"{self.name},"
        return f"StreamWrapper<{name}{self.file_obj!r}>"

    def __getstate__(self):
        return self.file_obj

    def __setstate__(self, file_obj):
        self.__init__(file_obj)
