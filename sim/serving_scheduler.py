"""The engine's scheduler: which tokens the next step processes.

As in vLLM: every decoding sequence gets one token, then prefills get what is left of the budget,
those that have begun first, then by arrival; a prefill that does not fit is cut (chunked prefill).
With async scheduling a step is scheduled while the one before it runs: a sequence whose prefill is
in flight already counts as decoding, and a finished one is gone without waiting for its output.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .serving_workload import Request, Workload


class Chunk(NamedTuple):
    """Part of a prompt that a step prefills: `length` tokens after the first `start`."""

    request: Request
    start: int
    length: int

    @property
    def last(self) -> bool:
        """Whether the prompt is complete with it."""
        return self.start + self.length == self.request.prompt


class Batch(NamedTuple):
    """What one step processes.

    - `decodes` sequences get a token each and attend to `context` tokens in all;
    - `chunks` are prefilled; `prefill` numbers the steps that have any (else None);
    - `finished` are the requests whose last token this step makes.
    """

    number: int
    prefill: int | None
    decodes: int
    context: int
    chunks: tuple[Chunk, ...]
    finished: tuple[Request, ...]

    @property
    def prefill_tokens(self) -> int:
        """Prompt tokens in this step."""
        return sum(chunk.length for chunk in self.chunks)

    @property
    def lengths(self) -> list[int]:
        """The lengths of the prefills, as the planner sees them."""
        return [chunk.length for chunk in self.chunks]


class Scheduler:
    """Makes batches; `waiting` has arrived or will, in order of arrival."""

    def __init__(self, workload: Workload, opening: list[Request]) -> None:
        self.workload = workload
        self.waiting: deque[Request] = deque(opening)
        self.partial: deque[Request] = deque()
        self.ending: list[tuple[int, int, Request]] = []
        self.decodes = 0
        self.context = 0
        self.steps = 0
        self.prefills = 0

    def add(self, request: Request) -> None:
        """A request on its way: requests are tokenised in turn, so they arrive in order."""
        self.waiting.append(request)

    def next_arrival(self) -> float | None:
        """When the next request arrives; None without one."""
        return self.waiting[0].arrived if self.waiting else None

    def schedule(self, now: float) -> Batch | None:
        """The next step at this time; None if there is nothing to do yet."""
        decodes, context = self.decodes, self.context
        finished = self.end_decodes()
        chunks = tuple(self.admit(now, self.workload.token_budget - decodes, decodes))
        if not decodes and not chunks:
            return None
        finished += [c.request for c in chunks if c.last and c.request.output == 1]
        prefill = self.prefills if chunks else None
        batch = Batch(self.steps, prefill, decodes, context, chunks, tuple(finished))
        self.prefills += bool(chunks)
        self.steps += 1
        return batch

    def end_decodes(self) -> list[Request]:
        """Advance every decoding sequence by a token; those whose last one this step makes."""
        self.context += self.decodes
        finished = []
        while self.ending and self.ending[0][0] <= self.steps:
            request = heappop(self.ending)[2]
            self.decodes -= 1
            self.context -= request.prompt + request.output - 1
            finished.append(request)
        return finished

    def admit(self, now: float, budget: int, decodes: int) -> list[Chunk]:
        """The prefills of this step."""
        chunks: list[Chunk] = []
        running = decodes + len(self.partial)
        queue = list(self.partial)
        while self.waiting and self.waiting[0].arrived <= now:
            if running >= self.workload.max_sequences:
                break
            running += 1
            queue.append(self.waiting[0])
            self.partial.append(self.waiting.popleft())
            if sum(r.prompt - r.done for r in queue) >= budget:
                break
        for request in queue:
            length = min(request.prompt - request.done, budget)
            if length <= 0:
                break
            chunks.append(Chunk(request, request.done, length))
            request.done += length
            budget -= length
            if request.done == request.prompt:
                self.partial.popleft()
                self.begin_decode(request)
        return chunks

    def begin_decode(self, request: Request) -> None:
        """From the next step on the request decodes; this step makes its first token."""
        if request.output == 1:
            return
        self.decodes += 1
        self.context += request.prompt
        heappush(self.ending, (self.steps + request.output - 1, request.number, request))
