"""nomic-embed-multimodal (BiQwen2.5) gives colpali-engine's vectors, on a small checkpoint with window attention."""

import json
from pathlib import Path

import pytest

from service.engine.startup.self_check import check_forward
from service.errors import InputError
from service.model.stock.stock_vlm import StockVlm
from service.prompt.conversation import Conversation, Turn
from service.prompt.truncation import Truncation
from tests.conftest import TOLERANCE
from tests.models.vlm.checkpoints import qwen2_5_vl
from tests.models.vlm.images import CLEAR, EXACT, LARGE, SLIVER, SMALL, TALL, WIDE
from tests.models.vlm.references import BiQwenScript
from tests.models.vlm.served import Case, Served

CASES: dict[str, Case] = {
    "query": ("What is the organizational structure of the department?", [], None),
    "empty query": ("", [], None),
    "query that begins with a newline": ("\nwhat", [], None),
    "query under an instruction": ("a red circle", [], "Question: "),
    "page": ("", [SMALL], None),
    "wide page, whose windows are cut": ("", [WIDE], None),
    "page of a whole size": ("", [EXACT], None),
    "page over the limit": ("", [LARGE], None),
    "page and text": ("The second page of a report.", [TALL], None),
    "page under an instruction": ("", [SMALL], "Describe the colors."),
    "page and text under an instruction": ("of a report", [TALL], "Describe the page "),
    "sliver of a page": ("", [SLIVER], None),
    "transparent page": ("", [CLEAR], None),
    "two pages": ("", [SMALL, WIDE], None),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen2_5_vl(tmp_path_factory.mktemp("vlm") / "nomic-embed-multimodal-small")


@pytest.fixture(scope="module")
def served(folder: Path) -> Served:
    return Served(folder)


@pytest.fixture(scope="module")
def script(folder: Path) -> BiQwenScript:
    return BiQwenScript(folder)


@pytest.mark.parametrize("name", CASES)
def test_a_vector_is_the_engines(served: Served, script: BiQwenScript, name: str) -> None:
    assert served.difference(script, CASES[name]) <= TOLERANCE


def test_a_batch_of_all_cases_gives_what_each_gives_alone(served: Served, script: BiQwenScript) -> None:
    cases = [case for name, case in CASES.items() if "limit" not in name]
    assert served.difference(script, *cases) <= TOLERANCE


def test_positions_that_do_not_see_the_image_would_give_another_vector(served: Served, script: BiQwenScript) -> None:
    other = StockVlm(served.model.stock, served.model._patches, counts_plainly=True)
    with served.running(other):
        assert served.difference(script, CASES["page"]) > 100 * TOLERANCE


def test_the_packed_forward_is_the_stock_one(served: Served) -> None:
    check_forward(served.model)


def test_pixel_limits_are_the_processors(folder: Path, tmp_path: Path) -> None:
    limits = {"size": {"shortest_edge": 9 * 784, "longest_edge": 40 * 784}}
    copy = qwen2_5_vl(tmp_path / "nomic-with-a-processor")
    (copy / "preprocessor_config.json").write_text(json.dumps(limits))
    served, script = Served(copy), BiQwenScript(copy, 9, 40)
    for images in ([SMALL], [TALL]):
        assert served.difference(script, ("", images, None)) <= TOLERANCE
    assert served.prompt("", [TALL]).placeholders[0].length <= 40


def test_a_checkpoint_may_ask_for_one_end_token(tmp_path: Path) -> None:
    folder = qwen2_5_vl(tmp_path / "nomic-as-it-came-out", cenote={"query_end_tokens": 1})
    script = BiQwenScript(folder)
    script.QUERY_ENDS = 1
    served = Served(folder)
    assert served.difference(script, ("a question", [], None)) <= TOLERANCE


def test_a_conversation_of_two_turns_is_refused(served: Served) -> None:
    turns = (Turn("user", ("one",)), Turn("assistant", ("two",)))
    with pytest.raises(InputError, match="2 turns") as caught:
        served.builder.build(Conversation(None, turns), Truncation(100), param="messages", index=3)
    assert (caught.value.param, caught.value.index) == ("messages", 3)
