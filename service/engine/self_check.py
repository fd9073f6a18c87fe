"""Known-answer check at start: our packed forward against the stock one, on the weights just loaded."""

from collections.abc import Sequence

import numpy as np
import torch
from transformers import Qwen3VLModel

from service.engine.runner import ModelRunner
from service.engine.scheduler import Waiting
from service.errors import ModelError
from service.ipc.messages import Media, OutputSpec, PixelSlot, Request
from service.model.patchify import patchify

MIN_COSINE = {torch.float32: 0.999999, torch.bfloat16: 0.99, torch.float16: 0.99}
HEIGHT, WIDTH = 64, 96
GRID_THW = (1, 4, 6)
NUM_VISUAL_TOKENS = 6


def check_forward(model: Qwen3VLModel, pooling: str) -> None:
    """Embed a picture and two texts packed together and the first alone, and each through `Qwen3VLModel.forward`.

    Nothing is shared between the two but the weights: the stock side computes its own positions, scatter, masks and
    layers. Two of the three begin alike, so that both ways of the decoder are run: with a common beginning, and
    without. The picture lies in a buffer of its own, never in the arena: the front may hold decoded pictures there.

    Raises:
        ModelError: the vectors differ by more than the dtype explains.
    """
    image = _gradient()
    runner = ModelRunner(model, memoryview(image.tobytes()), pooling)
    requests = _probes(model, runner.hidden, image.size)
    features = runner.encode(PixelSlot(0, image.size), GRID_THW)
    stock = [_stock_vector(model, request.token_ids, image if request.media else None) for request in requests]
    waiting = [Waiting(request, 0.0, [features] * len(request.media)) for request in requests]
    ours = torch.cat([runner.embed(waiting), runner.embed(waiting[:1])])
    rows = runner.finish(ours, [*requests, requests[0]])
    for row, want in zip(rows, [*stock, stock[0]], strict=True):
        if row is None:
            raise ModelError("non_finite_embedding", "the known-answer check gave a vector that is not finite")
        cosine = float(np.frombuffer(row["float32"], np.float32) @ want)
        least = MIN_COSINE[model.dtype]
        if not cosine >= least:
            raise ModelError(
                "internal_error", f"the known-answer check gave cosine {cosine:.7f}, at least {least} is due"
            )


def _gradient() -> np.ndarray:
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return np.stack([2 * x, 3 * y, x + y], axis=-1).astype(np.uint8)


def _probes(model: Qwen3VLModel, hidden: int, num_bytes: int) -> Sequence[Request]:
    config = model.config
    words, others = list(range(40, 52)), list(range(60, 70))
    picture = [config.vision_start_token_id, *[config.image_token_id] * NUM_VISUAL_TOKENS, config.vision_end_token_id]
    media = Media(
        key=b"", grid_thw=GRID_THW, offset=len(words) + 1, num_tokens=NUM_VISUAL_TOKENS, slot=PixelSlot(0, num_bytes)
    )
    output = OutputSpec(dimensions=hidden)
    return [
        Request(id=0, token_ids=[*words, *picture, *words], media=(media,), output=output),
        Request(id=1, token_ids=[*words, *others[:6]], output=output),
        Request(id=2, token_ids=others, output=output),
    ]


@torch.inference_mode()
def _stock_vector(model: Qwen3VLModel, token_ids: list[int], image: np.ndarray | None) -> np.ndarray:
    try:
        ids = torch.tensor([token_ids], device=model.device)
        inputs: dict[str, torch.Tensor] = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if image is not None:
            inputs["pixel_values"] = patchify(torch.from_numpy(image)).to(model.device, model.dtype)
            inputs["image_grid_thw"] = torch.tensor([GRID_THW], device=model.device)
            inputs["mm_token_type_ids"] = (ids == model.config.image_token_id).int()
        last = model(**inputs, use_cache=False).last_hidden_state[0, -1].float()
        return torch.nn.functional.normalize(last, dim=0).cpu().numpy()
    finally:
        model.rope_deltas = None
