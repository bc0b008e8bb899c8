"""Device files: those of the package are complete, others are refused with what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import streamorder
from streamorder.model.errors import BadInput
from streamorder.model.profiles import profile_named
from streamorder.sim.device import load_device

if TYPE_CHECKING:
    from streamorder.sim.device import Device

FOLDER = Path(streamorder.__file__).parent / "sim" / "devices"


def test_every_device_says_what_it_rests_on(device: Device) -> None:
    """For each section, in words that begin with a kind of evidence."""
    for section, words in device.evidence.items():
        kinds = ("documented", "measured", "assumed", "observed", "source", "none is known")
        assert words.startswith(kinds), section
    assert all(each.typical >= 0 for group in device.durations.values() for each in group.values())


def test_the_three_devices() -> None:
    """An MI355X on two runtimes that differ in their queues only, and an H200."""
    new, old = load_device("mi355x-rocm10"), load_device("mi355x-rocm7.2")
    assert (new.durations, new.kernels) == (old.durations, old.kernels)
    assert new.numbers["masking"]["null_copies_after_all_share"] == 0
    assert old.numbers["masking"]["null_copies_after_all_share"] == 55 / 80
    assert (new.runtime, old.runtime) == ("rocm-10", "rocm-7.2")
    assert load_device("h200-cuda13").runtime == "cuda-13"


def test_devices_and_profiles_agree(device: Device) -> None:
    """On hardware queues, copies by kernel, and whether copies may have to wait for all work."""
    setting = profile_named(device.runtime).setting()
    assert device.numbers["device"]["hardware_queues"] == setting.queues
    assert device.numbers["copy"]["blit_up_to_kib"] * 1024 == setting.masking.copy_limit
    may = device.numbers["masking"]["null_copies_after_all_share"] > 0
    assert may == ("copies_after_all" in setting.may)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[copy]", "[copies]", "section [copy] is missing"),
        ("wake_us", "woke_us", "[host] lacks wake_us"),
        ("[kernel]", "[kernel]\nspeed = 3", "[kernel] has no key speed; it has default_us"),
        ('runtime = "cuda-13"', 'runtime = "rocm"', "unknown runtime 'rocm'"),
        ("hardware_queues = 8", "hardware_queues = -8", "device.hardware_queues must be a number"),
        ("default_us = 1.95", "default_us = { normal = 3 }", "kernel.default_us must be a number"),
        ("region_kib = 64", "region_kib = '64'", "copy.region_kib must be a number"),
        ("pinned_gb_per_s = 5", "pinned_gb_per_s = 0 #", "pinned_gb_per_s must be more than 0"),
        ("masking = ", "hiding = ", "[evidence] must say what the figures of [masking] rest on"),
        ("[evidence]", "[more]\n[evidence]", "no section [more] is known"),
        ("[host]", "[host", "not TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file(tmp_path: Path, old: str, new: str, said: str) -> None:
    """The file, the key and how to mend it, in one line."""
    text = (FOLDER / "h200-cuda13.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        load_device(str(path))
    assert said in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
