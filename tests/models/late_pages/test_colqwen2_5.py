"""ColQwen2.5 in each form of its releases: transformers' own, colpali-engine's merged, and an adapter over its base."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from service.checkpoint.hub import find_checkpoint
from service.engine.startup.self_check import check_forward
from service.model.stock.late_vlm import LateVlm
from tests.conftest import TOLERANCE
from tests.models.late_interaction import checkpoints
from tests.models.late_interaction.reference import ColQwen2Reference, EngineReference
from tests.models.late_pages import engine_checkpoints
from tests.models.late_pages.served_vectors import ITEMS, PAGES, QUERIES, ServedVectors, difference
from tests.models.vlm.images import EXACT, TALL

RECORDED = json.loads(Path(__file__).with_name("colpali_engine_0_3_18.json").read_text())
KEPT = 8
"""Numbers of each vector that are recorded."""


class Both(NamedTuple):
    """A checkpoint, served and by its reference."""

    served: ServedVectors
    reference: ColQwen2Reference | EngineReference


def hf(folder: Path) -> Both:
    found = checkpoints.colqwen2_5(folder / "colqwen2.5-v0.2-hf")
    return Both(ServedVectors(found), ColQwen2Reference(found))


def merged(folder: Path) -> Both:
    found = engine_checkpoints.colqwen2_5(folder / "colqwen2.5-merged")
    return Both(ServedVectors(found), EngineReference(found))


def adapter(folder: Path) -> Both:
    """The base as it was written when ColQwen2.5 came out."""
    base = engine_checkpoints.colqwen2_5(folder / "colqwen2.5-base", old_names=True)
    found = engine_checkpoints.adapter(folder / "colqwen2.5-v0.2", base)
    return Both(ServedVectors(find_checkpoint(str(found), None).folder), EngineReference(base, found))


def older(folder: Path) -> Both:
    """ColQwen2 in the engine's form."""
    found = engine_checkpoints.colqwen2(folder / "colqwen2-v1.0-merged")
    return Both(ServedVectors(found), EngineReference(found))


FORMS: dict[str, Callable[[Path], Both]] = {
    "transformers": hf,
    "colqwen2.5": merged,
    "colqwen2.5 adapter": adapter,
    "colqwen2": older,
}


@pytest.fixture(scope="module", params=FORMS)
def form(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Both]:
    folder = tmp_path_factory.mktemp("forms")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        return request.param, FORMS[request.param](folder)


@pytest.fixture
def both(form: tuple[str, Both]) -> Both:
    return form[1]


@pytest.mark.parametrize("name", ITEMS)
def test_an_items_vectors_are_the_references(both: Both, name: str) -> None:
    assert difference(both.served([ITEMS[name]]), [both.reference(ITEMS[name])]) <= TOLERANCE


def test_a_mixed_batch_gives_what_each_item_gives_alone(both: Both) -> None:
    mixed = [item for pair in zip(PAGES, QUERIES, strict=False) for item in pair] + PAGES[len(QUERIES) :]
    assert difference(both.served(mixed), [both.reference(item) for item in mixed]) <= TOLERANCE


def test_scores_by_maxsim_are_the_references(both: Both) -> None:
    got = both.reference.scores(both.served(QUERIES), both.served(PAGES))
    want = both.reference.scores(both.reference.queries(QUERIES), both.reference.pages(PAGES))
    assert want.std() > 0.1
    assert np.abs(got - want).max() <= TOLERANCE


@pytest.mark.parametrize("form", [name for name in FORMS if name in RECORDED], indirect=True)
def test_vectors_are_those_that_colpali_engine_gave(form: tuple[str, Both]) -> None:
    name, both = form
    pages = {"exact": EXACT, "tall": TALL}
    for item, recorded in RECORDED[name].items():
        (got,) = both.served([pages.get(item, item)])
        want = np.frombuffer(base64.b64decode(recorded), np.float32).reshape(-1, KEPT)
        assert difference([got[:, :KEPT]], [want]) <= TOLERANCE


def test_the_packed_forward_is_the_stock_one(both: Both) -> None:
    check_forward(both.served.model, is_multi_vector=True)


def test_other_positions_would_give_other_vectors(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    model = both.served.model
    assert isinstance(model, LateVlm)
    monkeypatch.setattr(model, "_counts_plainly", not model._counts_plainly)
    assert difference(both.served([TALL]), [both.reference(TALL)]) > 100 * TOLERANCE
