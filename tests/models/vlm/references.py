"""The families' own scripts, from the stock modules of transformers and a prompt written as one string.

Nothing of the service is imported here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer
from transformers import AutoModelForImageTextToText, PreTrainedTokenizerFast, Qwen2VLImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

PAD = "<|image_pad|>"
PIXELS_OF_TOKEN = 28 * 28


class Reference:
    """A checkpoint under transformers alone.

    Attributes:
        model: as its script loads it.
        image_token_id: stands for a visual token.
    """

    def __init__(self, folder: Path, min_tokens: int, max_tokens: int) -> None:
        self.model: Any = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.processor = Qwen2VLImageProcessorPil(
            size={"shortest_edge": min_tokens * PIXELS_OF_TOKEN, "longest_edge": max_tokens * PIXELS_OF_TOKEN}
        )
        self.image_token_id = self.model.config.image_token_id

    def patches(self, images: Sequence[Image.Image]) -> tuple[torch.Tensor, torch.Tensor]:
        """Patches and grids of the images by transformers' own processor; scripts convert to RGB before."""
        found = self.processor(images=[image.convert("RGB") for image in images], return_tensors="pt")
        return found["pixel_values"], found["image_grid_thw"]

    def ids(self, text: str, grids: torch.Tensor | None) -> torch.Tensor:
        """The string tokenized in one go, each `<|image_pad|>` as often as its image has visual tokens."""
        before, *others = text.split(PAD)
        counts = [] if grids is None else (grids.prod(-1) // 4).tolist()
        whole = before + "".join(PAD * count + rest for count, rest in zip(counts, others, strict=True))
        return torch.tensor([self._tokenizer.encode(whole).ids])

    def last_state(self, text: str, images: Sequence[Image.Image], *, plain_positions: bool) -> np.ndarray:
        """The normalized last hidden state of a prompt; see `states`."""
        _, states = self.states(text, images, plain_positions=plain_positions)
        return torch.nn.functional.normalize(states[-1], dim=0).numpy()

    @torch.inference_mode()
    def states(
        self, text: str, images: Sequence[Image.Image], *, plain_positions: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The token ids and last hidden states of a prompt.

        Args:
            text: the whole prompt, `<|image_pad|>` once for each image.
            images: in order.
            plain_positions: hand over embeddings alone, as GME's script does; else ids and grids.
        """
        patches, grids = self.patches(images) if images else (None, None)
        ids = self.ids(text, grids)
        states = self._embeds_alone(ids, patches, grids) if plain_positions else self._whole(ids, patches, grids)
        return ids[0], states[0]

    def _embeds_alone(self, ids: torch.Tensor, patches: Any, grids: Any) -> torch.Tensor:
        embeds = self.model.get_input_embeddings()(ids)
        if patches is not None:
            embeds[ids == self.image_token_id] = self.model.model.visual(patches, grid_thw=grids).pooler_output
        decoder = self.model.model.language_model
        states: torch.Tensor = decoder(inputs_embeds=embeds, attention_mask=torch.ones_like(ids)).last_hidden_state
        return states

    def _whole(self, ids: torch.Tensor, patches: Any, grids: Any) -> torch.Tensor:
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if patches is not None:
            types = (ids == self.image_token_id).int()
            inputs |= {"pixel_values": patches, "image_grid_thw": grids, "mm_token_type_ids": types}
        self.model.model.rope_deltas = None
        states: torch.Tensor = self.model.model(**inputs).last_hidden_state
        return states


class GmeScript(Reference):
    """GME-Qwen2-VL's `gme_inference.py`: two resizes, embeddings without positions, the last token.

    Source: Alibaba-NLP/gme-Qwen2-VL-2B-Instruct; mteb's `gme_v_models.py`, which has the limits.
    """

    DEFAULT = "You are a helpful assistant."

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 4, 1280)

    def __call__(self, text: str, images: Sequence[Image.Image], instruction: str | None) -> np.ndarray:
        media = f"<|vision_start|>{PAD}<|vision_end|>" * len(images)
        prompt = (
            f"<|im_start|>system\n{instruction or self.DEFAULT}<|im_end|>\n"
            f"<|im_start|>user\n{media}{text}<|im_end|>\n<|im_start|>assistant\n<|endoftext|>"
        )
        seen = [resized(image.convert("RGB"), 4, 16384) for image in images]
        return self.last_state(prompt, seen, plain_positions=True)


class OpsScript(Reference):
    """Source: OpenSearch-AI/Ops-MM-embedding-v1, `ops_mm_embedding_v1.py`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 256, 1280)

    def __call__(self, text: str, images: Sequence[Image.Image], instruction: str | None) -> np.ndarray:
        media = f"<|vision_start|>{PAD}<|vision_end|>" * len(images)
        prompt = (
            f"<|im_start|>system\n{instruction or GmeScript.DEFAULT}<|im_end|>\n"
            f"<|im_start|>user\n{media}{text}<|im_end|>\n<|im_start|>assistant\n<|endoftext|>"
        )
        return self.last_state(prompt, [resized(image, 256, 1280) for image in images], plain_positions=False)


class BiQwenScript(Reference):
    """colpali-engine's `BiQwen2_5` and its processor: pages and queries, positions by `get_rope_index`.

    Source: illuin-tech/colpali 0.3.11.
    """

    QUERY_ENDS = 10

    def __init__(self, folder: Path, min_tokens: int = 4, max_tokens: int = 1280) -> None:
        super().__init__(folder, min_tokens, max_tokens)

    def __call__(self, text: str, images: Sequence[Image.Image], instruction: str | None) -> np.ndarray:
        if not images:
            query = (instruction or "Query: ") + text + "<|endoftext|>" * self.QUERY_ENDS
            return self.last_state(query, [], plain_positions=False)
        media = f"<|vision_start|>{PAD}<|vision_end|>" * len(images)
        words = (instruction or "") + text or "Describe the image."
        page = f"<|im_start|>user\n{media}{words}<|im_end|><|endoftext|>"
        return self.last_state(page, images, plain_positions=False)


class JinaScript(Reference):
    """jina-embeddings-v4's single vector: the mean over the vision span of an image, over all tokens of a text.

    Source: jinaai/jina-embeddings-v4, `get_single_vector_embeddings`.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 4, 768)

    def __call__(self, text: str, images: Sequence[Image.Image], prefix: str | None) -> np.ndarray:
        if not images:
            _, states = self.states((prefix or "Query: ") + text, [], plain_positions=False)
            return torch.nn.functional.normalize(states.mean(0), dim=0).numpy()
        page = f"<|im_start|>user\n<|vision_start|>{PAD}<|vision_end|>Describe the image.<|im_end|>\n"
        ids, states = self.states(page, images, plain_positions=False)
        config, places = self.model.config, torch.arange(len(ids))
        start = places[ids == config.vision_start_token_id]
        end = places[ids == config.vision_end_token_id]
        is_pooled = ((places >= start) & (places <= end)).float()[:, None]
        return torch.nn.functional.normalize((states * is_pooled).sum(0) / is_pooled.sum(), dim=0).numpy()


class Vlm2VecScript(Reference):
    """VLM2Vec-V2's `process_input_text`, with the positions of a prompt that has no `<|vision_start|>`.

    Source: TIGER-AI-Lab/VLM2Vec at 8787568, `src/model`.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 4, 1280)

    def __call__(self, text: str, images: Sequence[Image.Image], instruction: str | None) -> np.ndarray:
        prompt = " ".join(part for part in (*[PAD] * len(images), instruction, text) if part)
        return self.last_state(prompt, images, plain_positions=True)


class WemmScript(Reference):
    """WeMM-Embedding's card: its chat template, qwen-vl-utils and transformers; the last token.

    Source: tencent/WeMM-Embedding-2B; qwen-vl-utils 0.0.14, `to_rgb` and `fetch_image` with patches of 16.
    """

    def __init__(self, folder: Path) -> None:
        self.model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
        self.writer: Any = PreTrainedTokenizerFast.from_pretrained(folder)  # AutoTokenizer of 5.24 makes it anew
        self._tokenizer = self.writer.backend_tokenizer
        self.processor = Qwen2VLImageProcessorPil.from_pretrained(folder)
        self.image_token_id = self.model.config.image_token_id

    def patches(self, images: Sequence[Image.Image]) -> tuple[torch.Tensor, torch.Tensor]:
        return super().patches([resized(on_white(image), 4, 16384, factor=32) for image in images])

    def write(self, *parts: str | Image.Image) -> str:
        """The prompt of parts in this order."""
        content = [{"type": "text", "text": one} if isinstance(one, str) else {"type": "image"} for one in parts]
        messages = [{"role": "user", "content": content}]
        template = self.writer.get_chat_template("sentence_transformers")
        written: str = self.writer.apply_chat_template(messages, chat_template=template, tokenize=False)
        return written

    def of(self, *parts: str | Image.Image) -> np.ndarray:
        """The vector of parts in this order."""
        images = [one for one in parts if isinstance(one, Image.Image)]
        return self.last_state(self.write(*parts), images, plain_positions=False)

    def __call__(self, text: str, images: Sequence[Image.Image], instruction: str | None) -> np.ndarray:
        return self.of(*images, text)


def on_white(image: Image.Image) -> Image.Image:
    """As qwen-vl-utils has transparent images."""
    if image.mode != "RGBA":
        return image.convert("RGB")
    ground = Image.new("RGB", image.size, (255, 255, 255))
    ground.paste(image, mask=image.split()[3])
    return ground


def resized(image: Image.Image, min_tokens: int, max_tokens: int, factor: int = 28) -> Image.Image:
    """A script's own resize before the processor's, as `qwen_vl_utils` had it: sides are multiples of the factor."""
    area = factor * factor
    height, width = smart_resize(image.height, image.width, factor, min_tokens * area, max_tokens * area)
    return image.resize((width, height))
