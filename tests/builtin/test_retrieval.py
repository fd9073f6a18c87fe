"""The stored weights do what the model is for; a small, fast part of the score card."""

import numpy as np
import pytest

from cenote_builtin.scenes import instructions
from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.scenes import ASPECTS, Aspect, Scene, draw, meaning, sample_scene
from cenote_builtin.scoring.reference import Reference
from cenote_builtin.scoring.score import hits
from service.checkpoint.hub import CHECKPOINT

NUM_SCENES = 50
FLOOR = {256: 0.85, 64: 0.8}


@pytest.fixture(scope="module")
def reference() -> Reference:
    return Reference(CHECKPOINT)


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    rng = np.random.default_rng(2027)
    return [sample_scene(rng, held_out=True) for _ in range(NUM_SCENES)]


@pytest.mark.parametrize("aspect", ASPECTS)
def test_an_image_finds_a_caption_that_means_the_same(
    reference: Reference, scenes: list[Scene], aspect: Aspect
) -> None:
    rng = np.random.default_rng(11)
    keys = [meaning(scene, aspect) for scene in scenes]
    images = reference.embed_images([draw(scene, 128) for scene in scenes], instructions.CANONICAL[aspect])
    captions = reference.embed_texts([caption(scene, aspect, rng) for scene in scenes])
    for length, floor in FLOOR.items():
        assert hits(images, captions, keys, length).mean() >= floor


def test_the_instruction_moves_the_same_image(reference: Reference, scenes: list[Scene]) -> None:
    images = [draw(scene, 128) for scene in scenes]
    colors, shapes = (reference.embed_images(images, instructions.CANONICAL[a]) for a in ("colors", "shapes"))
    cosines = (colors * shapes).sum(axis=1) / np.linalg.norm(colors, axis=1) / np.linalg.norm(shapes, axis=1)
    assert cosines.mean() < 0.5


def test_training_and_stock_forward_give_the_same_vectors(reference: Reference) -> None:
    import torch

    from cenote_builtin.scenes.batches import bucketed
    from cenote_builtin.scenes.instructions import render
    from cenote_builtin.training.towers import encode_images, read, read_heads

    rng = np.random.default_rng(12)
    images = [draw(sample_scene(rng, held_out=True), 96) for _ in range(3)]
    instruction = instructions.CANONICAL["positions"]
    prompts = [render(instruction, num_image_tokens=9)] * 3 + [render(instruction, "red and blue")]
    head_ids, rows = bucketed(reference.tokenizer, prompts, [0, 1, 2, -1])
    with torch.inference_mode():
        features = encode_images(reference.model, np.stack([np.asarray(image) for image in images]))
        heads = read_heads(reference.model, head_ids)
        fast = [read(reference.model, part, heads, features, reference.model.config.image_token_id) for part in rows]
    stock = np.concatenate(
        [reference.embed_images(images, instruction), reference.embed_texts(["red and blue"], instruction)]
    )
    np.testing.assert_allclose(torch.cat(fast).numpy(), stock, atol=2e-5)
