"""Repair: minimal sets of additions after which a refuted protocol holds, and waits for nothing.

- `places`: source lines, statements and inner loops, the stack of lines that led to a call;
- `edits`: `inserts` (calls added) and `changes` (calls changed or left out), as data, with
  `rewrite`; `editor`: the front that carries them out on a protocol's calls as they are made;
- `program`: what a traced program holds; `additions` and `others`: what could be added to mend a
  missing edge, a hang, a lost overlap or a wrong version;
- `trial`: deciding an edited program, within a budget; `search`: minimal sets of additions;
- `price`: where the host stalls; `redundant`: synchronisation that orders nothing;
- `without`: mutants: each wait left out, and what that makes of the protocol;
- `offers`: all of it for one protocol, checked and ranked.
"""

from __future__ import annotations

from .offers import Offer, Repairs, repair

__all__ = ["Offer", "Repairs", "repair"]
