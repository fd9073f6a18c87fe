"""Runs the model: media to features, packed requests to raw vectors, raw vectors to bytes.

Knows the `EmbeddingModel` protocol and no family. `engine.load` binds the model: `load_model` in
`model/architectures.py` chooses the class by the profile's architecture, and its `embed` runs the forward and pools.
"""

import gc
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate, pairwise
from math import isfinite

import numpy as np
import torch
from torch.nn.functional import normalize

from cenote_kernels import finish
from service.checkpoint.int8_range import Int8Range
from service.engine.execution.hybrid_rows import hybrid_rows
from service.engine.execution.image_numbers import ImageNumbers
from service.engine.execution.sparse_vectors import dense_weights, sparse_rows
from service.engine.execution.token_pooling import pool_tokens
from service.engine.scheduling.waiting import Waiting
from service.errors import ModelError
from service.ipc.messages import Media, PixelSlot, Request
from service.media.audio.samples import samples_of
from service.media.item import FRAMES_OF_PAIR, TensorDtype
from service.model.embedding_model import EmbeddingModel
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.prefix_cache import PrefixCache
from service.outputs.ask import OutputAsk, needs
from service.outputs.block import Rows
from service.outputs.dense import DenseAsk
from service.outputs.score import LOGIT
from service.outputs.sparse import SPARSE
from service.outputs.tokens import TokensAsk

DTYPES: dict[TensorDtype, torch.dtype] = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
"""Number formats of features on their way in and out."""

SHORT_TOKENS = 128
"""Texts up to here have their positions kept by length, in some hundred kilobytes in all."""

NO_PAD = -1
"""Where a prompt has no placeholder."""


class ModelRunner:
    """Features and vectors from one model on one device.

    Attributes:
        hidden: numbers of a full vector.
        device: where it runs.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        pixels: memoryview,
        int8_ranges: Mapping[int, Int8Range] | None = None,
        *,
        is_multi_vector: bool = False,
        is_sparse: bool = False,
        unused_ids: frozenset[int] | None = None,
        prefixes: PrefixCache | None = None,
    ) -> None:
        """Run `model`.

        Args:
            is_multi_vector: it gives a vector for each token and not one for each prompt.
            is_sparse: its vector is weights of the vocabulary's entries.
            unused_ids: of a model that has heads for tokens, those without a place in sparse vectors.
            prefixes: the beginnings that the model keeps; its counts are read.
        """
        self._model = model
        self._is_multi_vector = is_multi_vector
        self._is_sparse = is_sparse
        self._unused_ids = unused_ids
        self._pixels = pixels
        self._prefixes = prefixes
        self._num_reused = 0
        self.hidden = model.hidden_size
        self.device = model.device
        self._pads = frozenset(model.placeholder_ids.values())
        self._text_positions = cache(lambda num_tokens: model.positions(num_tokens, ()))
        self._ranges = {
            dimensions: (self._tensor(found.minimum), self._tensor(found.maximum))
            for dimensions, found in (int8_ranges or {}).items()
        }

    def encode(self, media: Media, slot: PixelSlot) -> torch.Tensor:
        """Features of media, `[num_tokens, hidden · (1 + deepstack)]` in the model's dtype.

        Args:
            media: an image, a pair of frames, an audio file, or features that came instead of pixels.
            slot: its bytes in the arena.

        Raises:
            ModelError: a feature is not finite; cached, it would fail every later request for the same media.
        """
        view = self._pixels[slot.start : slot.start + slot.num_bytes]
        if media.dtype is not None:
            raw = torch.from_numpy(np.frombuffer(view, np.uint8).copy())  # the slot is released before these are used
            features = raw.view(DTYPES[media.dtype]).reshape(media.num_tokens, -1).to(self.device, self._model.dtype)
        elif media.kind == "audio":
            features = self._model.encode(torch.from_numpy(samples_of(view).copy()))
        else:
            _, rows, columns = media.grid_thw
            frames = (FRAMES_OF_PAIR,) if media.kind == "video" else ()
            shape = (*frames, rows * self._model.patch_size, columns * self._model.patch_size, 3)
            features = self._model.encode(torch.from_numpy(np.frombuffer(view, np.uint8).reshape(shape).copy()))
        if not bool(features.isfinite().all()):
            raise ModelError("non_finite_embedding", "features are not finite in the model's number format")
        return features

    def write_features(self, features: torch.Tensor, dtype: TensorDtype) -> bytes | None:
        """Features as bytes of a number format; None where a number has no finite value in it."""
        cast = features.to(DTYPES[dtype])
        return cast.cpu().contiguous().view(torch.uint8).numpy().tobytes() if bool(cast.isfinite().all()) else None

    def check_alive(self) -> None:
        """Raise when the device is lost: after such an error every further call fails, and only a new process helps."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def free_memory(self) -> None:
        """Give back what is kept for later allocations; a batch has just failed for want of memory."""
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def embed(self, batch: Sequence[Waiting[torch.Tensor]]) -> torch.Tensor:
        """Raw vectors of the prompts of a batch, `[total_vectors, hidden]`, float32, on the device.

        One behind the other, as many for each as `num_vectors` says; one number wider where tokens are wanted beside a
        dense vector.
        """
        requests = [waiting.request for waiting in batch]
        token_ids: list[int] = []
        positions: list[np.ndarray] = []
        visual_index: list[np.ndarray] = []
        features: list[torch.Tensor] = []
        numbering = ImageNumbers()
        for waiting, request in zip(batch, requests, strict=True):
            for media, feature in zip(request.media, waiting.features, strict=True):
                # Checked per image and not per batch: sums can agree while one request reads another's features.
                if feature is None or feature.shape[0] != media.num_tokens:
                    raise RuntimeError(
                        f"request {request.id}: features do not match their placeholders. This is a bug."
                    )
                start = len(token_ids) + media.offset
                visual_index.append(np.arange(start, start + media.num_tokens))
                features.append(feature)
                numbering.add(media, feature)
            self._check_placeholders(request)
            positions.append(self._positions(request))
            token_ids += request.plan.ids
        index = np.concatenate(visual_index) if visual_index else np.zeros(0, np.int64)
        packed = PackedBatch(
            token_ids=torch.from_numpy(np.fromiter(token_ids, np.int64)),  # torch's own takes nine times as long
            position_ids=torch.from_numpy(np.concatenate(positions, axis=1)),
            segment_lengths=[len(request.plan.ids) for request in requests],
            visual_index=torch.from_numpy(index),
            features=torch.cat(features) if features else None,
            tenants=[request.tenant for request in requests],
            visual_numbers=numbering.all(),
            plans=[request.plan for request in requests],
            asks=[request.asks for request in requests],
        )
        return self._given(self._model.embed(packed), batch)

    def _positions(self, request: Request) -> np.ndarray:
        """A prompt's positions; those of a short text follow from its length, and are made once."""
        num_tokens = len(request.plan.ids)
        if not request.media and num_tokens <= SHORT_TOKENS:
            return self._text_positions(num_tokens)
        return self._model.positions(num_tokens, [(media.offset, media.grid_thw) for media in request.media])

    def _given(self, raw: torch.Tensor, batch: Sequence[Waiting[torch.Tensor]]) -> torch.Tensor:
        """The vectors of the tokens that have one, out of those of all tokens."""
        if not any(waiting.request.plan.skipped for waiting in batch):
            return raw
        is_given = np.ones(len(raw), bool)
        start = 0
        for waiting in batch:
            is_given[start + np.array(waiting.request.plan.skipped, np.int64)] = False
            start += len(waiting.request.plan.ids)
        return raw[torch.from_numpy(is_given).to(raw.device)]

    def take_num_reused(self) -> int:
        """Tokens that did not have to be computed since the last call, for their beginnings were kept."""
        if self._prefixes is None:
            return 0
        before, self._num_reused = self._num_reused, self._prefixes.num_reused
        return self._num_reused - before

    def num_vectors(self, request: Request) -> int:
        """How many raw vectors a request's prompt has: one, one for each span, or for each token that is given."""
        if self._is_multi_vector or self._wants_tokens(request):
            return len(request.plan.ids) - len(request.plan.skipped)
        return len(request.plan.spans) or 1

    def num_rows(self, request: Request, ask: OutputAsk) -> int:
        """How many vectors one of its outputs has. A hybrid model gives none of the first token."""
        if isinstance(ask, TokensAsk):
            return self.num_vectors(request) - (self._unused_ids is not None)
        return len(request.plan.spans) or 1

    def _wants_tokens(self, request: Request) -> bool:
        return self._unused_ids is not None and needs(request.asks) == "all"

    def repeat(self, raw: torch.Tensor, requests: Sequence[Request], times: Sequence[int]) -> torch.Tensor:
        """The vectors of each request so many times, one behind the other."""
        parts = torch.split(raw, [self.num_vectors(request) for request in requests])
        return torch.cat([part for part, number in zip(parts, times, strict=True) for _ in range(number)])

    def finish(self, raw: torch.Tensor, requests: Sequence[Request]) -> Sequence[Rows | None]:
        """One row per request in each wanted number format, as bytes; None where the vector is not valid.

        `raw` is `[total_vectors, hidden]`, from `embed`, `repeat` or `kept`.
        """
        if self._is_sparse:
            return [None if row is None else {SPARSE: row} for row in sparse_rows(raw)]
        counts = [self.num_vectors(one) for one in requests]
        if self._unused_ids is not None:
            return hybrid_rows(raw.to(self.device), requests, counts, self.hidden, self._unused_ids, self._ranges)
        if self._is_multi_vector:
            raw, num_vectors = self._token_pooled(raw, requests)
            tokens = [ask for request in requests for ask in request.asks if isinstance(ask, TokensAsk)]  # one each
            found = finish(raw.to(self.device), tokens, num_vectors=num_vectors, ranges=self._ranges)
            return [row and {TokensAsk.row + dtype: one for dtype, one in row.items()} for row in found]
        asks = [ask if isinstance(ask, DenseAsk) else LOGIT for request in requests for ask in request.asks]
        if len(raw) == len(requests):
            return finish(raw.to(self.device), asks, ranges=self._ranges)
        asks = [ask for ask, count in zip(asks, counts, strict=True) for _ in range(count)]
        return _joined(finish(raw.to(self.device), asks, ranges=self._ranges), counts)

    def _token_pooled(self, raw: torch.Tensor, requests: Sequence[Request]) -> tuple[torch.Tensor, list[int]]:
        """The vectors of documents whose tokens are pooled, in place of their tokens', and how many each has."""
        parts = list(torch.split(raw, [self.num_vectors(one) for one in requests]))
        for place, request in enumerate(requests):
            (ask,), part = request.asks, parts[place]
            if isinstance(ask, TokensAsk) and ask.pool_factor > 1 and bool(part.isfinite().all()):
                parts[place] = pool_tokens(normalize(part) if ask.normalize else part, ask.pool_factor)
        return torch.cat(parts), [len(part) for part in parts]

    def to_keep(self, raw: torch.Tensor, requests: Sequence[Request]) -> list[bytes | None]:
        """Raw vectors as the result cache has them; None for one that is not finite, or has no direction.

        None too where each token of a prompt has one. Of a model that scores, the vector is one number, and zero is a
        score.
        """
        if self._is_sparse:
            return sparse_rows(raw)
        if any(self._wants_tokens(one) for one in requests):
            parts = torch.split(raw[:, : self.hidden], [self.num_vectors(one) for one in requests])
            return [
                None if self._wants_tokens(one) else self.to_keep(part.contiguous(), [one])[0]
                for one, part in zip(requests, parts, strict=True)
            ]
        norms = torch.linalg.vector_norm(raw, dim=-1).tolist()  # in Python from here: each of torch's calls costs more
        is_valid = [isfinite(norm) and (norm > 0 or self.hidden == 1) for norm in norms]
        bounds = pairwise([0, *accumulate(self.num_vectors(one) for one in requests)])
        rows = raw.cpu().numpy()
        return [rows[start:stop].tobytes() if all(is_valid[start:stop]) else None for start, stop in bounds]

    def kept(self, vectors: Sequence[bytes]) -> torch.Tensor:
        """What `to_keep` gave as `finish` takes it."""
        if self._is_sparse:
            return dense_weights(vectors, self.hidden)
        return torch.frombuffer(bytearray().join(vectors), dtype=torch.float32).view(-1, self.hidden)

    def _tensor(self, values: Sequence[float]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self.device)

    def _check_placeholders(self, request: Request) -> None:
        """Check media against placeholders once more, before the tokens of several requests stand together.

        Source: docs/notes/security.md.
        """
        if not request.media:  # a hundredth of what the arrays below cost a short text
            if not self._pads.isdisjoint(request.plan.ids):
                raise RuntimeError(f"request {request.id}: media tokens and media disagree. This is a bug.")
            return
        token_ids = np.asarray(request.plan.ids)
        expected = np.full(len(token_ids), NO_PAD)
        for media in request.media:
            expected[media.offset : media.offset + media.num_tokens] = self._model.placeholder_ids[media.kind]
        num_visual = sum(media.num_tokens for media in request.media)
        pads = np.where(np.isin(token_ids, list(self._pads)), token_ids, NO_PAD)
        if (expected != NO_PAD).sum() != num_visual or not np.array_equal(expected, pads):
            raise RuntimeError(f"request {request.id}: media tokens and media disagree. This is a bug.")


def _joined(rows: Sequence[Rows | None], counts: Sequence[int]) -> list[Rows | None]:
    """Rows of vectors as rows of requests that have so many each; None where one of them is not valid."""
    answers: list[Rows | None] = []
    for start, stop in pairwise([0, *accumulate(counts)]):
        valid = [row for row in rows[start:stop] if row is not None]
        whole = {name: b"".join(row[name] for row in valid) for name in valid[0]} if valid else None
        answers.append(whole if len(valid) == stop - start else None)
    return answers
