"""The checkpoint under transformers' stock forward: images or texts in, raw pooled vectors out.

It is slow and simple on purpose, one call of `Qwen3VLModel.forward` per batch with nothing reused, because the score
card and tests compare other code with it.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from tokenizers import Tokenizer
from torch.nn.utils.rnn import pad_sequence
from transformers import Qwen3VLModel

from cenote_builtin.architecture import MAX_PIXELS
from cenote_builtin.scenes import instructions
from cenote_builtin.scenes.batches import TOKEN_PIXELS
from cenote_builtin.scenes.instructions import render
from service.model.qwen3_vl.qwen3_vl import patchify

_IMAGES_PER_CALL: Final = 20
_TEXTS_PER_CALL: Final = 50

_Item = TypeVar("_Item")


def batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    """The items in order, `size` at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def shrunk(image: Image.Image) -> Image.Image:
    """The image at the size at which the service encodes it: at most `MAX_PIXELS`, by Pillow's bicubic filter."""
    if image.width * image.height <= MAX_PIXELS:
        return image
    side = math.isqrt(MAX_PIXELS) // TOKEN_PIXELS * TOKEN_PIXELS
    return image.resize((side, side), Image.Resampling.BICUBIC)


class Reference:
    """A loaded checkpoint, in float32."""

    def __init__(self, checkpoint: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        self.model = Qwen3VLModel.from_pretrained(checkpoint, dtype=torch.float32).train(mode=False)

    def embed_texts(self, texts: Sequence[str], instruction: str = instructions.DEFAULT) -> NDArray[np.float32]:
        """Raw vectors `[texts, hidden]` of the last token."""
        parts = [
            self.last_states([render(instruction, text) for text in part]) for part in batches(texts, _TEXTS_PER_CALL)
        ]
        return np.concatenate(parts)

    def embed_images(self, images: Sequence[Image.Image], instruction: str) -> NDArray[np.float32]:
        """Raw vectors `[images, hidden]`; images are square, with sides of multiples of 32 once they are shrunk."""
        parts = []
        for part in batches([shrunk(image) for image in images], _IMAGES_PER_CALL):
            prompts = [render(instruction, num_image_tokens=p.width * p.height // TOKEN_PIXELS**2) for p in part]
            parts.append(self.last_states(prompts, part))
        return np.concatenate(parts)

    @torch.inference_mode()
    def last_states(self, prompts: Sequence[str], images: Sequence[Image.Image] = ()) -> NDArray[np.float32]:
        """Hidden states `[prompts, hidden]` of the last token; the images in the order of their placeholders."""
        ids = [torch.tensor(encoding.ids) for encoding in self.tokenizer.encode_batch(list(prompts))]
        input_ids = pad_sequence(ids, batch_first=True)
        attention_mask = pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
        visual = {}
        if images:
            patches = [patchify(torch.tensor(np.asarray(image.convert("RGB")))) for image in images]
            visual = {
                "pixel_values": torch.cat(patches),
                "image_grid_thw": torch.tensor([[1, image.height // 16, image.width // 16] for image in images]),
                "mm_token_type_ids": (input_ids == self.model.config.image_token_id).int(),
            }
        hidden = self.model(input_ids, attention_mask=attention_mask, use_cache=False, **visual).last_hidden_state
        last = attention_mask.sum(dim=1) - 1
        vectors: NDArray[np.float32] = hidden[torch.arange(len(hidden)), last].numpy()
        return vectors
