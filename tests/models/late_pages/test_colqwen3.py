"""ColQwen3 in the forms of its makers: colpali-engine's, merged and as an adapter, TomoroAI's and OpenSearch-AI's."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from transformers import Qwen2VLImageProcessorPil

from service.checkpoint.errors import UnsupportedModelError
from service.checkpoint.hub import find_checkpoint
from service.engine.startup.self_check import check_forward
from service.errors import InputError
from service.prompt.detect import load_profile
from tests.conftest import TOLERANCE
from tests.models.late_interaction.reference import EngineReference
from tests.models.late_pages import colqwen3_checkpoints as checkpoints
from tests.models.late_pages.engine_checkpoints import adapter as adapter_of
from tests.models.late_pages.served_vectors import ITEMS, PAGES, QUERIES, ServedVectors, difference
from tests.models.vlm.images import EXACT, LARGE, SMALL, TALL

RECORDED = json.loads(Path(__file__).with_name("colpali_engine_0_3_18.json").read_text())
KEPT = 8
"""Numbers of each vector that are recorded."""
CUT = 256
"""`dims` of the small Ops-Colqwen3."""


class Both(NamedTuple):
    """A checkpoint, served and by its reference."""

    served: ServedVectors
    reference: EngineReference


class Colqwen3Reference(EngineReference):
    """colpali-engine's: queries without a prefix."""

    query_prefix = ""


class TomoroReference(Colqwen3Reference):
    """TomoroAI's processor: blanks at a query's ends are dropped, pages have up to 1,280 tokens whatever files say.

    Source: `processing_colqwen3.py`, `max_num_visual_tokens`.
    """

    strips = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        size = {"shortest_edge": self.processor.size["shortest_edge"], "longest_edge": 1280 * 32 * 32}
        halves = [0.5, 0.5, 0.5]
        self.processor = Qwen2VLImageProcessorPil(size=size, patch_size=16, image_mean=halves, image_std=halves)


class OpsReference(EngineReference):
    """mteb's `OpsColQwen3Wrapper`: `Query: `, the assistant's turn behind a page, the first `dims` numbers."""

    PAGE = (
        "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Describe the image.<|im_end|>"
        "<|im_start|>assistant\n<|endoftext|>"
    )
    dimensions = CUT


def engine(folder: Path) -> Both:
    found = checkpoints.colqwen3(folder / "colqwen3-merged")
    return Both(ServedVectors(found), Colqwen3Reference(found))


def adapter(folder: Path) -> Both:
    base = checkpoints.colqwen3(folder / "colqwen3-base")
    found = adapter_of(folder / "colqwen3-v0.1", base)
    return Both(ServedVectors(find_checkpoint(str(found), None).folder), Colqwen3Reference(base, found))


def tomoro(folder: Path) -> Both:
    found = checkpoints.tomoro(folder / "tomoro-colqwen3-embed-4b")
    return Both(ServedVectors(found), TomoroReference(checkpoints.colqwen3(folder / "same weights")))


def ops(folder: Path) -> Both:
    found = checkpoints.ops(folder / "Ops-Colqwen3-4B", CUT)
    return Both(ServedVectors(found), OpsReference(checkpoints.colqwen3(folder / "same weights")))


FORMS: dict[str, Callable[[Path], Both]] = {
    "colqwen3": engine,
    "colqwen3 adapter": adapter,
    "tomoro": tomoro,
    "ops": ops,
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


def test_the_engines_own_products_give_the_same(tmp_path: Path) -> None:
    both = engine(tmp_path)
    model = both.served.model
    answers = [model.stock_vector(probe) for probe in model.probes()]
    assert [one.shape[1] for one in answers] == [320] * len(answers)
    model.prepack()
    assert difference(both.served([SMALL, "a query"]), [both.reference(SMALL), both.reference("a query")]) <= TOLERANCE


def test_a_page_is_as_large_as_the_forms_processor_makes_it(form: tuple[str, Both]) -> None:
    name, both = form
    (place,) = both.served.item_prompt(LARGE).placeholders
    most = 1_280 if name == "tomoro" else checkpoints.MAX_PAGE_TOKENS
    assert 0.8 * most <= place.length <= most


def test_a_text_beside_a_page_is_refused(both: Both) -> None:
    with pytest.raises(InputError) as refused:
        both.served.prompt("beside", [SMALL])
    assert refused.value.code == "unsupported_modality"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "colqwen3", "embed_dim": 128}, "embed_dim 128, but custom_text_proj gives 320"),
        ({"model_type": "ops_colqwen3", "dims": 321}, "dims 321, but custom_text_proj gives 320"),
        ({"model_type": "ops_colqwen3", "dims": "all"}, "dims 'all'; a positive integer"),
        ({"mask_non_image_embeddings": True}, "mask_non_image_embeddings True"),
    ],
)
def test_files_that_disagree_are_refused(tmp_path: Path, config: dict[str, object], said: str) -> None:
    with pytest.raises(UnsupportedModelError, match=said):
        load_profile(checkpoints.colqwen3(tmp_path / "a", **config))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("preprocessor_config.json", {"image_mean": [0.4, 0.4, 0.4]}, r"image_mean \[0\.4, 0\.4, 0\.4\]; supported"),
        ("processor_config.json", {"visual_prompt_prefix": "<image>Describe."}, "visual_prompt_prefix '<image>Descr"),
    ],
)
def test_another_processor_is_refused(tmp_path: Path, name: str, content: dict[str, object], said: str) -> None:
    folder = checkpoints.colqwen3(tmp_path / "a")
    (folder / name).write_text(json.dumps(content))
    with pytest.raises(UnsupportedModelError, match=said):
        load_profile(folder)
