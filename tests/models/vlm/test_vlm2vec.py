"""VLM2Vec-V2, merged, gives the vectors of its own code, on a small checkpoint of the same architecture."""

from pathlib import Path

import numpy as np
import pytest

from service.engine.startup.self_check import check_forward
from service.errors import InputError
from tests.conftest import TOLERANCE
from tests.models.vlm.checkpoints import qwen2_vl
from tests.models.vlm.images import CLEAR, EXACT, LARGE, SMALL, TALL, WIDE
from tests.models.vlm.references import Vlm2VecScript
from tests.models.vlm.served import Case, Served

QUESTION = "Represent the given image with the following question:"
CASES: dict[str, Case] = {
    "text": ("A cat and a dog", [], None),
    "text of blanks at its ends": ("  two  ", [], None),
    "text under an instruction": ("a red circle", [], "Find me an everyday image that matches the given caption:"),
    "image under an instruction": ("", [SMALL], "Represent the given image."),
    "image and text under an instruction": ("What is in the image", [WIDE], QUESTION),
    "image and text": ("What is in the image", [EXACT], None),
    "image over the limit": ("", [LARGE], "Represent the given image."),
    "transparent image": ("", [CLEAR], "Represent the given image."),
    "two images": ("Which is taller?", [SMALL, TALL], "Represent both:"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen2_vl(tmp_path_factory.mktemp("vlm") / "VLM2Vec-V2.0")


@pytest.fixture(scope="module")
def served(folder: Path) -> Served:
    return Served(folder)


@pytest.fixture(scope="module")
def script(folder: Path) -> Vlm2VecScript:
    return Vlm2VecScript(folder)


@pytest.mark.parametrize("name", CASES)
def test_a_vector_is_the_scripts(served: Served, script: Vlm2VecScript, name: str) -> None:
    assert served.difference(script, CASES[name]) <= TOLERANCE


def test_a_batch_of_all_cases_gives_what_each_gives_alone(served: Served, script: Vlm2VecScript) -> None:
    cases = [case for name, case in CASES.items() if "limit" not in name]
    assert served.difference(script, *cases) <= TOLERANCE


def test_an_image_without_words_has_the_instruction_of_candidates(served: Served, script: Vlm2VecScript) -> None:
    got = served.vectors([served.prompt("", [SMALL])])[0]
    assert np.abs(got - script("", [SMALL], "Represent the given image.")).max() <= TOLERANCE


def test_the_packed_forward_is_the_stock_one(served: Served) -> None:
    check_forward(served.model)


def test_a_prompt_without_a_token_is_refused(served: Served) -> None:
    with pytest.raises(InputError, match="0 tokens") as caught:
        served.prompt("")
    assert caught.value.code == "empty_input"
