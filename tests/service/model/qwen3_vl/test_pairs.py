"""Two frames of a video through the vision tower and the placeholder check: as the stock tower has them."""

from collections.abc import Sequence
from typing import cast

import pytest
import torch
from transformers import Qwen3VLModel

from service.engine.execution.runner import ModelRunner
from service.engine.scheduling.waiting import Waiting
from service.ipc.messages import Media, PixelSlot, Request
from service.media.item import MediaKind
from service.model.architectures import pooled_model
from service.model.qwen3_vl.qwen3_vl import MERGE, PATCH, Qwen3VL, patchify_pair
from service.model.qwen3_vl.vision import VisionTower
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from tests.service.model.qwen3_vl.conftest import stock_features

TOLERANCE = 1e-5
OUTPUT = DenseAsk(dimensions=128)


def drawn(height: int, width: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (2, height, width, 3), dtype=torch.uint8, generator=generator)


@pytest.mark.parametrize(("height", "width"), [(32, 32), (96, 640), (352, 416)])
def test_a_pair_has_the_stock_towers_features(model: Qwen3VLModel, height: int, width: int) -> None:
    frames = drawn(height, width)
    features = VisionTower(model).encode(frames)
    want = stock_features(model, patchify_pair(*frames), height, width)
    assert features.shape == (height * width // (PATCH * MERGE) ** 2, want.shape[1])
    assert (features - want).abs().max() / want.abs().max() < TOLERANCE


def test_an_image_twice_is_the_image_and_the_order_of_frames_counts(model: Qwen3VLModel) -> None:
    tower, frames = VisionTower(model), drawn(64, 96)
    still = tower.encode(frames[0])
    twice = tower.encode(torch.stack([frames[0], frames[0]]))
    torch.testing.assert_close(twice, still, atol=TOLERANCE, rtol=0)
    assert (tower.encode(frames) - tower.encode(frames.flip(0))).abs().max() > 0.01


def test_a_slot_of_two_frames_is_encoded_as_a_pair(model: Qwen3VLModel) -> None:
    frames = drawn(64, 96)
    one = frames[0].numel()
    runner = ModelRunner(pooled_model(Qwen3VL(model)), memoryview(frames.numpy().tobytes()))
    pair, still = (
        runner.encode(Media(key=b"", grid_thw=(1, 4, 6), offset=0, num_tokens=6, kind=kind), PixelSlot(0, num_bytes))
        for kind, num_bytes in cast(Sequence[tuple[MediaKind, int]], [("video", 2 * one), ("image", one)])
    )
    assert torch.equal(pair, VisionTower(model).encode(frames))
    assert torch.equal(still, VisionTower(model).encode(frames[0]))


@pytest.mark.parametrize(
    ("kind", "pad", "offset", "fits"),
    [
        ("image", "image", 2, True),
        ("video", "video", 2, True),
        ("image", "video", 2, False),
        ("video", "image", 2, False),
        ("video", "video", 3, False),
    ],
)
def test_placeholders_are_those_of_their_kind(
    model: Qwen3VLModel, kind: MediaKind, pad: str, offset: int, fits: bool
) -> None:
    """Either pad alone could be told by counting; an image's features in a video's place could not."""
    runner = ModelRunner(pooled_model(Qwen3VL(model)), memoryview(b""))
    pad_id = {"image": model.config.image_token_id, "video": model.config.video_token_id}[pad]
    token_ids = [1, 2, pad_id, pad_id, 3, 4]
    media = Media(key=b"", grid_thw=(1, 2, 4), offset=offset, num_tokens=2, kind=kind)
    request = Request(id=0, plan=TokenPlan(token_ids), media=(media,), asks=(OUTPUT,))
    batch = [Waiting(request, 0.0, [torch.zeros(2, 384)])]
    if fits:
        assert runner.embed(batch)["dense"].rows.isfinite().all()
        return
    with pytest.raises(RuntimeError, match="media tokens and media disagree"):
        runner.embed(batch)


def test_a_pad_of_either_kind_without_media_is_refused(model: Qwen3VLModel) -> None:
    runner = ModelRunner(pooled_model(Qwen3VL(model)), memoryview(b""))
    for pad_id in (model.config.image_token_id, model.config.video_token_id):
        request = Request(id=0, plan=TokenPlan([1, pad_id, 2]), asks=(OUTPUT,))
        with pytest.raises(RuntimeError, match="media tokens and media disagree"):
            runner.embed([Waiting(request, 0.0, [])])
