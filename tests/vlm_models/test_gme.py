"""GME-Qwen2-VL gives the vectors of its own script, on a small checkpoint of the same architecture.

Source: `gme_inference.py` of the released checkpoints: prompt, two resizes, embeddings without positions, last token.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.conftest import TOLERANCE
from tests.vlm_models.checkpoints import qwen2_vl
from tests.vlm_models.pictures import EXACT, LARGE, SMALL, TALL, WIDE
from tests.vlm_models.references import Reference, resized
from tests.vlm_models.served import Served

DEFAULT = "You are a helpful assistant."
CASES = {
    "text": ("A lighthouse on a cliff above the sea.", [], None),
    "empty text": ("", [], None),
    "text of a newline": ("\nfirst line\n\n second", [], None),
    "text that other scripts have": ("Ein Leuchtturm über dem Meer, 灯台 и маяк.", [], None),
    "text under an instruction": ("a red circle", [], "Find an image that matches the given text"),
    "image": ("", [SMALL], None),
    "wide image": ("", [WIDE], None),
    "image of a whole size": ("", [EXACT], None),
    "image over the limit": ("", [LARGE], None),
    "image and text": ("What is above the square?", [TALL], None),
    "image and text under an instruction": ("the colors", [SMALL], "Represent the picture."),
    "two images": ("", [SMALL, WIDE], None),
    "two images and text": ("Which is wider?", [WIDE, TALL], None),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen2_vl(tmp_path_factory.mktemp("vlm") / "gme-Qwen2-VL-small")


@pytest.fixture(scope="module")
def served(folder: Path) -> Served:
    return Served(folder)


@pytest.fixture(scope="module")
def reference(folder: Path) -> Reference:
    return Reference(folder, 4, 1280)


def script(reference: Reference, text: str, pictures: Sequence[Image.Image], instruction: str | None) -> np.ndarray:
    media = "<|vision_start|><|image_pad|><|vision_end|>" * len(pictures)
    prompt = (
        f"<|im_start|>system\n{instruction or DEFAULT}<|im_end|>\n<|im_start|>user\n{media}{text}<|im_end|>\n"
        "<|im_start|>assistant\n<|endoftext|>"
    )
    seen = [resized(picture.convert("RGB"), 4, 16384) for picture in pictures]
    return reference.last_state(prompt, seen, plain_positions=True)


@pytest.mark.parametrize("name", CASES)
def test_a_vector_is_the_scripts(served: Served, reference: Reference, name: str) -> None:
    text, pictures, instruction = CASES[name]
    want = script(reference, text, pictures, instruction)
    got = served.vectors([served.prompt(text, pictures, instruction)])[0]
    print(name, np.abs(got - want).max())
    assert np.abs(got - want).max() <= TOLERANCE


def test_a_batch_of_all_cases_gives_what_each_gives_alone(served: Served, reference: Reference) -> None:
    cases = [case for name, case in CASES.items() if "limit" not in name]
    got = served.vectors([served.prompt(*case) for case in cases])
    want = np.stack([script(reference, *case) for case in cases])
    print("batch", np.abs(got - want).max())
    assert np.abs(got - want).max() <= TOLERANCE
