"""The house stays one that a reader can hold: each figure has a ceiling in `tests/house/house.toml`.

A ceiling may fall freely. Raising one is a line in the same commit, with its reason beside it.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.house import figures
from tests.house.road import ROADS, Profiled, committed, files_of, profiled_server

CEILINGS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "house" / "house.toml").read_text())


def test_the_road_of_a_request_grows_by_no_call() -> None:
    with profiled_server() as profiled:
        for name in ROADS:
            _hold_road(profiled, name)


def _hold_road(profiled: Profiled, name: str) -> None:
    road, ceiling = set.intersection(*profiled.roads(ROADS[name]())), CEILINGS["road"][name]
    new = "\n".join(sorted(road - committed(name)))
    assert not new, f"new on the road of {name} (`python -m tests.house.road` writes the lists):\n{new}"
    assert 50 < len(road) <= ceiling["functions"]
    assert len(files_of(road)) <= ceiling["files"]


@pytest.mark.parametrize("feature", CEILINGS["spread"])
def test_words_of_a_feature_stay_in_its_rooms(feature: str) -> None:
    ceiling = CEILINGS["spread"][feature]
    files = figures.spread(ceiling["words"], ceiling["homes"])
    rooms = {figures.room(path) for path in files}
    assert (len(files) <= ceiling["files"], len(rooms) <= ceiling["rooms"]) == (True, True), "\n".join(sorted(files))


@pytest.mark.parametrize("name", CEILINGS["fields"])
def test_a_shared_type_gets_no_further_field(name: str) -> None:
    assert figures.fields(name) <= CEILINGS["fields"][name]


def test_no_more_values_may_be_none() -> None:
    counts = figures.optionals()
    assert counts.total() <= CEILINGS["sums"]["optionals"], counts


def test_a_class_has_a_name_of_its_own() -> None:
    doubles = figures.double_classes()
    assert len(doubles) <= CEILINGS["sums"]["double_classes"], doubles


def test_rooms_do_not_import_each_other() -> None:
    circles = figures.room_circles()
    assert len(circles) <= CEILINGS["sums"]["room_circles"], circles


def test_only_the_models_ask_which_model_it_is() -> None:
    found = figures.model_checks()
    assert len(found) <= CEILINGS["sums"]["model_checks"], found


@pytest.mark.parametrize("folder", CEILINGS["lines"])
def test_a_top_folder_stays_within_its_lines(folder: str) -> None:
    assert figures.code_lines(folder) <= CEILINGS["lines"][folder]
