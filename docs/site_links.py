"""What the site's pages say where the documents link to files of the repository beside `docs/`."""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)]+)\)")


def on_page_markdown(markdown: str, **_what: Any) -> str:
    """Name such a file instead of linking to it: the site does not hold it."""
    return OUTSIDE.sub(r"\1 (`\2`)", markdown)
