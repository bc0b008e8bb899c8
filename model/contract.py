"""Contracts: what a runtime promises, as data. A verdict is always *under a contract*.

Each field is one choice on which runtimes differ, named after the rule that states it. Where a
promise is uncertain (`None`), the model decides both with it and without it: a program holds when
it holds either way, is refuted when it is refuted either way, and is UNDETERMINED otherwise.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from .errors import BadInput
from .masking import UNMASKED, Masking

if TYPE_CHECKING:
    from collections.abc import Iterable


EITHER = ("pageable_uploads_return", "pageable_downloads_return")
"""Fields of which both ways are allowed where they are None, and a program must do with either."""


class Contract(NamedTuple):
    """What a runtime promises.

    Fields that say `bool | None` are uncertain where they are None, but for those of `EITHER`.
    """

    name: str
    """How the command line calls it."""

    title: str
    """The runtime and where its rules come from."""

    upload_awaits_write: bool
    """R2.2, R2.3: a blocking copy from pageable memory returns after the device write (HIP), not
    once its source is staged (CUDA)."""

    pageable_staged: bool | None
    """R2.6, U2: an asynchronous copy from pageable memory has read its source on return. Uncertain
    where the GPU may read pageable memory itself (HMM, ATS)."""

    pageable_download_awaits: bool
    """R2.6, R2.7: an asynchronous copy to pageable memory returns when it is complete (HIP)."""

    host_copies_by_cpu: bool
    """R2.8: a copy between host memories drains its stream, then the CPU copies (HIP); otherwise
    it runs on the stream and the host waits for it (CUDA)."""

    managed_copy_awaits: bool | None
    """R2.2, R2.11, U5: a blocking copy that touches managed memory is fully synchronous. CUDA's
    older texts say so, the current one does not."""

    memset_interior_awaits: bool
    """R2.10: a blocking fill of device memory away from the start of its allocation waits (HIP)."""

    memset_pinned_by_cpu: bool
    """R2.10: filling pinned memory drains the stream, then the CPU fills, asynchronous form too."""

    record_joins_null: bool
    """R1.3: recording an event on a blocking stream takes the NULL stream's edge (HIP)."""

    wait_joins_blocking: bool | None
    """R1.4: a wait on the NULL stream gathers the blocking streams, as an operation there would.
    CUDA names the call as one that does; HIP's code does it, its header denies it."""

    wait_joins_null: bool | None
    """R1.4: a wait on a blocking stream takes the NULL stream's edge. HIP's code does it, its
    header denies it; CUDA says so only if the wait counts as an operation."""

    null_sync_covers_blocking: bool | None
    """R1.6, U12: waiting for the NULL stream on the host waits for the blocking streams (HIP).
    CUDA implies it and does not say it."""

    destroy_awaits: bool
    """R1.7: destroying a stream waits for its work (HIP); CUDA returns at once."""

    free_awaits: bool | None
    """R6.1, R6.2: freeing plain device memory waits for the whole device. CUDA's guide says that
    it synchronises, and its API page not to rely on such waits; HIP does."""

    pool_free_awaits: bool
    """R6.2: so does freeing memory of a stream-ordered pool (CUDA); HIP 7.0 and later do not."""

    pool_reuse_ordered: bool | None
    """R6.3, R6.4: memory that a stream has freed reaches another stream only in order (CUDA). HIP's
    pool looks as if it may skip that; nobody has run it (U1)."""

    graph_launches_ordered: bool
    """R5.1: a launch of an executable graph comes after all its earlier launches, from any stream
    (CUDA); under HIP only the stream orders them."""

    graph_pageable_staged: bool | None
    """R5.4, U3: a copy node from pageable memory reads its source within the launch call (HIP).
    CUDA does not say whether then or when the node runs."""

    event_nodes: bool
    """R3.9: events can be recorded and awaited by nodes of a graph (CUDA)."""

    early_launch: bool
    """R8.4: a kernel may start before the one before it in its stream is done (CUDA)."""

    early_wait_transitive: bool | None
    """R8.4, U6: an early kernel that waits for the one before it thereby waits for what that one
    did not wait for. Nobody says."""

    peer_copies_on_null: bool
    """R2.9: a copy of another device's memory moves to that device's NULL stream (HIP)."""

    pageable_uploads_return: bool | None = None
    """R2.6, R2.7: an asynchronous copy from pageable memory does not keep the host waiting for its
    stream. Both vendors leave both ways to themselves, which None says: a program that spins must
    not hang either way. It is not among the uncertain promises, of which one way holds."""

    pageable_downloads_return: bool | None = None
    """R2.6, R2.7: likewise for one to pageable memory, where `pageable_download_awaits` is not."""

    streams_progress: bool = True
    """R1.2: streams make progress independently. Neither vendor promises it: programs that spin
    are decided with it, and what happens without is said beside the verdict."""

    masking: Masking = UNMASKED
    """Order that no rule promises and a runtime adds: nothing in a contract, see `profiles`."""

    @property
    def uncertain(self) -> tuple[str, ...]:
        """The names of the promises that this contract leaves open."""
        fields = (field for field in self._fields if getattr(self, field) is None)
        return tuple(field for field in fields if field not in EITHER)

    def ways(self) -> list[Contract]:
        """This contract where the calls that may wait do not, and where some kinds of them do, or
        all; where they do not comes first.
        """
        left = [field for field in EITHER if getattr(self, field) is None]
        return [
            self._replace(**dict(zip(left, returns, strict=True)))
            for returns in product((True, False), repeat=len(left))
        ]

    def readings(self, fields: Iterable[str] = ()) -> list[Contract]:
        """This contract with each of these promises broken or kept, every way, the weakest first;
        the other uncertain ones are broken.
        """
        fields = tuple(fields)
        weakest = self._replace(**dict.fromkeys(self.uncertain, False))
        return [
            weakest._replace(**dict(zip(fields, kept, strict=True)))
            for kept in product((False, True), repeat=len(fields))
        ]


FIELD_TEXTS = {
    "pageable_staged": "U2, whether an asynchronous copy from pageable memory has read its source "
    "on return where the GPU can read that memory itself",
    "managed_copy_awaits": "U5, whether a blocking copy of managed memory is complete on return",
    "wait_joins_blocking": "R1.4, whether a wait on the NULL stream gathers the blocking streams",
    "wait_joins_null": "R1.4, whether a wait on a blocking stream waits for the NULL stream too",
    "null_sync_covers_blocking": "R1.6, whether waiting for the NULL stream on the host waits for "
    "the blocking streams too",
    "free_awaits": "R6.1, whether freeing device memory may be relied on to wait for the device",
    "pool_reuse_ordered": "R6.4, U1, whether HIP's pool orders the reuse of memory that another "
    "stream has freed",
    "graph_pageable_staged": "U3, whether a graph's copy node reads pageable memory at the launch "
    "call or when it runs",
    "early_wait_transitive": "U6, whether an early kernel that waits for the one before it also "
    "waits for what came before that one",
}
"""The promises that some contract leaves open, in words."""

CUDA = Contract(
    name="cuda",
    title="CUDA 13 as its driver API documents it",
    upload_awaits_write=False,
    pageable_staged=True,
    pageable_download_awaits=False,
    host_copies_by_cpu=False,
    managed_copy_awaits=None,
    memset_interior_awaits=False,
    memset_pinned_by_cpu=False,
    record_joins_null=False,
    wait_joins_blocking=True,
    wait_joins_null=None,
    null_sync_covers_blocking=None,
    destroy_awaits=False,
    free_awaits=None,
    pool_free_awaits=True,
    pool_reuse_ordered=True,
    graph_launches_ordered=True,
    graph_pageable_staged=None,
    event_nodes=True,
    early_launch=True,
    early_wait_transitive=None,
    peer_copies_on_null=False,
)

CUDA_HMM = CUDA._replace(
    name="cuda-hmm",
    title="CUDA 13 where the GPU may read pageable memory directly (HMM, ATS)",
    pageable_staged=None,
)

HIP = Contract(
    name="hip",
    title="HIP as ROCm's runtime implements it",
    upload_awaits_write=True,
    pageable_staged=True,
    pageable_download_awaits=True,
    host_copies_by_cpu=True,
    managed_copy_awaits=True,
    memset_interior_awaits=True,
    memset_pinned_by_cpu=True,
    record_joins_null=True,
    wait_joins_blocking=None,
    wait_joins_null=None,
    null_sync_covers_blocking=True,
    destroy_awaits=True,
    free_awaits=True,
    pool_free_awaits=False,
    pool_reuse_ordered=None,
    graph_launches_ordered=False,
    graph_pageable_staged=True,
    event_nodes=False,
    early_launch=False,
    early_wait_transitive=True,
    peer_copies_on_null=True,
)

CONTRACTS = {contract.name: contract for contract in (CUDA, CUDA_HMM, HIP)}
"""Every contract by name."""

DEFAULT = (CUDA, HIP)
"""The contracts under which `check` decides unless told otherwise."""


def contract_named(name: str) -> Contract:
    """The contract of this name; raises `BadInput` with the names that exist."""
    try:
        return CONTRACTS[name]
    except KeyError:
        known = ", ".join(CONTRACTS)
        raise BadInput(f"unknown contract {name!r}: it is one of {known}") from None
