"""Profiles: what each entry says and sets, its evidence, and the variables that change it."""

from __future__ import annotations

from typing import Any

import pytest

from streamorder.model.environment import NOT_MODELLED, SWITCHES, entries_of
from streamorder.model.errors import BadInput
from streamorder.model.masking import CLASSES, LARGE, OWN, SHARED, SMALL, Masking
from streamorder.model.profiles import (
    DOCUMENTED,
    OBSERVED,
    PROFILES,
    SOURCE,
    Profile,
    Setting,
    profile_named,
)
from streamorder.model.sweeps import points

KIB = 1024
AWAITED = ("copies", "fills", "values")


@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_every_entry_has_evidence(profile: Profile) -> None:
    """A kind that is known, a place, words; each entry sets something, or its rival does."""
    for entry in profile.entries:
        readings = [entry.follows] + ([entry.against] if entry.against else [])
        for reading in readings:
            assert reading.kind in {DOCUMENTED, SOURCE, OBSERVED}
            assert reading.where
            assert reading.says
            assert "\n" not in reading.says
        assert any(reading.sets for reading in readings)
        fields = {*Setting._fields, *Masking._fields}
        assert all(reading.sets.keys() <= fields for reading in readings)
        if entry.against is not None:
            assert OBSERVED in {entry.follows.kind, entry.against.kind}
            assert entry.follows.kind != entry.against.kind
    abouts = [entry.about for entry in profile.entries]
    assert len(set(abouts)) == len(abouts)


def test_settings() -> None:
    """What each profile comes to."""
    hip = Masking(records_queue=True, copy_limit=16 * KIB, ring=16384)
    cuda = Masking(copy_limit=0, pageable_limit=(4 << 20) - 1, downloads_awaited=True)
    assert {name: profile.setting() for name, profile in PROFILES.items()} == {
        "cuda-13": Setting(8, False, (OWN, SHARED), ("first_use_drains",), cuda),
        "rocm-7.2": Setting(4, False, (OWN, SHARED), ("copies_after_all",), hip),
        "rocm-10": Setting(4, True, (OWN, SHARED), (), hip._replace(pageable_limit=64 * KIB)),
    }
    assert {name: profile.contract.name for name, profile in PROFILES.items()} == {
        "cuda-13": "cuda",
        "rocm-7.2": "hip",
        "rocm-10": "hip",
    }
    assert PROFILES["rocm-7.2"].setting(against=True).may == ()
    assert PROFILES["cuda-13"].setting(against=True).masking == Masking(copy_limit=0)


ENVIRONMENT: list[tuple[str, str, str, dict[str, Any], dict[str, Any] | None]] = [
    ("rocm-10", "GPU_MAX_HW_QUEUES", "1", {"queues": 1, "copy_limit": None}, {"queues": 1}),
    ("rocm-10", "GPU_MAX_HW_QUEUES", "8", {"queues": 8}, None),
    ("rocm-10", "DEBUG_HIP_DYNAMIC_QUEUES", "0", {"dynamic": False}, None),
    ("rocm-7.2", "DEBUG_HIP_DYNAMIC_QUEUES", "1", {"dynamic": True}, None),
    ("rocm-10", "AMD_SERIALIZE_COPY", "0", {}, None),
    ("rocm-10", "AMD_SERIALIZE_COPY", "1", {"copies_after_all": True}, {}),
    ("rocm-10", "AMD_SERIALIZE_COPY", "2", {"awaits": AWAITED}, None),
    (
        "rocm-10",
        "AMD_SERIALIZE_COPY",
        "3",
        {"copies_after_all": True, "awaits": AWAITED},
        {"awaits": AWAITED},
    ),
    ("rocm-10", "AMD_SERIALIZE_KERNEL", "1", {}, None),
    ("rocm-10", "AMD_SERIALIZE_KERNEL", "2", {"awaits": ("kernels",)}, None),
    ("rocm-10", "AMD_SERIALIZE_KERNEL", "3", {"awaits": ("kernels",)}, None),
    ("rocm-10", "HIP_LAUNCH_BLOCKING", "1", {"awaits": ("kernels",)}, None),
    ("rocm-10", "HIP_LAUNCH_BLOCKING", "0", {}, None),
    ("rocm-10", "AMD_OCL_WAIT_COMMAND", "1", {"awaits": tuple(sorted(CLASSES))}, None),
    ("rocm-10", "AMD_OCL_WAIT_COMMAND", "0", {}, None),
    ("rocm-10", "HSA_ENABLE_SDMA", "0", {"copy_limit": None}, None),
    ("rocm-10", "HSA_ENABLE_SDMA", "1", {}, None),
    ("rocm-10", "GPU_FORCE_BLIT_COPY_SIZE", "64", {"copy_limit": 64 * KIB}, None),
    ("rocm-10", "ROC_AQL_QUEUE_SIZE", "64", {"ring": 64}, None),
    ("cuda-13", "CUDA_LAUNCH_BLOCKING", "1", {"awaits": ("kernels",)}, None),
    ("cuda-13", "CUDA_LAUNCH_BLOCKING", "0", {}, None),
    ("cuda-13", "CUDA_DEVICE_MAX_CONNECTIONS", "1", {"queues": 1}, None),
    ("cuda-13", "CUDA_MODULE_LOADING", "EAGER", {"may": ()}, None),
    ("cuda-13", "CUDA_MODULE_LOADING", "LAZY", {}, None),
]


@pytest.mark.parametrize(("profile", "name", "value", "followed", "against"), ENVIRONMENT)
def test_variables(
    profile: str, name: str, value: str, followed: dict[str, Any], against: dict[str, Any] | None
) -> None:
    """What a variable changes of the setting, by the reading followed and by the other."""
    known = profile_named(profile)
    entries = entries_of(known, {name: value})
    for changes, other in ((followed, False), (followed if against is None else against, True)):
        before = known.setting(against=other)
        masking = {k: v for k, v in changes.items() if k not in Setting._fields}
        mine = {k: v for k, v in changes.items() if k in Setting._fields}
        after = before._replace(masking=before.masking._replace(**masking), **mine)
        assert known.setting(entries, against=other) == after, other
    assert (entries[0].against is not None) is (against is not None)


def test_every_variable_is_tried() -> None:
    """Each variable of each contract has a row."""
    rows = {(PROFILES[profile].contract.name, name) for profile, name, *_rest in ENVIRONMENT}
    assert rows == {(contract, name) for contract, known in SWITCHES.items() for name in known}


def test_two_waits_add_up() -> None:
    """Variables that each make the host await a class."""
    entries = entries_of(
        PROFILES["rocm-10"], {"AMD_SERIALIZE_KERNEL": "2", "AMD_SERIALIZE_COPY": "2"}
    )
    awaits = PROFILES["rocm-10"].setting(entries).masking.awaits
    assert awaits == ("copies", "fills", "kernels", "values")


def test_what_is_certain_is_open_no_more() -> None:
    """A field that may be on, once it is known to be."""
    entries = entries_of(PROFILES["rocm-7.2"], {"AMD_SERIALIZE_COPY": "1"})
    setting = PROFILES["rocm-7.2"].setting(entries)
    assert setting.may == ()
    assert setting.masking.copies_after_all
    by_source = PROFILES["rocm-7.2"].setting(entries, against=True)
    assert not by_source.masking.copies_after_all


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("GPU_MAX_HW_QUEUES", "0", "takes 1 to 64, not '0'"),
        ("GPU_MAX_HW_QUEUES", "many", "takes 1 to 64, not 'many'"),
        ("AMD_SERIALIZE_COPY", "4", "takes 0 to 3, not '4'"),
        ("CUDA_LAUNCH_BLOCKING", "1", "rocm-10 knows no such variable; it knows GPU_MAX_HW"),
        ("AMD_DIRECT_DISPATCH", "0", "its effect is not modelled"),
    ],
)
def test_bad_variables(name: str, value: str, said: str) -> None:
    """One line each: what is wrong and what would do."""
    with pytest.raises(BadInput, match=f"^--env {name}:? .*{said}"):
        entries_of(PROFILES["rocm-10"], {name: value})
    assert NOT_MODELLED.isdisjoint(name for known in SWITCHES.values() for name in known)


def test_variants() -> None:
    """Every combination of what is open; sizes count only where some copy has none."""
    setting = PROFILES["rocm-7.2"].setting()
    assert len(setting.variants(sizes_missing=False)) == 2 * 2
    assert len(setting.variants(sizes_missing=True)) == 2 * 2 * 2
    first = setting.variants(sizes_missing=True)[0]
    assert (first.engines, first.unsized, first.copies_after_all) == (OWN, SMALL, False)
    assert {each.unsized for each in setting.variants(sizes_missing=True)} == {SMALL, LARGE}


def test_one_queue_leaves_no_choice() -> None:
    """A stream cannot change its queue where there is one."""
    assert PROFILES["rocm-10"].setting().moves
    entries = entries_of(PROFILES["rocm-10"], {"GPU_MAX_HW_QUEUES": "1"})
    assert not PROFILES["rocm-10"].setting(entries).moves


def test_sweeps() -> None:
    """By the variable that sets it, where there is one: what was observed counts there too."""
    hip, cuda = PROFILES["rocm-10"], PROFILES["cuda-13"]
    assert points(hip, "queues=1..2") == [
        ("1", {"GPU_MAX_HW_QUEUES": "1"}, {}),
        ("2", {"GPU_MAX_HW_QUEUES": "2"}, {}),
    ]
    assert points(cuda, "queues=3..3") == [("3", {"CUDA_DEVICE_MAX_CONNECTIONS": "3"}, {})]
    assert points(cuda, "ring=2..3") == [("2", {}, {"ring": 2}), ("3", {}, {"ring": 3})]
    assert points(hip, "AMD_SERIALIZE_COPY=0..3")[3] == ("3", {"AMD_SERIALIZE_COPY": "3"}, {})
    assert points(hip, None) == []


@pytest.mark.parametrize(
    "sweep",
    ["queues", "queues=1", "queues=1..", "queues=5..2", "queues=0..2", "depth=1..2",
     "queues=1..1000", "AMD_SERIALIZE_COPY=0..4", "queues=1..65"],
)  # fmt: skip
def test_bad_sweeps(sweep: str) -> None:
    """Refused before anything is decided."""
    with pytest.raises(BadInput):
        points(PROFILES["rocm-10"], sweep)
