"""Checkpoints of the families, made once; the real front half and the real engine half on each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from cenote_kernels import finish
from service.engine.execution.runner import ModelRunner
from service.engine.scheduling.waiting import Waiting
from service.engine.startup.weight_formats import prepack
from service.ipc.messages import Request
from service.model.architectures import load_model
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.profile.profile import Profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Side, Truncation
from tests.models.text.checkpoints import make_checkpoint, reference


@dataclass(frozen=True)
class Served:
    """A checkpoint through the service's own halves, without the socket between them, and its reference."""

    folder: Path
    profile: Profile
    tokenizer: PromptTokenizer
    builder: PromptBuilder
    runner: ModelRunner
    reference: SentenceTransformer

    def token_ids(self, text: str, instruction: str | None = None, side: Side | None = None) -> list[int]:
        truncation = Truncation(self.profile.max_tokens, side)
        prompt = self.builder.build(Conversation(instruction, (Turn("user", (text,)),)), truncation)
        for among_others in self.builder.plain_texts.build([text, text], Conversation(instruction, ()), truncation):
            assert among_others in (None, prompt)
        return prompt.plan.ids

    def vectors(
        self,
        texts: Sequence[str],
        instruction: str | None = None,
        side: Side | None = None,
        dimensions: int | None = None,
    ) -> np.ndarray:
        """All texts in one packed batch."""
        length = dimensions or self.profile.dimensions
        output = DenseAsk(dimensions=length, normalize=self.profile.normalize)
        ids = (self.token_ids(text, instruction, side) for text in texts)
        requests = [Request(id=i, plan=TokenPlan(one), asks=(output,)) for i, one in enumerate(ids)]
        raw = self.runner.embed([Waiting(request, 0.0, []) for request in requests])
        rows = finish(raw, [output] * len(requests))
        assert all(row is not None for row in rows)
        return np.stack([np.frombuffer(row["float32"], np.float32) for row in rows if row is not None])


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Served]:
    """The checkpoint of a family, served; made when it is first asked for."""
    made: dict[str, Served] = {}

    def served(name: str) -> Served:
        if name not in made:
            made[name] = serve(make_checkpoint(name, tmp_path_factory.mktemp(name) / "checkpoint"))
        return made[name]

    return served


def serve(folder: Path) -> Served:
    profile = load_profile(folder)
    tokenizer = PromptTokenizer(folder, lower_case=profile.lower_case)
    model = load_model(profile.architecture, folder, torch.device("cpu"), torch.float32, profile.pooling)
    prepack(model, with_decoder=True)
    runner = ModelRunner(model, memoryview(b""))
    return Served(folder, profile, tokenizer, PromptBuilder(profile, tokenizer), runner, reference(folder))
