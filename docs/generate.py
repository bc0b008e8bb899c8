"""Makes what README and docs show and do not write by hand: `python docs/generate.py`.

Pictures are of the programs on their pages, design pages of protocols of the catalogue. Tests fail
where a picture is not the one that this script would draw, or a page not made from what is here.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from streamorder import check
from streamorder.cli import main as streamorder
from streamorder.model.load import load
from streamorder.report.drawing import Drawing
from streamorder.report.scene import scenes

ROOT = Path(__file__).resolve().parents[1]
PICTURES = {"docs/images/staged-slot.svg": ("README.md", "upload.py")}
"""Each picture, the page it is on, and the file of that page that it is of."""

DESIGN = "docs/design"
PROTOCOLS = (
    "fp8-prefill/direct",
    "fp8-prefill/synchronize-first",
    "fp8-prefill/staged",
    "fp8-prefill/staged-packed",
    "fp8-prefill/staged-no-wait",
    "sparse-decode/unsynchronised",
    "sparse-decode/event-wait",
    "persistent-decode/host-planner-staged",
)
"""The protocols whose design pages are kept here; `streamorder doc --all` makes every one."""


def drawn(page: str, file: str) -> str:
    """The first counterexample of a page's program under CUDA, as SVG."""
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.search(rf"<!-- file: {re.escape(file)} -->\n```python\n(.*?)```", text, re.DOTALL)
    if shown is None:
        raise SystemExit(f"{page} shows no file {file}")
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path(file).write_text(shown[1], encoding="utf-8")
            (program,) = load(file)
            return Drawing(scenes(check(program, "cuda"))[0]).svg()
        finally:
            os.chdir(here)


def main() -> None:
    """Write every picture and page."""
    for picture, source in PICTURES.items():
        (ROOT / picture).write_text(drawn(*source), encoding="utf-8", newline="\n")
        sys.stdout.write(f"wrote {picture}\n")
    if code := streamorder(["doc", *PROTOCOLS, "--out", str(ROOT / DESIGN)]):
        raise SystemExit(code)


if __name__ == "__main__":
    main()
