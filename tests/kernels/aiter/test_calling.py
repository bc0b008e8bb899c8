"""Arguments go by name, whatever their order; what is unknown is refused."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import pytest

from streamorder.model.errors import CannotRunHere
from streamorder.validation.aiter.calling import Function, Required, function_of


def planner(work_indptr: Any, work_info_set: Any, page: Any = 16, causal: Any = True) -> Any:
    """Stand in for a function of AITER."""
    return work_indptr, work_info_set, page, causal


def other(work_info: Any, work_indptr: Any, *, extra: Any = None) -> Any:  # noqa: ARG001
    """The same with the first two the other way round."""
    return work_indptr, work_info


def look(run: Any) -> Function:
    """What is seen of a function."""
    return function_of(SimpleNamespace(run=run), "run")


def test_names_and_defaults() -> None:
    """Known under our names."""
    assert [tuple(parameter) for parameter in look(planner).parameters] == [
        ("work_indptr", Required),
        ("work_info", Required),
        ("page", 16),
        ("causal", True),
    ]


@pytest.mark.parametrize("run", [planner, other])
def test_order_does_not_matter(run: Any) -> None:
    """Each value arrives at its parameter."""
    assert look(run)({"work_info": "items", "work_indptr": "offsets"})[:2] == ("offsets", "items")


def test_what_lies_between_keeps_its_default() -> None:
    """A later argument is given; one before it is passed as its default."""
    seen = look(planner)({"work_info": 1, "work_indptr": 2, "causal": False})
    assert seen == (2, 1, 16, False)
    assert look(planner).arguments({"work_info": 1, "work_indptr": 2}, {}) == [2, 1]


def test_wrapped_functions_are_looked_through() -> None:
    """AITER wraps each function, and changes `__signature__` at the first call."""

    @functools.wraps(planner)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return planner(*args, **kwargs)

    wrapper.__signature__ = None  # type: ignore[attr-defined]
    assert look(wrapper).parameters == look(planner).parameters


def test_what_is_known_here_is_given_where_it_is_wanted() -> None:
    """The seventh and eighth argument of a later version, say."""
    assert look(planner)({"work_info": 1, "work_indptr": 2}, where_known={"more": 3})[:2] == (2, 1)
    seen = look(planner)({"work_info": 1}, where_known={"work_indptr": 3})
    assert seen == (3, 1, 16, True)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"work_info": 1}, "needs work_indptr, which is not known here"),
        ({"work_info": 1, "work_indptr": 2, "scale": 3}, "does not take scale"),
    ],
    ids=["lacking", "absent"],
)
def test_refused(values: dict[str, Any], said: str) -> None:
    """A version whose function is another one is not called."""
    with pytest.raises(CannotRunHere, match=f"this AITER's run {said}"):
        look(planner)(values)


def test_names_from_the_torch_operator() -> None:
    """Where the function itself does not say, the operator that it is registered as does."""
    torch: Any = pytest.importorskip("torch", reason="operators are torch's: make torch")
    library = torch.library.Library("aiter", "FRAGMENT")
    library.define("run(Tensor work_indptr, Tensor work_info_set, int page=16) -> ()")
    parameters = look(lambda *args: args).parameters
    assert [tuple(parameter) for parameter in parameters] == [
        ("work_indptr", Required),
        ("work_info", Required),
        ("page", 16),
    ]
