"""Checkpoints of the families, made once; the real front half and the real engine half on each, and the reference."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoModel, AutoTokenizer

from service.engine.execution.runner import ModelRunner
from service.engine.scheduling.waiting import Waiting
from service.ipc.messages import Media, PixelSlot, Request
from service.media.image.decode import load_pixels
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.read_options import ImageReadOptions
from service.model.architectures import load_model
from service.model.embedding_model import EmbeddingModel
from service.outputs.dense import DenseAsk
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.profile.profile import Profile
from service.prompt.prompt import Prompt
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Side, Truncation
from tests.models.two_tower.checkpoints import RECIPES, Recipe, make_checkpoint


@dataclass(frozen=True)
class Reference:
    """transformers alone: its tokenizer, its image processor, its `get_*_features`."""

    recipe: Recipe
    tokenizer: Any
    processor: Any
    model: Any

    @torch.inference_mode()
    def texts(self, texts: Sequence[str]) -> np.ndarray:
        length = self.model.config.text_config.max_position_embeddings
        most = min(length, self.tokenizer.model_max_length)
        inputs = self.tokenizer(
            list(texts), padding=self.recipe.padding, truncation=True, max_length=most, return_tensors="pt"
        )
        if self.recipe.padding == "max_length":
            inputs = {"input_ids": inputs["input_ids"]}
        return _unit(self.model.get_text_features(**inputs).pooler_output)

    @torch.inference_mode()
    def images(self, encoded: Sequence[bytes]) -> np.ndarray:
        images = [Image.open(io.BytesIO(one)) for one in encoded]
        return _unit(self.model.get_image_features(**self.processor(images, return_tensors="pt")).pooler_output)


@dataclass(frozen=True)
class Served:
    """A checkpoint through the service's own halves, without the socket between them, and its reference."""

    folder: Path
    profile: Profile
    tokenizer: PromptTokenizer
    builder: PromptBuilder
    model: EmbeddingModel
    reference: Reference

    def text(self, text: str, side: Side | None = None) -> Prompt:
        conversation = Conversation(None, (Turn("user", (text,)),))
        return self.builder.build(conversation, Truncation(self.profile.max_tokens, side))

    def image(self, encoded: bytes) -> Prompt:
        assert self.profile.images is not None
        options = ImageReadOptions(self.profile.images.background)
        item = open_image(encoded, DecodeLimits(), self.profile.images.pixel_rule, options=options)
        return self.builder.build(Conversation(None, (Turn("user", (item,)),)), Truncation(self.profile.max_tokens))

    def vectors(self, prompts: Sequence[Prompt]) -> np.ndarray:
        """All prompts in one batch."""
        items: list[Any] = [place.item for prompt in prompts for place in prompt.placeholders]
        pixels = [load_pixels(item).tobytes() for item in items]
        runner = ModelRunner(self.model, memoryview(b"".join(pixels)))
        waiting, start, lengths = [], 0, iter(map(len, pixels))
        for i, prompt in enumerate(prompts):
            media = []
            for place in prompt.placeholders:
                slot = PixelSlot(start, next(lengths))
                start += slot.num_bytes
                media.append(Media(key=b"", grid_thw=place.grid_thw, offset=place.offset, num_tokens=1, slot=slot))
            output = DenseAsk(dimensions=self.profile.dimensions)
            request = Request(id=i, plan=prompt.plan, media=tuple(media), asks=(output,))
            features = [runner.encode(one, one.slot) for one in media if one.slot]
            waiting.append(Waiting(request, 0.0, features))
        rows = runner.finish(runner.embed(waiting), [one.request for one in waiting])
        assert all(row is not None for row in rows)
        return np.stack([np.frombuffer(row["float32"], np.float32) for row in rows if row is not None])


@pytest.fixture(scope="session")
def two_towers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Served]:
    """The checkpoint of a family, served; made when it is first asked for."""
    made: dict[str, Served] = {}

    def two_towers(name: str) -> Served:
        if name not in made:
            made[name] = serve(name, make_checkpoint(name, tmp_path_factory.mktemp(name) / "checkpoint"))
        return made[name]

    return two_towers


def serve(name: str, folder: Path) -> Served:
    profile, recipe = load_profile(folder), RECIPES[name]
    tokenizer = PromptTokenizer(folder, lower_case=profile.lower_case)
    model = load_model(profile.architecture, folder, torch.device("cpu"), torch.float32, profile.pooling)
    reference = Reference(
        recipe,
        AutoTokenizer.from_pretrained(folder),
        recipe.processor.from_pretrained(folder),
        AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval(),
    )
    return Served(folder, profile, tokenizer, PromptBuilder(profile, tokenizer), model, reference)


def _unit(vectors: torch.Tensor) -> np.ndarray:
    unit: np.ndarray = (vectors / vectors.norm(dim=-1, keepdim=True)).numpy()
    return unit
