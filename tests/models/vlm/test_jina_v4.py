"""jina-embeddings-v4, a merged task, gives the vectors of its own code, on a small checkpoint with window attention."""

from pathlib import Path

import numpy as np
import pytest
import torch

from service.engine.startup.self_check import check_forward
from service.errors import InputError
from service.model.stock.stock_vlm import StockVlm
from service.prompt.conversation import Conversation
from service.prompt.truncation import Truncation
from tests.conftest import TOLERANCE
from tests.models.vlm.checkpoints import qwen2_5_vl
from tests.models.vlm.images import CLEAR, EXACT, LARGE, SLIVER, SMALL, TALL, WIDE
from tests.models.vlm.references import JinaScript
from tests.models.vlm.served import Case, Served

CASES: dict[str, Case] = {
    "text": ("A lighthouse on a cliff above the sea.", [], None),
    "empty text": ("", [], None),
    "passage": ("It was built in 1822.", [], "Passage: "),
    "image": ("", [SMALL], None),
    "wide image, whose windows are cut": ("", [WIDE], None),
    "image of a whole size": ("", [EXACT], None),
    "image over the limit": ("", [LARGE], None),
    "sliver": ("", [SLIVER], None),
    "transparent image": ("", [CLEAR], None),
    "image as a document": ("", [TALL], "Passage: "),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen2_5_vl(tmp_path_factory.mktemp("vlm") / "jina-embeddings-v4-vllm-retrieval")


@pytest.fixture(scope="module")
def served(folder: Path) -> Served:
    return Served(folder)


@pytest.fixture(scope="module")
def script(folder: Path) -> JinaScript:
    return JinaScript(folder)


@pytest.mark.parametrize("name", CASES)
def test_a_vector_is_the_models_own(served: Served, script: JinaScript, name: str) -> None:
    assert served.difference(script, CASES[name]) <= TOLERANCE


def test_a_batch_of_all_cases_gives_what_each_gives_alone(served: Served, script: JinaScript) -> None:
    cases = [case for name, case in CASES.items() if "limit" not in name]
    assert served.difference(script, *cases) <= TOLERANCE


def test_chunks_of_a_text_have_the_means_of_their_tokens_beside_an_image(served: Served, script: JinaScript) -> None:
    chunks, prefix = ["A lighthouse on a cliff.", " It was built in 1822", " and stands above the sea."], "Passage: "
    made = served.builder.late_chunks(Conversation(prefix, ()), Truncation(512), ["input"] * len(chunks))
    made.add(chunks)
    (window,) = made.prompts()
    ids, states = script.states(prefix + "".join(chunks), [], plain_positions=False)
    assert window.plan.ids == ids.tolist()
    spans = [states[first:stop].mean(0) for first, stop in window.plan.spans]
    want = torch.nn.functional.normalize(torch.stack(spans), dim=1).numpy()
    image = CASES["image"]
    found = served.vectors([served.prompt(*image), window, served.prompt(*CASES["text"])])
    assert np.abs(found[1:4] - want).max() <= TOLERANCE
    assert np.abs(found[[0, 4]] - np.stack([script(*image), script(*CASES["text"])])).max() <= TOLERANCE


def test_the_mean_of_the_whole_prompt_would_be_another_vector(served: Served, script: JinaScript) -> None:
    other = StockVlm(served.model.stock, served.model._patches, "mean")
    with served.running(other):
        assert served.difference(script, CASES["image"]) > 100 * TOLERANCE


def test_the_packed_forward_is_the_stock_one(served: Served) -> None:
    check_forward(served.model)


@pytest.mark.parametrize(
    ("case", "code"),
    [
        (("a text", [SMALL], None), "unsupported_modality"),
        (("", [SMALL, WIDE], None), "conflicting_input"),
        (("", [SMALL], "Find the same."), "invalid_request"),
    ],
)
def test_what_would_change_nothing_is_refused(served: Served, case: Case, code: str) -> None:
    with pytest.raises(InputError) as caught:
        served.prompt(*case)
    assert caught.value.code == code
