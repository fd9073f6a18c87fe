"""ColModernVBERT gives the vectors of transformers' own `ColModernVBertForRetrieval`, one for each token."""

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.numpy import load, save
from transformers import ColModernVBertForRetrieval, ColModernVBertProcessor, Idefics3ImageProcessorPil

from service.checkpoint.errors import UnsupportedModelError
from service.engine.startup.self_check import check_forward
from service.errors import InputError, ModelError
from service.media.error_location import ErrorLocation
from service.prompt.detect import load_profile
from tests.builders import image_bytes
from tests.conftest import TOLERANCE, LiveServer, data_uri, image_part
from tests.models.late_interaction.reference import Item
from tests.models.late_pages.colmodernvbert_checkpoint import LONGEST, PLACES, TILE, colmodernvbert
from tests.models.late_pages.served_vectors import ITEMS, PAGES, QUERIES, ServedVectors, difference
from tests.models.vlm.images import EXACT, SMALL, TALL, WIDE, image

SIZES = [(1, 1), (1, 190), (190, 1), (31, 33), (128, 128), (127, 128), (129, 64), (590, 3), (33, 700), (97, 96)]
"""Height and width of images whose tiles are counted."""


class Reference:
    """A checkpoint as the model card uses it."""

    def __init__(self, folder: Path) -> None:
        self.model = ColModernVBertForRetrieval.from_pretrained(folder, dtype=torch.float32).eval()
        self.processor = ColModernVBertProcessor.from_pretrained(folder, backend="pil")
        assert isinstance(self.processor.image_processor, Idefics3ImageProcessorPil)

    def queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Vectors of texts in one padded batch, those of padding left out."""
        return self._vectors(self.processor.process_queries(text=list(texts)))

    def pages(self, images: Sequence[Image.Image]) -> list[np.ndarray]:
        """Vectors of images, each alone."""
        return [self._vectors(self.processor.process_images(images=[one]))[0] for one in images]

    def __call__(self, item: Item) -> np.ndarray:
        """Vectors of one item, `[tokens, 128]`."""
        return (self.queries([item]) if isinstance(item, str) else self.pages([item]))[0]

    def scores(self, queries: Sequence[np.ndarray], pages: Sequence[np.ndarray]) -> np.ndarray:
        """MaxSim, `[queries, pages]`."""
        return np.array([[(query @ page.T).max(1).sum() for page in pages] for query in queries])

    @torch.inference_mode()
    def _vectors(self, inputs: dict[str, torch.Tensor]) -> list[np.ndarray]:
        masks = inputs["attention_mask"].bool()
        embeddings = self.model(**inputs).embeddings
        return [row[mask].numpy() for row, mask in zip(embeddings, masks, strict=True)]


@pytest.fixture(scope="module", params=[False, True], ids=["its beginning is text", "its beginning is a token"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return colmodernvbert(tmp_path_factory.mktemp("late") / "colmodernvbert", begins=request.param)


@pytest.fixture(scope="module")
def served(folder: Path) -> ServedVectors:
    return ServedVectors(folder)


@pytest.fixture(scope="module")
def reference(folder: Path) -> Reference:
    return Reference(folder)


@pytest.mark.parametrize("name", ITEMS)
def test_an_items_vectors_are_the_references(served: ServedVectors, reference: Reference, name: str) -> None:
    assert difference(served([ITEMS[name]]), [reference(ITEMS[name])]) <= TOLERANCE


def test_a_mixed_batch_gives_what_each_item_gives_alone(served: ServedVectors, reference: Reference) -> None:
    mixed = [item for pair in zip(PAGES, QUERIES, strict=False) for item in pair] + PAGES[len(QUERIES) :]
    want = {id(item): one for item, one in zip(QUERIES, reference.queries(QUERIES), strict=True)}
    want |= {id(item): one for item, one in zip(PAGES, reference.pages(PAGES), strict=True)}
    assert difference(served(mixed), [want[id(item)] for item in mixed]) <= TOLERANCE


def test_scores_by_maxsim_are_the_references(served: ServedVectors, reference: Reference) -> None:
    got = reference.scores(served(QUERIES), served(PAGES))
    want = reference.scores(reference.queries(QUERIES), reference.pages(PAGES))
    assert want.std() > 0.1
    assert np.abs(got - want).max() <= 10 * TOLERANCE  # the sum of some forty products


@pytest.mark.parametrize("size", SIZES)
def test_an_image_has_the_tiles_that_the_processor_makes(
    served: ServedVectors, reference: Reference, size: tuple[int, int]
) -> None:
    seen = image(11, size[1], size[0])
    (place,) = served.item_prompt(seen).placeholders
    found = reference.processor.image_processor(images=[seen], return_row_col_info=True)
    rows, columns = found["rows"][0][0], found["cols"][0][0]
    assert place.grid_thw == (1, max(rows, 1), max(columns, 1))
    assert difference(served([seen]), [reference(seen)]) <= TOLERANCE


def test_the_towers_width_is_that_of_features_and_not_of_vectors(served: ServedVectors) -> None:
    features = served.model.encode(torch.zeros(TILE, 2 * TILE, 3, dtype=torch.uint8))
    assert served.model.tower.feature_width == features.shape[1] == 32


def test_a_lone_tile_is_the_whole_image(tmp_path: Path) -> None:
    folder = colmodernvbert(tmp_path / "one tile")
    path = folder / "processor_config.json"
    written = json.loads(path.read_text())
    written["image_processor"]["size"] = {"longest_edge": TILE}
    path.write_text(json.dumps(written))
    served, reference = ServedVectors(folder), Reference(folder)
    assert served.item_prompt(TALL).placeholders[0].length == 4 + 3
    assert difference(served([TALL, WIDE]), reference.pages([TALL, WIDE])) <= TOLERANCE
    check_forward(served.model, is_multi_vector=True)


def test_the_packed_forward_is_the_stock_one(served: ServedVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    check_forward(served.model, is_multi_vector=True)
    features = served.model.encode
    monkeypatch.setattr(served.model, "encode", lambda pixels: features(pixels).flip(0))
    with pytest.raises(ModelError, match="known-answer check"):
        check_forward(served.model, is_multi_vector=True)


@pytest.mark.parametrize(
    ("text", "images", "instruction", "code"),
    [
        ("beside", [SMALL], None, "unsupported_modality"),
        ("", [SMALL, WIDE], None, "conflicting_input"),
        ("words", [], "Find pages.", "invalid_request"),
    ],
)
def test_what_the_reference_has_no_prompt_for_is_refused(
    served: ServedVectors, text: str, images: list[Image.Image], instruction: str | None, code: str
) -> None:
    with pytest.raises(InputError) as refused:
        served.prompt(text, images, instruction)
    assert refused.value.code == code


def test_no_shape_is_refused_and_none_has_more_tiles_than_the_longest_side(served: ServedVectors) -> None:
    assert served.profile.images is not None
    rule = served.profile.images.pixel_rule
    for height in (1, 2, 63, 64, 65, 5000):
        for width in (1, 3, 128, 4999):
            sides = rule.plan(height, width, ErrorLocation("input", 0)).size
            assert all(side % TILE == 0 and TILE <= side <= LONGEST for side in sides)
            assert max(sides) == LONGEST


def _vlm(**keys: object) -> Callable[[dict[str, object]], object]:
    return lambda config: config["vlm_config"].update(keys)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_vlm(model_type="idefics3"), "vlm_config of 'idefics3'"),
        (_vlm(image_token_id=9), "image_token_id 9, and tokenizer.json numbers <image> 4"),
        (_vlm(pixel_shuffle_factor=3), "pixel_shuffle_factor 3; the first has"),
        (_vlm(pixel_shuffle_factor=4), "image_seq_len 4; .* which are 1 tokens"),
    ],
)
def test_a_configuration_that_disagrees_is_refused(tmp_path: Path, change: Callable[..., object], said: str) -> None:
    folder = colmodernvbert(tmp_path / "a")
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UnsupportedModelError, match=said):
        load_profile(folder)


@pytest.mark.parametrize(
    ("said", "of_images", "reason"),
    [
        ({"visual_prompt_prefix": "<image>"}, {}, "visual_prompt_prefix '<image>'; supported"),
        ({}, {"do_image_splitting": False}, "do_image_splitting False; supported: True"),
        ({}, {"image_mean": [0.4, 0.4, 0.4]}, "image_mean"),
        ({}, {"size": {"height": 64, "width": 64}}, "supported: a longest_edge of each"),
        ({}, {"size": {"longest_edge": 8192}}, "at most 4096"),
        ({}, {"resample": 9}, "resample 9; supported: 0 to 5"),
        ({}, {"max_image_size": {"longest_edge": 64}}, "tiles of 64 pixels .* image_size 32"),
    ],
)
def test_another_processor_is_refused(
    tmp_path: Path, said: dict[str, object], of_images: dict[str, object], reason: str
) -> None:
    folder = colmodernvbert(tmp_path / "a")
    path = folder / "processor_config.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps(written | said | {"image_processor": written["image_processor"] | of_images}))
    with pytest.raises(UnsupportedModelError, match=reason):
        load_profile(folder)


def test_a_tokenizer_without_a_tiles_name_is_refused(tmp_path: Path) -> None:
    folder = colmodernvbert(tmp_path / "a")
    path = folder / "tokenizer.json"
    path.write_text(path.read_text().replace(PLACES[-1], "<row_5_col_5>"))
    with pytest.raises(UnsupportedModelError, match="lacks the added tokens <row_4_col_4>"):
        load_profile(folder)


def test_pages_queries_scores_and_features_over_http(
    folder: Path, reference: Reference, start_server: Callable[..., LiveServer]
) -> None:
    late = start_server("--model", str(folder)).wait_until_ready()
    pages = [SMALL, TALL, EXACT]
    parts = [image_part(data_uri(image_bytes(page))) for page in pages]
    items = [{"content": [part]} for part in parts]
    found = [late.ask("/v2/embed", body).json()["embeddings"] for body in ({"texts": QUERIES}, {"inputs": items})]
    got = [np.array(one, "<f4") for kind in found for one in kind["multi_float"]]
    assert difference(got, [*reference.queries(QUERIES), *reference.pages(pages)]) <= TOLERANCE
    (row,) = reference.scores(reference.queries(QUERIES[:1]), reference.pages(pages))
    results = late.ask("/v1/rerank", {"query": QUERIES[0], "documents": items}).json()["results"]
    np.testing.assert_allclose([one["relevance_score"] for one in results], -np.sort(-row), rtol=0, atol=1e-4)
    (entry,) = late.ask("/v1/image_embeds", {"images": [parts[1]]}).json()["data"]
    before = late.metric("cenote_vision_encodes_total")
    again = late.ask("/v2/embed", {"inputs": [{"content": [entry["part"]]}]}).json()["embeddings"]["multi_float"]
    assert difference([np.array(again[0], "<f4")], [reference(TALL)]) <= TOLERANCE
    assert late.metric("cenote_vision_encodes_total") == before
    wrong = entry["part"]["image_embeds"] | {"image_grid_thw": [1, 1, 2]}
    assert "the file says that its grids are 1,4,2, got 1,1,2" in refused_features(late, wrong)
    silent = save(load(base64.b64decode(wrong["image_embeds"])))  # without metadata
    others = wrong | {"image_embeds": base64.b64encode(silent).decode()}
    assert "sum of (4 + 2) x H x W and the whole image over 1 grids is" in refused_features(late, others)
    late.stop()


def refused_features(server: LiveServer, features: dict[str, object]) -> str:
    """The message about features that do not fit their grid."""
    content = [{"type": "image_embeds", "image_embeds": features}]
    answer = server.http.post("/v2/embed", json={"inputs": [{"content": content}]})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_image_embeds")
    return str(error["message"])
