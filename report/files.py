"""Writing files whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..model.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_all(texts: Mapping[Path, str]) -> None:
    """Write every file, each by way of a temporary one beside it.

    Raises `BadInput` where one cannot be written; it then leaves no part of that one.
    """
    for path in texts:
        if path.is_dir():
            raise BadInput(f"{path}: is a folder; name a file")
        if not path.absolute().parent.is_dir():
            raise BadInput(f"{path}: there is no folder {path.parent}")
    for path, text in texts.items():
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            part.write_text(text, encoding="utf-8", newline="\n")
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise BadInput(f"{path}: cannot be written: {error.strerror}") from error
