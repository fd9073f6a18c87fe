"""Two frames of a video through the vision tower and the placeholder check: as the stock tower has them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import Qwen3VLModel

from service.engine.runner import ModelRunner
from service.engine.scheduler import Waiting
from service.ipc.messages import Media, OutputSpec, PixelSlot, Request
from service.model.load import load_stock
from service.model.patchify import MERGE, PATCH, patchify_pair
from service.model.qwen3_vl import Qwen3VLEmbedding
from service.model.vision import VisionTower

CHECKPOINT = Path(__file__).parents[2] / "golden/oracle/checkpoint"
TOLERANCE = 1e-5
OUTPUT = OutputSpec(dimensions=128)


@pytest.fixture(scope="module")
def model() -> Qwen3VLModel:
    return load_stock(Qwen3VLModel, CHECKPOINT, torch.device("cpu"), torch.float32)


def drawn(height: int, width: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (2, height, width, 3), dtype=torch.uint8, generator=generator)


@torch.inference_mode()
def stock(model: Qwen3VLModel, frames: torch.Tensor) -> torch.Tensor:
    """The stock tower on patches whose two temporal halves are the two frames."""
    _, height, width, _ = frames.shape
    patches = patchify_pair(*frames)
    grid_thw = torch.tensor([[1, height // PATCH, width // PATCH]])
    out = model.visual(patches.to(model.dtype), grid_thw=grid_thw, return_dict=True)
    return torch.cat([out.pooler_output, *out.deepstack_features], dim=-1)


@pytest.mark.parametrize(("height", "width"), [(32, 32), (96, 640), (352, 416)])
def test_a_pair_has_the_stock_towers_features(model: Qwen3VLModel, height: int, width: int) -> None:
    frames = drawn(height, width)
    features = VisionTower(model).encode(frames)
    want = stock(model, frames)
    assert features.shape == (height * width // (PATCH * MERGE) ** 2, want.shape[1])
    assert (features - want).abs().max() / want.abs().max() < TOLERANCE


def test_a_picture_twice_is_the_picture_and_the_order_of_frames_counts(model: Qwen3VLModel) -> None:
    tower, frames = VisionTower(model), drawn(64, 96)
    still = tower.encode(frames[0])
    twice = tower.encode(torch.stack([frames[0], frames[0]]))
    torch.testing.assert_close(twice, still, atol=TOLERANCE, rtol=0)
    assert (tower.encode(frames) - tower.encode(frames.flip(0))).abs().max() > 0.01


def test_a_slot_of_two_frames_is_encoded_as_a_pair(model: Qwen3VLModel) -> None:
    frames = drawn(64, 96)
    one = frames[0].numel()
    runner = ModelRunner(Qwen3VLEmbedding(model), memoryview(frames.numpy().tobytes()))
    pair, still = (runner.encode(PixelSlot(0, num_bytes), (1, 4, 6)) for num_bytes in (2 * one, one))
    assert torch.equal(pair, VisionTower(model).encode(frames))
    assert torch.equal(still, VisionTower(model).encode(frames[0]))


@pytest.mark.parametrize(
    ("num_frames", "pad", "offset", "is_sound"),
    [
        (1, "image", 2, True),
        (2, "video", 2, True),
        (1, "video", 2, False),
        (2, "image", 2, False),
        (2, "video", 3, False),
    ],
)
def test_placeholders_are_those_of_their_kind(
    model: Qwen3VLModel, num_frames: int, pad: str, offset: int, is_sound: bool
) -> None:
    """Either pad alone could be told by counting; a picture's features in a video's place could not."""
    runner = ModelRunner(Qwen3VLEmbedding(model), memoryview(b""))
    pad_id = {"image": model.config.image_token_id, "video": model.config.video_token_id}[pad]
    token_ids = [1, 2, pad_id, pad_id, 3, 4]
    media = Media(key=b"", grid_thw=(1, 2, 4), offset=offset, num_tokens=2, num_frames=num_frames)
    request = Request(id=0, token_ids=token_ids, media=(media,), output=OUTPUT)
    batch = [Waiting(request, 0.0, [torch.zeros(2, 384)])]
    if is_sound:
        assert np.isfinite(runner.embed(batch).numpy()).all()
        return
    with pytest.raises(RuntimeError, match="media tokens and media disagree"):
        runner.embed(batch)


def test_a_pad_of_either_kind_without_media_is_refused(model: Qwen3VLModel) -> None:
    runner = ModelRunner(Qwen3VLEmbedding(model), memoryview(b""))
    for pad_id in (model.config.image_token_id, model.config.video_token_id):
        request = Request(id=0, token_ids=[1, pad_id, 2], output=OUTPUT)
        with pytest.raises(RuntimeError, match="media tokens and media disagree"):
            runner.embed([Waiting(request, 0.0, [])])
