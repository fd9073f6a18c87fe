"""Ranges that a checkpoint ships are taken exactly, or stop the start with a sentence that names the fault."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.checkpoint.hub import CALIBRATION_FILE
from service.checkpoint.hub import CHECKPOINT as BUILTIN
from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile
from service.prompt.profile.calibration import load_calibration
from service.prompt.profile.profile import Profile

GOOD: dict[str, Any] = {
    "description": "a few texts",
    "num_vectors": 12,
    "ranges": {
        "64": {"minimum": [-0.5] * 64, "maximum": [0.25] * 64},
        "128": {"minimum": [-0.4] * 128, "maximum": [0.3] * 128},
    },
}


def written(folder: Path, content: object) -> Path:
    (folder / CALIBRATION_FILE).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def test_a_checkpoint_without_the_file_has_no_ranges(checkpoint: Path, profile: Profile) -> None:
    assert load_calibration(checkpoint, profile) == {}


def test_ranges_are_taken_as_they_are_written(tmp_path: Path, profile: Profile) -> None:
    ranges = load_calibration(written(tmp_path, GOOD), profile)
    assert sorted(ranges) == [64, 128]
    assert (ranges[64].minimum, ranges[64].maximum) == ([-0.5] * 64, [0.25] * 64)


def test_the_builtin_model_ships_ranges_for_all_its_lengths() -> None:
    profile = load_profile(BUILTIN)
    assert tuple(sorted(load_calibration(BUILTIN, profile))) == profile.matryoshka
    assert json.loads((BUILTIN / CALIBRATION_FILE).read_text())["num_vectors"] >= 2000


def set_(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = to

    return change


FAULTS = {
    "a length that is not offered": (set_("ranges", "63", to=GOOD["ranges"]["64"]), "63 dimensions"),
    "a length over the model's own": (set_("ranges", "256", to=GOOD["ranges"]["64"]), "256 dimensions"),
    "a length that is no number": (set_("ranges", "all", to=GOOD["ranges"]["64"]), "ranges"),
    "too few numbers": (set_("ranges", "64", "minimum", to=[-0.5] * 63), "64 dimensions whose minimum has 63 numbers"),
    "too many numbers": (set_("ranges", "64", "maximum", to=[0.5] * 65), "64 dimensions whose maximum has 65 numbers"),
    "a range the wrong way round": (
        set_("ranges", "64", "maximum", 5, to=-0.6), "64 dimensions where component 5 goes from -0.5 to -0.6",
    ),
    "a range of nothing": (set_("ranges", "64", "maximum", 5, to=-0.5), "component 5 goes from -0.5 to -0.5"),
    "a component that no unit vector has": (set_("ranges", "64", "maximum", 7, to=3.5), r"maximum\[7\] is 3.5"),
    "a null": (set_("ranges", "64", "maximum", 7, to=None), r"ranges\[...\].maximum\[7\]"),
    "a number in a string": (set_("ranges", "64", "maximum", 7, to="0.3"), "str"),
    "no maximum": (set_("ranges", "64", to={"minimum": [-0.5] * 64}), "maximum"),
    "an unknown field": (set_("range", to={}), "range"),
    "no ranges at all": (set_("ranges", to={}), "ranges"),
    "a set of nothing": (set_("num_vectors", to=0), "num_vectors"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_does_not_fit_stops_the_start_and_is_named(tmp_path: Path, profile: Profile, fault: str) -> None:
    change, said = FAULTS[fault]
    content = copy.deepcopy(GOOD)
    change(content)
    with pytest.raises(CheckpointError, match=said) as caught:
        load_calibration(written(tmp_path, content), profile)
    assert CALIBRATION_FILE in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"description": NaN}', json.dumps(GOOD).replace("0.25", "NaN", 1)])
def test_a_damaged_file_stops_the_start(tmp_path: Path, profile: Profile, text: str) -> None:
    with pytest.raises(CheckpointError, match=CALIBRATION_FILE):
        load_calibration(written(tmp_path, text), profile)
