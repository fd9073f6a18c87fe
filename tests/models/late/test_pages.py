"""Models of pages give the vectors of their own code, one for each token, in every form of their releases."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from service.checkpoint.hub import find_checkpoint
from service.engine.encoder_cache.cache import EncoderCache
from service.engine.execution.isolation import Isolation
from service.engine.scheduling.coalescing import Coalescing
from service.engine.scheduling.result_cache import ResultCache
from service.engine.scheduling.waiting import Waiting
from service.errors import ModelError
from service.ipc.messages import Failure, Request
from service.media.error_location import ErrorLocation
from service.model.heads.head import HeadRows
from service.outputs.plan import TokenPlan
from service.outputs.tokens import TokensAsk
from service.prompt.prompt import Prompt
from tests.conftest import TOLERANCE
from tests.models.late.checkpoints import colqwen2_5
from tests.models.late.colmodernvbert_checkpoint import LONGEST, TILE, colmodernvbert
from tests.models.late.forms import FORMS, Form
from tests.models.late.references import ColModernVBertReference, EngineReference, Item
from tests.models.served import Served, difference
from tests.models.vlm.images import CLEAR, EXACT, LARGE, SLIVER, SMALL, TALL, WIDE, image
from tests.models.weights import change_json

RECORDED = json.loads(Path(__file__).with_name("colpali_engine_0_3_18.json").read_text())
KEPT = 8
"""Numbers of each vector that are recorded."""
ITEMS: dict[str, Item] = {
    "query": "Which lighthouse stands on a cliff?",
    "empty query": "",
    "query of a newline": "\nfirst line\n\n second ",
    "query in other scripts": "Ein Leuchtturm über dem Meer, 灯台 и маяк.",
    "page": SMALL,
    "wide page": WIDE,
    "tall page": TALL,
    "page of a whole size": EXACT,
    "page over the limit": LARGE,
    "sliver of a page": SLIVER,
    "transparent page": CLEAR,
}
QUERIES = [item for item in ITEMS.values() if isinstance(item, str)]
PAGES = [item for item in ITEMS.values() if isinstance(item, Image.Image)]
SIZES = [(1, 1), (1, 190), (190, 1), (31, 33), (128, 128), (127, 128), (129, 64), (590, 3), (33, 700), (97, 96)]
"""Height and width of images whose tiles are counted."""


class Both:
    """A form, served and by its reference."""

    def __init__(self, name: str, folder: Path) -> None:
        self.form: Form = FORMS[name]
        found, self.reference = self.form.make(folder)
        self.served = Served(find_checkpoint(str(found), None).folder)

    def __call__(self, *items: Item) -> list[np.ndarray]:
        """The service's vectors, all items in one batch."""
        return self.served.numbers(
            [self.served.prompt(one) if isinstance(one, str) else self.page(one) for one in items]
        )

    def page(self, page: Image.Image) -> Prompt:
        return self.served.prompt(page, "")

    def off(self, *items: Item) -> float:
        """Largest difference of the service's vectors from the reference's."""
        return difference(self(*items), self.reference.all(items))


def made(name: str, factory: pytest.TempPathFactory) -> Both:
    folder = factory.mktemp("forms")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        return Both(name, folder)


@pytest.fixture(scope="module", params=FORMS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return made(request.param, tmp_path_factory)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return made("colqwen2 of transformers", tmp_path_factory).served


@pytest.mark.parametrize("name", ITEMS)
def test_an_items_vectors_are_the_references(both: Both, name: str) -> None:
    assert both.off(ITEMS[name]) <= TOLERANCE


def test_a_mixed_batch_gives_what_each_item_gives_alone(both: Both) -> None:
    mixed = [item for pair in zip(PAGES, QUERIES, strict=False) for item in pair] + PAGES[len(QUERIES) :]
    assert both.off(*mixed) <= TOLERANCE
    profile = both.served.profile
    assert (profile.name, profile.outputs, profile.dimensions) == (both.form.profile, ("multi",), both.form.dimensions)


def test_a_page_is_as_large_as_the_forms_processor_makes_it(both: Both) -> None:
    (place,) = both.page(LARGE).placeholders
    if both.form.most:
        assert 0.8 * both.form.most <= place.length <= both.form.most


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.recorded])
def test_vectors_are_those_that_colpali_engine_gave(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    both, pages = made(name, tmp_path_factory), {"exact": EXACT, "tall": TALL}
    for item, recorded in RECORDED[both.form.recorded].items():
        want = np.frombuffer(base64.b64decode(recorded), np.float32).reshape(-1, KEPT)
        assert difference([both(pages.get(item, item))[0][:, :KEPT]], [want]) <= TOLERANCE


def test_positions_counted_the_other_way_would_give_other_vectors(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(both.served.model.backbone, "_counts_plainly"):
        pytest.skip("its positions are those of a text, or of Qwen3-VL")
    monkeypatch.setattr(both.served.model.backbone, "_counts_plainly", not both.served.model.backbone._counts_plainly)
    assert both.off(TALL) > 100 * TOLERANCE


def test_the_known_answer_check_looks_at_every_vector(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    model = both.served.model
    embed = model.embed

    def one_is_wrong(*batch: object) -> dict[str, HeadRows]:
        found: HeadRows = embed(*batch)["tokens"]
        rows = found.rows.clone()
        rows[3] = rows[3].flip(0)
        return {"tokens": HeadRows(rows, found.counts)}

    monkeypatch.setattr(model, "embed", one_is_wrong)
    with pytest.raises(ModelError, match="known-answer check"):
        both.served.check()


def test_the_towers_width_is_that_of_features_and_not_of_vectors(both: Both) -> None:
    if both.form.profile not in ("colqwen2", "colmodernvbert"):
        pytest.skip("its tower is that of the embedders")
    tall, wide, width = (56, 84, 64) if both.form.most else (TILE, 2 * TILE, 32)
    features = both.served.model.backbone.encode(torch.zeros(tall, wide, 3, dtype=torch.uint8))
    assert both.served.model.backbone.tower.feature_width == features.shape[1] == width


def test_a_prompt_with_one_vector_that_is_not_finite_has_no_answer_and_its_neighbors_do(served: Served) -> None:
    output = TokensAsk(dimensions=128, output_dtypes=("float32", "ubinary", "int8"))
    requests = [Request(id=id_, plan=TokenPlan([7] * num), asks=(output,)) for id_, num in enumerate((3, 5, 2))]
    raw = torch.randn(10, 128, generator=torch.Generator().manual_seed(1))
    raw[6, 17] = float("nan")
    found = {"tokens": HeadRows(raw, [3, 5, 2])}
    first, failed, last = served.runner.finish(found, requests)
    assert failed is None
    assert first is not None
    assert last is not None
    assert [len(first[TokensAsk.row + kind]) for kind in output.output_dtypes] == [3 * 512, 3 * 16, 3 * 128]
    bits = np.frombuffer(last["multi_ubinary"], np.uint8).reshape(2, 16)
    assert np.array_equal(np.unpackbits(bits, axis=1), raw[8:].numpy() >= 0)
    raw[6] = 0  # a vector without direction is none
    assert [row is None for row in served.runner.finish(found, requests)] == [False, True, False]


def test_those_who_asked_for_the_same_prompt_each_get_all_of_its_vectors(served: Served) -> None:
    raw = torch.randn(5, 128, generator=torch.Generator().manual_seed(2))
    got = served.runner.of({"tokens": HeadRows(raw, [2, 3])}, [0, 0, 1])["tokens"]
    assert torch.equal(got.rows, torch.cat([raw[:2], raw[:2], raw[2:]]))
    assert got.counts == [2, 2, 3]


def test_what_cannot_be_finished_fails_alone_and_nobody_gets_anothers_vectors(served: Served) -> None:
    lengths, raw = (4, 2, 5, 3), torch.randn(14, 128, generator=torch.Generator().manual_seed(3))
    kinds = [("no format",) if id_ == 2 else ("float32",) for id_ in range(4)]
    requests = [
        Request(id=id_, plan=TokenPlan([7] * num), asks=(TokensAsk(dimensions=128, output_dtypes=kinds[id_]),))
        for id_, num in enumerate(lengths)
    ]
    coalescing: Coalescing[torch.Tensor] = Coalescing(ResultCache(0))
    isolation = Isolation(served.runner, lambda *_: None, EncoderCache(0), coalescing, 100)
    found = {"tokens": HeadRows(raw, lengths)}
    rows = [row for _, row in isolation.finish(found, [Waiting(one, 0.0, []) for one in requests])]
    assert isinstance(rows[2], Failure)
    want = torch.nn.functional.normalize(raw, dim=1).split(lengths)
    for index in (0, 1, 3):
        row = rows[index]
        assert isinstance(row, dict)
        assert (
            np.abs(np.frombuffer(row["multi_float32"], np.float32).reshape(-1, 128) - want[index].numpy()).max() <= 1e-6
        )


@pytest.fixture(scope="module")
def tiles(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return made("colmodernvbert", tmp_path_factory)


@pytest.mark.parametrize("size", SIZES)
def test_an_image_has_the_tiles_that_the_processor_makes(tiles: Both, size: tuple[int, int]) -> None:
    seen = image(11, size[1], size[0])
    (place,) = tiles.page(seen).placeholders
    assert isinstance(tiles.reference, ColModernVBertReference)
    found = tiles.reference.processor.image_processor(images=[seen], return_row_col_info=True)
    rows, columns = found["rows"][0][0], found["cols"][0][0]
    assert place.grid_thw == (1, max(rows, 1), max(columns, 1))
    assert tiles.off(seen) <= TOLERANCE


def test_a_lone_tile_is_the_whole_image(tmp_path: Path) -> None:
    folder = colmodernvbert(tmp_path / "one tile")
    images = json.loads((folder / "processor_config.json").read_text())["image_processor"]
    change_json(folder / "processor_config.json", image_processor=images | {"size": {"longest_edge": TILE}})
    served, reference = Served(folder), ColModernVBertReference(folder)
    prompts = [served.prompt(page, "") for page in (TALL, WIDE)]
    assert prompts[0].placeholders[0].length == 4 + 3
    assert difference(served.numbers(prompts), reference.pages([TALL, WIDE])) <= TOLERANCE


def test_no_shape_is_refused_and_none_has_more_tiles_than_the_longest_side(tiles: Both) -> None:
    assert tiles.served.profile.images is not None
    rule = tiles.served.profile.images.pixel_rule
    for height in (1, 2, 63, 64, 65, 5000):
        for width in (1, 3, 128, 4999):
            sides = rule.plan(height, width, ErrorLocation("input", 0)).size
            assert all(side % TILE == 0 and TILE <= side <= LONGEST for side in sides)
            assert max(sides) == LONGEST


def test_files_may_say_what_stands_around_a_query(tmp_path: Path) -> None:
    folder = colqwen2_5(tmp_path / "colqwen2.5", cenote={"query_prefix": "", "query_end_tokens": 3})
    reference = EngineReference(folder)
    reference.query_prefix, reference.suffix = "", "<|endoftext|>" * 3
    served = Served(folder)
    assert difference(served.numbers([served.prompt("a question")]), reference.queries(["a question"])) <= TOLERANCE
