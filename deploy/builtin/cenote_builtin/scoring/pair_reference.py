"""The reranker's checkpoint under transformers' stock forward: pairs of query and document in, logits out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from cenote_builtin.scenes.batches import TOKEN_PIXELS
from cenote_builtin.scenes.judgments import SYSTEM, render_document, render_query
from cenote_builtin.scoring.reference import Reference, batches, shrunk

_PAIRS_PER_CALL: Final = 20

Side: TypeAlias = str | Image.Image


class Pair(NamedTuple):
    """The input of one logit; no instruction is the default one."""

    query: Side
    document: Side
    instruction: str | None = None


def _told(side: Side) -> tuple[str, int]:
    """Its text, and the visual tokens of its image."""
    return (side, 0) if isinstance(side, str) else ("", side.width * side.height // TOKEN_PIXELS**2)


class PairReference:
    """A loaded reranker, in float32."""

    def __init__(self, checkpoint: Path) -> None:
        self._reference = Reference(checkpoint)
        tokenizer = self._reference.tokenizer
        embeddings = self._reference.model.get_input_embeddings()
        assert isinstance(embeddings, torch.nn.Embedding)
        rows = embeddings.weight
        yes, no = (rows[tokenizer.token_to_id(word)] for word in ("yes", "no"))
        self._row: NDArray[np.float32] = (yes - no).detach().numpy()

    def logits(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """``(head[yes] - head[no]) · hidden`` of the last token, `[pairs]`."""
        parts = []
        for some in batches(pairs, _PAIRS_PER_CALL):
            sides = [tuple(s if isinstance(s, str) else shrunk(s) for s in pair[:2]) for pair in some]
            prompts = [
                SYSTEM + render_query(pair.instruction, *_told(query)) + render_document(*_told(document))
                for pair, (query, document) in zip(some, sides, strict=True)
            ]
            images = [side for both in sides for side in both if not isinstance(side, str)]
            parts.append(self.judge(prompts, images))
        return np.concatenate(parts)

    def judge(self, prompts: Sequence[str], images: Sequence[Image.Image]) -> NDArray[np.float32]:
        """Of whole prompts, with the images in the order of their placeholders."""
        logits: NDArray[np.float32] = self._reference.last_states(prompts, images) @ self._row
        return logits
