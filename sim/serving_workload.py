"""The serving workload: who asks for what, and when.

A closed loop: each of `concurrency` clients sends a prompt, reads the answer to its end, and sends
the next. Prompts and answers have random lengths, drawn by their number, so that every run of a
seed meets the same ones in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..model.errors import BadInput

if TYPE_CHECKING:
    from .draws import Draws


class Workload(NamedTuple):
    """What is asked of the engine, and how it may schedule.

    - `concurrency` clients send `prompts` prompts in all;
    - `prompt_tokens`, `output_tokens`: lowest and highest number of tokens, evenly distributed;
    - `token_budget`: the most tokens that one step processes (chunked prefill); `max_sequences`:
      the most sequences that run at once;
    - `async_scheduling`: the engine schedules a step while the one before it runs.
    """

    concurrency: int
    prompts: int
    prompt_tokens: tuple[int, int] = (6554, 8192)
    output_tokens: tuple[int, int] = (819, 1024)
    token_budget: int = 16384
    max_sequences: int = 1024
    async_scheduling: bool = True

    def checked(self) -> Workload:
        """The workload itself; raises `BadInput` for numbers that make no sense."""
        for name in ("concurrency", "prompts", "token_budget", "max_sequences"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("prompt_tokens", "output_tokens"):
            low, high = getattr(self, name)
            if not 1 <= low <= high:
                raise BadInput(f"{name} must go from at least 1 upwards, not from {low} to {high}")
        if self.token_budget <= min(self.concurrency, self.max_sequences):
            raise BadInput(
                f"a budget of {self.token_budget} tokens a step leaves none for prefills beside "
                f"{self.concurrency} sequences: give a larger one"
            )
        return self


def of_length(tokens: int, ratio: float = 0.8) -> tuple[int, int]:
    """The lengths of a benchmark that is named after its longest prompt or answer: evenly
    distributed from `ratio` times that (`random-range-ratio 0.8`, InferenceX's convention).

    >>> of_length(8192)
    (6554, 8192)
    """
    return round(tokens * ratio), tokens


class Request:
    """One prompt and its answer; times in seconds, tokens in numbers."""

    __slots__ = ("arrived", "client", "done", "first_token", "number", "output", "prompt", "sent")

    def __init__(self, number: int, prompt: int, output: int, sent: float, arrived: float) -> None:
        self.number = number
        self.prompt = prompt
        self.output = output
        self.sent = sent
        self.arrived = arrived
        self.done = 0
        self.first_token: float | None = None


class Clients:
    """The closed loop's other side: hands out requests.

    A request reaches the scheduler after its prompt was tokenised, one prompt at a time.
    """

    def __init__(
        self, workload: Workload, draws: Draws, turnaround: float, per_token: float
    ) -> None:
        self.workload = workload
        self.draws = draws
        self.turnaround = turnaround
        self.per_token = per_token
        self.sent = 0
        self.free = 0.0

    def opening(self) -> list[Request]:
        """What all clients send at once at the start."""
        count = min(self.workload.concurrency, self.workload.prompts)
        return [self.send(0.0) for _ in range(count)]

    def after(self, finished: float) -> Request | None:
        """What a client sends when its answer is complete; None when all prompts are sent."""
        if self.sent >= self.workload.prompts:
            return None
        return self.send(finished)

    def send(self, now: float) -> Request:
        """One request with the next lengths."""
        number = self.sent
        self.sent += 1
        prompt = self.draws.whole("prompt", number, *self.workload.prompt_tokens)
        output = self.draws.whole("output", number, *self.workload.output_tokens)
        self.free = max(self.free, now + self.turnaround) + prompt * self.per_token
        return Request(number, prompt, output, now, self.free)
