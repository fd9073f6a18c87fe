"""The reranker's training batches: queries with eight documents each, and which of them are answers.

A pool, a seed and a step give a `PairBatch` of numpy arrays.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from cenote_builtin.scenes.batches import cell_attributes
from cenote_builtin.scenes.judgments import SYSTEM, render_document, render_query
from cenote_builtin.scenes.questions import Question, ask, tell
from cenote_builtin.training.picture_pool import FAMILY_SIZE, PicturePool

NUM_DOCUMENTS: Final = 8
_NUM_CONFUSED: Final = 1
_TEXT_DOCUMENT: Final = 0.25
_TEXT_TO_PICTURE: Final = 0.8
"""Share of texts among documents of a text, and of a picture."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Difficulty of the pairs.

    Attributes:
        max_objects: of a family's first scene, in the queries' and in all others.
        num_relatives: documents of the query's own family, beside the one that is an answer.
        is_first: only queries in words, about everything or about some objects.
    """

    max_objects: int
    num_relatives: int
    is_first: bool


@dataclass(frozen=True, slots=True)
class PairBatch:
    """One step's worth of data: one row for each query, with all its documents after it."""

    ids: NDArray[np.int64]
    """`[queries, tokens]`."""
    positions: NDArray[np.int64]
    """`[3, queries, tokens]` M-RoPE positions; every document begins where the query ends."""
    parts: NDArray[np.int64]
    """`[queries, tokens]`: 0 for the query, from 1 on for documents, -1 for padding."""
    images: list[int]
    """Pictures of the pool, in the order of their tokens."""
    lasts: NDArray[np.int64]
    """`[queries, NUM_DOCUMENTS]` places of the tokens that are judged."""
    labels: NDArray[np.float32]
    """`[queries, NUM_DOCUMENTS]`, 1 for yes."""
    agreements: NDArray[np.float32]
    """`[pictures, 9]` for the documents that are pictures, in the order of their tokens: `Question.agreements`."""
    asked: NDArray[np.float32]
    """`[pictures, 9, attributes]` what the query says of each cell."""
    says_all: NDArray[np.bool_]
    """`[pictures]` whether it says something of each."""


_Part = tuple[str, int]
"""A part of a prompt and its image in the pool, or -1."""


class PairMaker:
    """Makes batches over one pool."""

    def __init__(self, pool: PicturePool, tokenizer: Tokenizer, seed: int) -> None:
        self.pool, self._tokenizer, self._seed = pool, tokenizer, seed
        self._image_pad = tokenizer.token_to_id("<|image_pad|>")
        self._sizes = np.array([len(scene.objects) for scene in pool.scenes[::FAMILY_SIZE]])

    def batch(self, step: int, num_queries: int, stage: Stage) -> PairBatch:
        """The batch of one step, in pairs as hard as the stage has them."""
        rng = np.random.default_rng([self._seed, 5, step])
        prompts: list[list[_Part]] = []
        labels = []
        lessons: list[tuple[NDArray[np.float32], NDArray[np.float32], bool]] = []
        families = np.flatnonzero(self._sizes <= stage.max_objects)
        for family in rng.choice(families, num_queries):
            subject = int(family) * FAMILY_SIZE + int(rng.integers(FAMILY_SIZE))
            question = ask(self.pool.scenes[subject], rng, simple=stage.is_first)
            others = self._others(families, NUM_DOCUMENTS - 1 - _NUM_CONFUSED - stage.num_relatives, rng)
            candidates = [*self._candidates(subject, question, stage, rng), *others]
            documents = [self._document(question, candidate, rng) for candidate in candidates]
            prompts.append([self._query(question, subject), *documents])
            labels += [question.holds(self.pool.scenes[candidate]) for candidate in candidates]
            attributes, says_all = cell_attributes(question.scene), question.aspect == "whole"
            lessons += [
                (question.agreements(self.pool.scenes[candidate]), attributes, says_all)
                for _, candidate in documents
                if candidate >= 0
            ]
        ids, positions, parts, lasts = self._rows([[text for text, _ in prompt] for prompt in prompts])
        images = [image for prompt in prompts for _, image in prompt if image >= 0]
        right = np.array(labels, np.float32).reshape(num_queries, NUM_DOCUMENTS)
        agreed = [np.stack(column) for column in zip(*lessons, strict=True)]
        return PairBatch(ids, positions, parts, images, lasts, right, *agreed)

    def _candidates(self, subject: int, question: Question, stage: Stage, rng: np.random.Generator) -> list[int]:
        """The scene itself or its twin, others of its family, and wrong candidates of the embedder's."""
        family = subject // FAMILY_SIZE
        place = subject % FAMILY_SIZE
        own = subject if place > 1 else family * FAMILY_SIZE + int(rng.integers(2))
        relatives = family * FAMILY_SIZE + rng.choice(FAMILY_SIZE, stage.num_relatives, replace=False)
        confused = rng.choice(self.pool.confused[question.aspect or "whole"][family], _NUM_CONFUSED, replace=False)
        return [int(one) for one in (own, *relatives, *confused)]

    def _others(self, families: NDArray[np.int64], num: int, rng: np.random.Generator) -> list[int]:
        places = rng.choice(families, num) * FAMILY_SIZE + rng.integers(FAMILY_SIZE, size=num)
        return [int(place) for place in places]

    def _query(self, question: Question, subject: int) -> _Part:
        if question.text is not None:
            return SYSTEM + render_query(question.instruction, question.text), -1
        return SYSTEM + render_query(question.instruction, "", self.pool.side_tokens**2), subject

    def _document(self, question: Question, candidate: int, rng: np.random.Generator) -> _Part:
        share = _TEXT_DOCUMENT if question.text is not None else _TEXT_TO_PICTURE
        if rng.random() < share:
            return render_document(tell(question, self.pool.scenes[candidate], rng)), -1
        return render_document("", self.pool.side_tokens**2), candidate

    def _rows(self, prompts: Sequence[Sequence[str]]) -> tuple[NDArray[np.int64], ...]:
        """Ids, positions, parts and the last places of documents, of prompts in parts."""
        encoded = iter(self._tokenizer.encode_batch([part for prompt in prompts for part in prompt]))
        rows = [[next(encoded).ids for _ in prompt] for prompt in prompts]
        ids = np.zeros((len(rows), max(sum(map(len, row)) for row in rows)), np.int64)
        positions, parts = np.zeros((3, *ids.shape), np.int64), np.full_like(ids, -1)
        lasts = np.zeros((len(rows), NUM_DOCUMENTS), np.int64)
        for index, row in enumerate(rows):
            place = begin = 0
            for number, part in enumerate(row):
                here = slice(place, place + len(part))
                ids[index, here], parts[index, here] = part, number
                positions[:, index, here] = begin + mrope_positions(np.array(part) == self._image_pad)
                place += len(part)
                if number == 0:
                    begin = int(positions[:, index, here].max()) + 1
                else:
                    lasts[index, number - 1] = place - 1
        return ids, positions, parts, lasts


def mrope_positions(seen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """M-RoPE positions `[3, tokens]` of a text with at most one square image; s x s tokens advance the text by s.

    Source: transformers `Qwen3VLModel.get_rope_index`.
    """
    index = np.arange(len(seen))
    if not seen.any():
        return np.broadcast_to(index, (3, len(seen)))
    side, start = math.isqrt(int(seen.sum())), int(seen.argmax())
    inside = index - start
    text = np.where(inside < 0, index, index - side**2 + side)
    axes = (0 * inside, inside // side, inside % side)
    return np.stack([np.where(seen, start + axis, text) for axis in axes])
