"""A Python script that forces a counterexample on a GPU, CUDA or ROCm, through torch.

The script is short: it names the protocol, its parameters and the missing edge. The protocol's own
calls are carried out by `streamorder.validation`, which holds every operation at a gate until the
counterexample has it run; nothing of that is written twice.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import BadInput
from .regression import found, located

if TYPE_CHECKING:
    from ..model.verdict import MissingEdge, Site, Verdict

TEMPLATE = '''"""Forces on a GPU what Streamorder found in {name}.

{found}

The protocol's own calls run through torch, on CUDA or ROCm; gates hold each operation until it is
its turn. It needs `pip install 'streamorder[gpu]'`, and takes --replays, --bytes and --seconds.
Exit codes: 0 the wrong version was read as predicted, 1 it was not, 2 a wrong argument, 3 nothing
could be forced here, 4 no GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

from streamorder.validation.forced import Case, main

CASE = Case(
    protocol={protocol},
    parameters={parameters},
    steps={steps},
    first={first},
    second={second},
)

if __name__ == "__main__":
    sys.exit(main(CASE, Path(__file__).parent, sys.argv[1:]))
'''


def torch_script(verdict: Verdict, edge: MissingEdge, folder: Path) -> str:
    """The script of one missing edge, for a file in this folder.

    Raises `BadInput` for what no two accesses show: a deadlock, or overlap that is lost.
    """
    if edge.marks is None and edge.kind != "wrong version":
        raise BadInput(
            f"--torch: a {edge.kind} cannot be forced by holding operations: --edge names another, "
            "or use --html"
        )
    sites = [named(site) for site in (edge.first, edge.second)]
    return TEMPLATE.format(
        name=verdict.name,
        found=found([verdict._replace(missing_edges=(edge,))]),
        protocol=double(located(verdict, folder, "--torch")),
        parameters=verdict.parameters,
        steps=verdict.steps,
        first=double(sites[0]),
        second=double(sites[1]),
    )


def named(site: Site) -> str:
    """A call by its line and words, wherever the file lies."""
    where = site.where
    return f"{Path(where.filename).name}:{where.line} {site.call}" if where else site.call


def double(text: str) -> str:
    """A text as a Python string in double quotes."""
    return json.dumps(text, ensure_ascii=False)
