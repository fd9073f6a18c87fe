"""A checkpoint of texts through the service's own halves, without the socket between them: prompts, then the runner."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from service.engine.execution.runner import ModelRunner
from service.engine.scheduling.waiting import Waiting
from service.engine.startup.self_check import check_forward, known_answers
from service.engine.startup.weight_formats import prepack
from service.ipc.messages import Request
from service.model.architectures import load_model
from service.outputs.ask import Asks
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.profile.profile import MULTI_VECTOR, SPLADE
from service.prompt.prompt import Prompt
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation

Asked = tuple[str | None, str]
"""An instruction, which may be a side of late interaction, and a text."""


class ServedText:
    """One checkpoint, loaded and checked as the engine does it at start."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.profile = folder, load_profile(folder)
        profile, is_multi_vector = self.profile, self.profile.pooling == MULTI_VECTOR
        tokenizer = PromptTokenizer(folder, lower_case=profile.lower_case, markers=profile.markers)
        self.builder = PromptBuilder(profile, tokenizer)
        device = torch.device("cpu")
        self.model: Any = load_model(profile.architecture, folder, device, torch.float32, profile.pooling)  # type: ignore[arg-type]
        answers = known_answers(self.model)
        prepack(self.model, with_decoder=True)
        check_forward(self.model, answers, is_multi_vector=is_multi_vector)
        self.runner = ModelRunner(
            self.model,
            memoryview(b""),
            is_multi_vector=is_multi_vector,
            is_sparse=profile.pooling == SPLADE,
            unused_ids=getattr(self.model, "unused_ids", None),
        )

    def prompts(self, asked: Sequence[Asked]) -> list[Prompt]:
        """Cut at their end where they are too long."""
        cut = Truncation(self.profile.max_tokens, "right")
        return [self.builder.build(Conversation(first, (Turn("user", (text,)),)), cut) for first, text in asked]

    def waiting(self, asked: Sequence[Asked], asks: Sequence[Asks]) -> list[Waiting[torch.Tensor]]:
        """A request for each, as the engine's scheduler has it."""
        return [
            Waiting(
                Request(id=i, plan=one.plan, asks=wanted),
                0.0,
                [],
            )
            for i, (one, wanted) in enumerate(zip(self.prompts(asked), asks, strict=True))
        ]
