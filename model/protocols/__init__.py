"""The protocol library: known protocols, right and wrong, each with the verdicts it expects.

    fp8_plan              the plan of the FP8 prefill, its five parts and the kernels that read it
    fp8_prefill_direct    fp8-prefill: the plan rewritten in place, and what was tried against it
    fp8_prefill_staged    fp8-prefill: the plan staged in host slots, in five copies and in one
    fp8_prefill_mutants   fp8-prefill: the staged slots with one mistake each, and two look-alikes
    fp8_prefill_planner   fp8-prefill: a planner that works on the stream of the readers
    staged_slots          the staged slots themselves, for any runtime

Nothing is imported here, so that a command that needs no protocol starts fast: `model.catalogue`
imports the modules of `FAMILIES`.
"""

from __future__ import annotations

FAMILIES = (
    "fp8_prefill_direct",
    "fp8_prefill_staged",
    "fp8_prefill_mutants",
    "fp8_prefill_planner",
)
"""The modules that declare protocols, in the order in which they are listed."""
