"""Each family of vision-language embedders gives the vectors of its own script, on a small random checkpoint."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from service.errors import InputError, ModelError
from service.model.architectures import pooled_model
from service.model.stock.stock_vlm import StockVlm
from service.prompt.conversation import Conversation
from service.prompt.detect import load_profile
from service.prompt.prompt import Prompt
from service.prompt.truncation import Truncation
from tests.conftest import TOLERANCE
from tests.models.served import Served
from tests.models.vlm.checkpoints import qwen2_5_vl, qwen2_vl
from tests.models.vlm.images import SMALL, TALL
from tests.models.vlm.models import MODELS, Case
from tests.models.vlm.references import BiQwenScript
from tests.models.weights import change_json

NAMED = [(name, case) for name, model in MODELS.items() for case in model.cases]


class Both:
    """A checkpoint, served and by its script."""

    def __init__(self, name: str, folder: Path) -> None:
        self.model = MODELS[name]
        found = self.model.make(folder / self.model.folder)
        self.served, self.script = Served(found), self.model.script(found)

    def prompt(self, case: Case) -> Prompt:
        text, images, instruction = case
        return self.served.prompt(*images, text, instruction=instruction)

    def off(self, *cases: Case) -> float:
        """Largest difference of any number from the script's, the cases in one batch."""
        got = self.served.vectors([self.prompt(case) for case in cases])
        return float(np.abs(got - np.stack([self.script(*case) for case in cases])).max())


@pytest.fixture(scope="module")
def all_of_them(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Both]:
    return {name: Both(name, tmp_path_factory.mktemp("vlm")) for name in MODELS}


@pytest.fixture(params=MODELS)
def both(request: pytest.FixtureRequest, all_of_them: dict[str, Both]) -> Both:
    return all_of_them[request.param]


@pytest.mark.parametrize(("name", "case"), NAMED, ids=[f"{name}: {case}" for name, case in NAMED])
def test_a_vector_is_the_scripts(all_of_them: dict[str, Both], name: str, case: str) -> None:
    assert all_of_them[name].off(MODELS[name].cases[case]) <= TOLERANCE


def test_a_batch_of_all_cases_gives_what_each_gives_alone(both: Both) -> None:
    assert both.off(*(case for name, case in both.model.cases.items() if "limit" not in name)) <= TOLERANCE
    assert both.served.profile.name == both.model.profile


@pytest.mark.parametrize("name", ["gme", "nomic"])
def test_positions_counted_the_other_way_would_give_another_vector(all_of_them: dict[str, Both], name: str) -> None:
    both, case = all_of_them[name], ("What is this?", [TALL], None)
    ours = both.served.model.backbone
    with both.served.running(pooled_model(StockVlm(ours.stock, ours._patches, counts_plainly=name == "nomic"))):
        assert both.off(case) > 100 * TOLERANCE


def test_what_would_change_nothing_is_refused(both: Both) -> None:
    for case, code in both.model.refused:
        with pytest.raises(InputError) as caught:
            both.prompt(case)
        assert caught.value.code == code


def test_the_known_answer_check_sees_a_packed_forward_that_differs(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = both.served.model.backbone._language.layers
    attention = next(layer.self_attn for layer in layers if hasattr(layer, "self_attn"))
    monkeypatch.setattr(attention, "scaling", attention.scaling * 1.5)
    with pytest.raises(ModelError, match="known-answer check"):
        both.served.check()


def test_images_are_shared_by_the_content_of_their_pixels_and_the_towers_numbers(both: Both) -> None:
    model = both.served.model.backbone
    assert model.tower.feature_width == 64
    assert "mean" in model.tower.config_json
    side = 2 * model.patch_size
    assert model.encode(torch.zeros(2 * side, 3 * side, 3, dtype=torch.uint8)).shape == (6, 64)


def test_chunks_of_a_text_have_the_means_of_their_tokens_beside_an_image(all_of_them: dict[str, Both]) -> None:
    both = all_of_them["jina-v4"]
    chunks, prefix = ["A lighthouse on a cliff.", " It was built in 1822", " and stands above the sea."], "Passage: "
    made = both.served.builder.late_chunks(Conversation(prefix, ()), Truncation(512), ["input"] * len(chunks))
    made.add(chunks)
    (window,) = made.prompts()
    ids, states = both.script.states(prefix + "".join(chunks), [], plain_positions=False)
    assert window.plan.ids == ids.tolist()
    spans = [states[first:stop].mean(0) for first, stop in window.plan.spans]
    want = torch.nn.functional.normalize(torch.stack(spans), dim=1).numpy()
    image, text = both.model.cases["image"], both.model.cases["text"]
    found = both.served.vectors([both.prompt(image), window, both.prompt(text)])
    assert np.abs(found[1:4] - want).max() <= TOLERANCE
    assert np.abs(found[[0, 4]] - np.stack([both.script(*image), both.script(*text)])).max() <= TOLERANCE
    ours = both.served.model.backbone
    with both.served.running(pooled_model(StockVlm(ours.stock, ours._patches), "mean")):  # of the whole prompt
        assert both.off(image) > 100 * TOLERANCE


def test_pixel_limits_and_end_tokens_are_the_files(tmp_path: Path) -> None:
    limits = {"size": {"shortest_edge": 9 * 784, "longest_edge": 40 * 784}}
    folder = qwen2_5_vl(tmp_path / "nomic-as-it-came-out", cenote={"query_end_tokens": 1})
    change_json(folder / "preprocessor_config.json", **limits)
    served, script = Served(folder), BiQwenScript(folder, 9, 40)
    script.QUERY_ENDS = 1
    for images, text in (([SMALL], ""), ([TALL], ""), ([], "a question")):
        got = served.vectors([served.prompt(*images, text)])[0]
        assert np.abs(got - script(text, images, None)).max() <= TOLERANCE
    assert served.prompt(TALL, "").placeholders[0].length <= 40


Variant = Callable[..., Path]


@pytest.fixture(scope="module")
def unnamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen2_vl(tmp_path_factory.mktemp("vlm") / "segment-of-a-model")


@pytest.fixture
def variant(unnamed: Path, tmp_path: Path) -> Variant:
    def made(name: str, **config: object) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        shutil.copyfile(unnamed / "tokenizer.json", folder / "tokenizer.json")
        written = json.loads((unnamed / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(written | config))
        return folder

    return made


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("gme-Qwen2-VL-2B-Instruct", {}, "gme-qwen2-vl"),
        ("models--Alibaba-NLP--gme-Qwen2-VL-2B-Instruct/snapshots/477027a6", {}, "gme-qwen2-vl"),
        ("merged", {"architectures": ["GmeQwen2VL"]}, "gme-qwen2-vl"),
        ("merged", {"auto_map": {"AutoModel": "modeling_gme_qwen2vl.GmeQwen2VL"}}, "gme-qwen2-vl"),
        ("VLM2Vec-V2.0", {}, "vlm2vec"),
        ("merged", {"_name_or_path": "VLM2Vec/VLM2Vec-V2.0"}, "vlm2vec"),
        ("VLM2Vec-V2.0", {"cenote": {"family": "gme_qwen2_vl"}}, "gme-qwen2-vl"),
    ],
)
def test_names_and_the_key_say_which(variant: Variant, name: str, config: dict[str, object], expected: str) -> None:
    assert load_profile(variant(name, **config)).name == expected


def test_what_is_said_by_hand_counts_most(variant: Variant) -> None:
    folder = variant("gme", cenote={"family": "gme_qwen2_vl"})
    assert load_profile(folder, "vlm2vec").name == "vlm2vec"


def test_shorter_vectors_are_offered_where_the_checkpoint_says_so(variant: Variant) -> None:
    assert not load_profile(variant("gme")).offers(32)
    assert load_profile(variant("gme-1", is_matryoshka=True)).offers(32)
    listed = load_profile(variant("gme-2", matryoshka_dimensions=[16, 32]))
    assert [length for length in (8, 16, 32, 48, 64) if listed.offers(length)] == [16, 32, 64]
