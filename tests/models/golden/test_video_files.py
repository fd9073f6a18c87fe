"""Video files over HTTP against an independent computation: all frames decoded in a row, sampled, resized by torch,
rendered and tokenized as one string, and run through the stock model's own video forward.

The official embedder has no frozen vectors of files: its decoders are others. What it does with frames stands in
docs/notes/qwen3-vl-embedding.md.
"""

from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import Qwen3VLModel

from service.model.load import load_stock
from service.model.qwen3_vl.qwen3_vl import PATCH, patchify
from tests.conftest import CHECKPOINT, TOLERANCE, LiveServer, text_part
from tests.video_file import decoded, video, video_part

pytestmark = pytest.mark.slow

FACTOR, MIN_PIXELS, MAX_PIXELS, TOTAL_PIXELS = 32, 131_072, 786_432, 7_864_320
INSTRUCTION = "Represent the user's input."


@pytest.fixture(scope="module")
def stock() -> Qwen3VLModel:
    return load_stock(Qwen3VLModel, CHECKPOINT, torch.device("cpu"), torch.float32)


def smart_size(height: int, width: int, most: float) -> tuple[int, int]:
    """qwen-vl-utils' `smart_resize`, written again."""
    rows, columns = (max(1, round(side / FACTOR)) for side in (height, width))
    if rows * columns * FACTOR**2 > most:
        scale = (height * width / most) ** 0.5
        rows, columns = (int(side / scale // FACTOR) for side in (height, width))
    elif rows * columns * FACTOR**2 < MIN_PIXELS:
        scale = (MIN_PIXELS / (height * width)) ** 0.5
        rows, columns = (int(-(-side * scale // FACTOR)) for side in (height, width))
    return rows * FACTOR, columns * FACTOR


def seen(frames: list[np.ndarray]) -> torch.Tensor:
    """Frames as torchvision resizes them, uint8 [n, height, width, 3]."""
    most = max(min(MAX_PIXELS, TOTAL_PIXELS / len(frames) * 2), int(MIN_PIXELS * 1.05))
    size = smart_size(*frames[0].shape[:2], most)
    stacked = torch.from_numpy(np.stack(frames)).permute(0, 3, 1, 2).contiguous().float()
    resized = torch.nn.functional.interpolate(stacked, size=size, mode="bicubic", antialias=True, align_corners=False)
    return resized.clamp(0, 255).round().byte().permute(0, 2, 3, 1)


@torch.inference_mode()
def wanted(stock: Qwen3VLModel, frames: list[np.ndarray], numbers: list[int], fps: float, text: str) -> np.ndarray:
    """The vector of these frames of a file, by the stock model."""
    taken = seen([frames[i] for i in numbers])
    height, width = taken.shape[1] // PATCH, taken.shape[2] // PATCH
    stills = [patchify(frame).view(height * width, 3, 2, PATCH * PATCH)[:, :, 0] for frame in taken]
    patches = [torch.stack(pair, dim=2).flatten(1) for pair in zip(stills[::2], stills[1::2], strict=True)]
    pads = "<|video_pad|>" * (height * width // 4)
    times = [(a + b) / 2 / fps for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
    media = "".join(f"<{time:.1f} seconds><|vision_start|>{pads}<|vision_end|>" for time in times)
    prompt = (
        f"<|im_start|>system\n{INSTRUCTION}<|im_end|>\n<|im_start|>user\n{media}{text}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    ids = torch.tensor([Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json")).encode(prompt).ids])
    stock.rope_deltas = None
    out = stock(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        pixel_values_videos=torch.cat(patches),
        video_grid_thw=torch.tensor([[len(patches), height, width]]),
        mm_token_type_ids=(ids == stock.config.video_token_id).int() * 2,
        use_cache=False,
    )
    return torch.nn.functional.normalize(out.last_hidden_state[0, -1], dim=0).numpy()


CASES: list[tuple[str, dict[str, Any], dict[str, Any], list[int]]] = [
    ("ten seconds", {"num_frames": 250}, {}, [round(i * 249 / 9) for i in range(10)]),
    ("one second is four frames", {"num_frames": 25}, {}, [0, 8, 16, 24]),
    ("twice a second", {"num_frames": 50}, {"fps": 4.0}, [0, 7, 14, 21, 28, 35, 42, 49]),
    ("two frames", {"num_frames": 50}, {"max_frames": 2}, [0, 49]),
    ("a large one", {"num_frames": 8, "size": (720, 1280)}, {"max_frames": 4}, [0, 2, 5, 7]),
    ("WebM", {"num_frames": 25, "codec": "libvpx-vp9", "container": "webm"}, {}, [0, 8, 16, 24]),
]


@pytest.mark.parametrize(("name", "made", "asked", "numbers"), CASES, ids=[case[0] for case in CASES])
def test_a_file_has_the_vector_of_its_frames(
    server: LiveServer,
    stock: Qwen3VLModel,
    name: str,
    made: dict[str, Any],
    asked: dict[str, Any],
    numbers: list[int],
) -> None:
    container = made.get("container", "mp4")
    encoded = video(**made)
    body = {"inputs": [{"content": [video_part(encoded, container, **asked), text_part(name)]}]}
    want = wanted(stock, decoded(encoded, container), numbers, 25.0, name)
    assert np.abs(server.vectors(body)[0] - want).max() <= TOLERANCE


def test_strict_reference_gives_files_the_references_own_pixels(start_server, stock: Qwen3VLModel) -> None:
    """Sixteen frames may have 786,432 pixels each there, and half of that where they share a budget."""
    strict = start_server("--model", str(CHECKPOINT), "--strict-reference").wait_until_ready()
    body = {"inputs": [{"content": [video_part(video(32, size=(512, 768)), fps=25.0, max_frames=32)]}]}
    assert strict.http.post("/v1/embeddings", json=body).json()["usage"]["image_tokens"] == 16 * 512 * 768 // 1024
    strict.stop()
