"""Ops-MM-embedding-v1 gives the vectors of its own script, on a small checkpoint of the same architecture."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.conftest import TOLERANCE
from tests.models.vlm.checkpoints import qwen2_vl
from tests.models.vlm.images import LARGE, SMALL, TALL, WIDE
from tests.models.vlm.references import PAD, Reference, resized
from tests.models.vlm.served import Case, Served

CASES: dict[str, Case] = {
    "text": ("A lighthouse on a cliff above the sea.", [], None),
    "text under an instruction": ("a red circle", [], "Find an image that matches the given text"),
    "image": ("", [SMALL], None),
    "image over the limit": ("", [LARGE], None),
    "image and text under an instruction": ("the colors", [TALL], "Represent the image."),
    "two images": ("Which is wider?", [SMALL, WIDE], None),
}


class OpsScript(Reference):
    """Source: OpenSearch-AI/Ops-MM-embedding-v1, `ops_mm_embedding_v1.py`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 256, 1280)

    def __call__(self, text: str, images: Sequence[Image.Image], instruction: str | None) -> np.ndarray:
        media = f"<|vision_start|>{PAD}<|vision_end|>" * len(images)
        prompt = (
            f"<|im_start|>system\n{instruction or 'You are a helpful assistant.'}<|im_end|>\n"
            f"<|im_start|>user\n{media}{text}<|im_end|>\n<|im_start|>assistant\n<|endoftext|>"
        )
        seen = [resized(image, 256, 1280) for image in images]
        return self.last_state(prompt, seen, plain_positions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen2_vl(tmp_path_factory.mktemp("vlm") / "Ops-MM-embedding-v1-small")


def test_vectors_are_the_scripts_alone_and_in_one_batch(folder: Path) -> None:
    served, script = Served(folder), OpsScript(folder)
    assert served.profile.name == "ops-mm-embedding"
    assert max(served.difference(script, case) for case in CASES.values()) <= TOLERANCE
    assert served.difference(script, *CASES.values()) <= TOLERANCE
