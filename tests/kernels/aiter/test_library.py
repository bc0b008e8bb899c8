"""Why AITER cannot run here, in one line; and its functions where it can."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.errors import CannotRunHere
from streamorder.validation.aiter import DECODE, PREFILL, find_aiter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`torch(hip, architecture)`: a stand-in for torch, so that this needs none."""

    def put(hip: str | None = "7.2.0", architecture: str | None = "gfx950:xnack-") -> None:
        fake = ModuleType("torch")
        vars(fake).update(
            __version__="2.13.0+test",
            version=SimpleNamespace(hip=hip),
            cuda=SimpleNamespace(
                is_available=lambda: architecture is not None,
                current_device=lambda: 0,
                get_device_properties=lambda _: SimpleNamespace(
                    gcnArchName=architecture, multi_processor_count=256
                ),
            ),
        )
        monkeypatch.setitem(sys.modules, "torch", fake)

    return put


def refused(needed: Mapping[str, str] = PREFILL) -> str:
    """The line with which AITER is refused; the command would exit 4."""
    with pytest.raises(CannotRunHere) as refusal:
        find_aiter(needed)
    assert refusal.value.exit_code == 4
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_found(torch: Callable[..., None], install: Callable[..., Any]) -> None:
    """Functions, architecture and units; the parameters of each are known by name."""
    torch()
    install()
    library = find_aiter({**PREFILL, **DECODE})
    assert (library.architecture, library.units, library.version) == ("gfx950", 256, "unknown")
    names = [parameter.name for parameter in library["get_ps_metadata_v1"].parameters]
    assert names[5:8] == ["work_metadata_ptrs", "work_indptr", "work_info"]
    names = [parameter.name for parameter in library["get_mla_metadata_v1"].parameters]
    assert names[6:9] == ["work_metadata_ptrs", "work_info", "work_indptr"]


def test_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to look at."""
    monkeypatch.setitem(sys.modules, "torch", None)
    assert refused() == "AITER needs torch for ROCm, and there is no torch here"


def test_no_rocm(torch: Callable[..., None], install: Callable[..., Any]) -> None:
    """Told before AITER is imported, which might end the process."""
    torch(hip=None)
    fake = install()
    del fake.module.jit
    assert refused() == (
        "no ROCm: torch 2.13.0+test is built without it, and AITER runs on AMD GPUs"
    )


def test_no_gpu(torch: Callable[..., None]) -> None:
    """ROCm's torch on a machine without one."""
    torch(architecture=None)
    assert refused() == "no AMD GPU: torch is built for ROCm, but finds no device"


@pytest.mark.parametrize("architecture", ["gfx942:sramecc+:xnack-", "gfx1201"])
def test_another_architecture(
    torch: Callable[..., None], install: Callable[..., Any], architecture: str
) -> None:
    """gfx942 has the planner, and no kernel for its plans."""
    torch(architecture=architecture)
    install()
    name = architecture.partition(":")[0]
    assert refused() == (
        "AITER has persistent FP8 prefill kernels for gfx950, "
        f"not for {name}, which is the GPU here"
    )


def test_decode_on_gfx942(torch: Callable[..., None], install: Callable[..., Any]) -> None:
    """Decode has kernels there."""
    torch(architecture="gfx942")
    install()
    assert find_aiter(DECODE).architecture == "gfx942"
    torch(architecture="gfx1100")
    assert "decode kernels for gfx942 and gfx950, not for gfx1100" in refused(DECODE)


def test_not_installed(torch: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is to be had."""
    torch()
    monkeypatch.setitem(sys.modules, "aiter", None)
    assert refused() == ("AITER is not installed: install it from https://github.com/ROCm/aiter")


def test_the_unrelated_package(torch: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """PyPI's `aiter` is importable, and has nothing of AITER's."""
    torch()
    unrelated = ModuleType("aiter")
    unrelated.aiter = lambda iterable: iterable  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aiter", unrelated)
    said = refused()
    assert said.startswith("the package aiter that is installed here is not AMD's AITER")
    assert "uninstall it" in said


def test_without_the_prefill_planner(
    torch: Callable[..., None], install: Callable[..., Any]
) -> None:
    """As in PyPI's amd-aiter 0.1.7, which has decode."""
    torch()
    fake = install()
    for name in ("get_ps_metadata_info_v1", "get_ps_metadata_v1", "mla_prefill_ps_asm_fwd"):
        delattr(fake.module, name)
    assert refused() == (
        "this AITER (version unknown) has no get_ps_metadata_info_v1: "
        "install it from https://github.com/ROCm/aiter "
        "(PyPI's amd-aiter 0.1.7 is older than the prefill planner)"
    )
    assert find_aiter(DECODE)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (
            "raise RuntimeError('ROCm version file not found\\nanywhere')",
            "RuntimeError: ROCm version file not found anywhere",
        ),
        ("raise SystemExit('no hipcc')", "SystemExit: no hipcc"),
        ("import sys; sys.exit(1)", "SystemExit: 1"),
        ("import no_such_packaging", "ModuleNotFoundError: No module named 'no_such_packaging'"),
    ],
    ids=["error", "leaves", "exits", "dependency"],
)
def test_an_import_that_fails(
    torch: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    raised: str,
    said: str,
) -> None:
    """AITER builds itself when imported; whatever that raises, this process goes on."""
    torch()
    (tmp_path / "aiter").mkdir()
    (tmp_path / "aiter" / "__init__.py").write_text(raised + "\n", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "aiter", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert refused() == f"importing aiter failed: {said}"


def test_arguments_that_cannot_be_told(
    torch: Callable[..., None], install: Callable[..., Any]
) -> None:
    """A function that takes anything might take it in any order: not called at all."""
    torch()
    install(arguments={"mla_reduce_v1": "*args, **kwargs"})
    assert refused() == (
        "the arguments of this AITER's mla_reduce_v1 cannot be told from the function"
    )
