"""Writing the files of a command: all of them whole, or none."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ..model.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    Content = str | Callable[[Path], object]
    """A text, or what writes the file itself, to a path that ends as the file's does."""


def check_places(paths: Iterable[Path]) -> None:
    """Raise `BadInput` where there is no place for a file, or two of them have the same."""
    known: set[Path] = set()
    for path in paths:
        if path.is_dir():
            raise BadInput(f"{path}: is a folder; name a file")
        if not path.absolute().parent.is_dir():
            raise BadInput(f"{path}: there is no folder {path.parent}")
        if path.resolve() in known:
            raise BadInput(f"{path}: two forms cannot go to one file")
        known.add(path.resolve())


def write_all(contents: Mapping[Path, Content]) -> None:
    """Write every file: first all to temporary ones beside them, then all by renaming.

    Raises `BadInput` where one cannot be written; what was there before then stays.
    """
    check_places(contents)
    parts = {path: beside(path) for path in contents if not path.exists() or path.is_file()}
    try:
        for path, part in parts.items():
            with told_of(path):
                put(part, contents[path])
        for path, content in contents.items():
            with told_of(path):
                if path in parts:
                    parts[path].replace(path.resolve())
                else:  # a device or a pipe: renaming would put a file in its place
                    put(path, content)
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)


def beside(path: Path) -> Path:
    """The temporary file of a file; of a link, beside what it leads to."""
    real = path.resolve()
    return real.with_name(f".{real.stem}.{os.getpid()}.part{real.suffix}")


def put(path: Path, content: Content) -> None:
    """Write one file."""
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8", newline="\n")
    else:
        content(path)


@contextmanager
def told_of(path: Path) -> Iterator[None]:
    """An error of the system as one line that names the file."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error
