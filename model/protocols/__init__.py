"""The protocol library: known protocols, right and wrong, each with the verdicts it expects.

    fp8_plan              the plan of the FP8 prefill, its five parts and the kernels that read it
    fp8_prefill_direct    fp8-prefill: the plan rewritten in place, and what was tried against it
    fp8_prefill_staged    fp8-prefill: the plan staged in host slots, in five copies and in one
    fp8_prefill_mutants   fp8-prefill: the staged slots with one mistake each, and two look-alikes
    fp8_prefill_planner   fp8-prefill: a planner that works on the stream of the readers
    fp8_prefill_graph     fp8-prefill: the readers replayed from a graph
    fp8_staged_plan       what the staged protocols of a plan share
    staged_slots          the staged slots themselves, for any runtime
    mla_decode            the six parts of a decode plan, and when decode is persistent
    sparse_decode         sparse-decode: metadata rewritten before a graph's replay
    persistent_decode     persistent-decode: six buffers, planned by the device or by the host
    sync_audit            sync-audit: a host wait declared, undeclared, and avoided
    draft_kv_pointers     draft-kv-pointers: pointers from before a rebind, and a stale plan
    corpus_a ... corpus_l corpus: public bugs of engines and libraries, section by section
    host_cache            a cache of page-locked buffers that are guarded by events

Nothing is imported here, so that a command that needs no protocol starts fast: `model.catalogue`
imports the modules of `FAMILIES`.
"""

from __future__ import annotations

FAMILIES = (
    "fp8_prefill_direct",
    "fp8_prefill_staged",
    "fp8_prefill_mutants",
    "fp8_prefill_planner",
    "fp8_prefill_graph",
    "sparse_decode",
    "persistent_decode",
    "sync_audit",
    "draft_kv_pointers",
    "corpus_a",
    "corpus_a_reuse",
    "corpus_b",
    "corpus_c",
    "corpus_d",
    "corpus_e",
    "corpus_f_buffers",
    "corpus_f_pingpong",
    "corpus_g_allocators",
    "corpus_h_graphs",
    "corpus_i_events",
    "corpus_j_blocks",
    "corpus_j_offload",
    "corpus_k_agents",
    "corpus_l_queues",
)
"""The modules that declare protocols, in the order in which they are listed."""
