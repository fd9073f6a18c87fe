"""M-RoPE positions by hand and against transformers' own."""

import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from service.model.positions import mrope_positions
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation
from tests.builders import image_file


@pytest.mark.parametrize(
    ("num_tokens", "placeholders"),
    [
        (5, [(2, (1, 4, 4))]),
        (20, [(4, (1, 4, 4)), (7, (1, 4, 4))]),
        (20, [(8, (1, 4, 4)), (0, (1, 4, 4))]),
        (20, [(-1, (1, 4, 4))]),
        (20, [(0, (2, 4, 4))]),
        (20, [(0, (1, 3, 4))]),
        (20, [(0, (1, 0, 4))]),
    ],
)
def test_images_that_do_not_fit_are_a_fault_of_ours(
    num_tokens: int, placeholders: list[tuple[int, tuple[int, int, int]]]
) -> None:
    with pytest.raises(ValueError, match=r"does not fit|is not one frame"):
        mrope_positions(num_tokens, placeholders)


CHECKPOINT = Path(__file__).parents[3] / "models/golden/oracle/checkpoint"


def test_positions_equal_transformers_own() -> None:
    builder = PromptBuilder(load_profile(CHECKPOINT), PromptTokenizer(CHECKPOINT))
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.from_pretrained(CHECKPOINT)
    with torch.device("meta"):
        model = transformers.Qwen3VLModel(config)
    source = random.Random(9)
    for num_images in (0, 1, 1, 2, 3, 5):
        sizes = [(source.randint(20, 700), source.randint(20, 700)) for _ in range(num_images)]
        images = tuple(image_file(Image.new("RGB", size)) for size in sizes)
        text = "some words " * source.randint(0, 9)
        prompt = builder.build(Conversation(None, (Turn("user", (*images, text)),)), Truncation(8192))
        token_ids = torch.tensor([prompt.plan.ids])
        grids = torch.tensor([p.grid_thw for p in prompt.placeholders]) if images else None
        kinds = (token_ids == 8134).int()
        expected, _ = model.get_rope_index(token_ids, kinds, image_grid_thw=grids)
        placeholders = [(p.offset, p.grid_thw) for p in prompt.placeholders]
        positions = mrope_positions(len(prompt.plan.ids), placeholders)
        assert np.array_equal(positions[1:], expected[:, 0].numpy())
        assert np.array_equal(positions[0], np.arange(len(prompt.plan.ids)))
