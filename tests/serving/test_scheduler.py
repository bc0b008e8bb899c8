"""What the engine schedules: every token once, within the budget, in order."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamorder.model.errors import BadInput
from streamorder.sim.draws import Draws
from streamorder.sim.serving_scheduler import Batch, Scheduler
from streamorder.sim.serving_workload import Clients, Request, Workload, of_length


def requests(*sizes: tuple[int, int]) -> list[Request]:
    """Requests that have arrived, of so many prompt and output tokens."""
    return [Request(i, prompt, output, 0.0, 0.0) for i, (prompt, output) in enumerate(sizes)]


def drained(scheduler: Scheduler) -> list[Batch]:
    """Every batch until nothing is left."""
    found = []
    for _turn in count():
        batch = scheduler.schedule(0.0)
        if batch is None:
            return found
        found.append(batch)
    raise AssertionError


def test_by_hand() -> None:
    """Budget 10; prompts of 6, 7 and 2 tokens with 3, 1 and 2 output tokens.

    step 0: 6 of the first, 4 of the second;
    step 1: the first decodes; the second's last 3, the third's 2;
    step 2: the first and the third decode, and both are finished.
    """
    workload = Workload(3, 3, (1, 9), (1, 9), token_budget=10)
    batches = drained(Scheduler(workload, requests((6, 3), (7, 1), (2, 2))))
    shown = [
        (b.prefill, b.decodes, b.context, [(c.request.number, c.start, c.length) for c in b.chunks],
         sorted(r.number for r in b.finished))
        for b in batches
    ]  # fmt: skip
    assert shown == [
        (0, 0, 0, [(0, 0, 6), (1, 0, 4)], []),
        (1, 1, 6, [(1, 4, 3), (2, 0, 2)], [1]),
        (None, 2, 9, [], [0, 2]),
    ]


def test_what_has_not_arrived_is_not_scheduled() -> None:
    """And what has is scheduled in order of arrival."""
    late = Request(0, 5, 1, 0.0, 2.0)
    scheduler = Scheduler(Workload(1, 1, (1, 9), (1, 9), token_budget=10), [late])
    assert scheduler.schedule(1.9) is None
    assert scheduler.next_arrival() == 2.0
    batch = scheduler.schedule(2.0)
    assert batch is not None
    assert batch.lengths == [5]


def test_no_more_sequences_run_than_may() -> None:
    """The others wait, whatever is left of the budget."""
    workload = Workload(3, 3, (1, 9), (1, 9), token_budget=100, max_sequences=2)
    batches = drained(Scheduler(workload, requests((4, 2), (4, 2), (4, 2))))
    assert [(b.decodes, b.lengths) for b in batches] == [(0, [4, 4]), (2, []), (0, [4]), (1, [])]


SIZES = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 9)), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None)
@given(SIZES, st.integers(2, 40), st.integers(1, 12))
def test_every_token_once(sizes: list[tuple[int, int]], budget: int, most: int) -> None:
    """Each prompt is prefilled once and in order, each answer has its tokens, and no step is larger
    than its budget or has more sequences than may run.
    """
    most = min(most, budget - 1)
    workload = Workload(len(sizes), len(sizes), (1, 60), (1, 9), budget, most)
    asked = requests(*sizes)
    batches = drained(Scheduler(workload, asked))
    reached: Counter[int] = Counter()
    first_tokens = sum(chunk.last for batch in batches for chunk in batch.chunks)
    for batch in batches:
        assert batch.decodes + batch.prefill_tokens <= budget
        running = {chunk.request.number for chunk in batch.chunks}
        assert batch.decodes + len(running) <= most
        for chunk in batch.chunks:
            assert chunk.start == reached[chunk.request.number]
            reached[chunk.request.number] += chunk.length
    assert reached == {request.number: request.prompt for request in asked}
    assert first_tokens + sum(b.decodes for b in batches) == sum(output for _p, output in sizes)
    assert sorted(r.number for b in batches for r in b.finished) == list(range(len(sizes)))
    assert [b.prefill for b in batches if b.chunks] == list(
        range(sum(bool(b.chunks) for b in batches))
    )


def test_context_is_what_decoding_sequences_attend_to() -> None:
    """The prompt, and a token more with each step."""
    workload = Workload(1, 1, (1, 9), (1, 9), token_budget=10)
    batches = drained(Scheduler(workload, requests((5, 4))))
    assert [batch.context for batch in batches] == [0, 5, 6, 7]


def test_clients_send_the_next_prompt_when_an_answer_is_complete() -> None:
    """At first all at once, tokenised one after the other; at last nothing."""
    workload = Workload(2, 3, (10, 10), (1, 1), token_budget=20)
    clients = Clients(workload, Draws(1), turnaround=1.0, per_token=0.1)
    assert [(r.sent, r.arrived) for r in clients.opening()] == [(0.0, 2.0), (0.0, 3.0)]
    following = clients.after(7.0)
    assert following is not None
    assert (following.sent, following.arrived) == (7.0, 9.0)
    assert clients.after(8.0) is None


def test_lengths_are_even_within_their_bounds() -> None:
    """From 0.8 of the name to the name, the same for every protocol of a seed."""
    workload = Workload(500, 500, of_length(8192), of_length(1024))
    asked = Clients(workload, Draws(1), 0.0, 0.0).opening()
    prompts = [request.prompt for request in asked]
    assert 6554 <= min(prompts) < 6570
    assert 8175 < max(prompts) <= 8192
    again = Clients(workload, Draws(1), 5.0, 1.0).opening()
    assert [(r.prompt, r.output) for r in again] == [(r.prompt, r.output) for r in asked]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"prompts": 0}, "prompts must be at least 1"),
        ({"output_tokens": (0, 4)}, "output_tokens must go from at least 1"),
        (
            {"prompt_tokens": (9, 4)},
            "prompt_tokens must go from at least 1 upwards, not from 9 to 4",
        ),
        ({"token_budget": 4}, "leaves none for prefills beside 4 sequences"),
    ],
)
def test_workloads_that_make_no_sense_are_refused(changes: dict[str, object], said: str) -> None:
    """In one line."""
    workload = Workload(4, 8, (5, 6), (5, 6), token_budget=20)
    with pytest.raises(BadInput) as refused:
        workload._replace(**changes).checked()
    assert said in str(refused.value)
