"""Runs the model: media to features, packed requests to raw rows, raw rows to bytes.

Knows neither families nor kinds of output: `load_model` (`model/architectures.py`) makes a model of a backbone and its
heads, `Model.embed` runs both, and each head finishes its rows.
"""

import gc
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import torch

from service.checkpoint.int8_range import Int8Range
from service.engine.execution.image_numbers import ImageNumbers
from service.engine.scheduling.waiting import Waiting
from service.errors import ModelError
from service.ipc.messages import Media, PixelSlot, Request
from service.media.audio.samples import samples_of
from service.media.item import FRAMES_OF_PAIR, TensorDtype
from service.model.heads.head import HeadRows
from service.model.model import Found, Model
from service.model.packed.packed_batch import PackedBatch, VisualTokens
from service.model.packed.prefix_cache import PrefixCache
from service.outputs.ask import OutputAsk
from service.outputs.block import Rows

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
        device: where it runs.
    """

    def __init__(
        self,
        model: Model,
        pixels: memoryview,
        int8_ranges: Mapping[int, Int8Range] | None = None,
        *,
        prefixes: PrefixCache | None = None,
    ) -> None:
        """Run `model`; the counts of `prefixes`, the beginnings that it keeps, are read."""
        self._model = model
        self._backbone = model.backbone
        self._pixels = pixels
        self._prefixes = prefixes
        self._num_reused = 0
        self.device = model.backbone.device
        self._pads = frozenset(model.backbone.placeholder_ids.values())
        self._text_positions = cache(lambda num_tokens: model.backbone.positions(num_tokens, ()))
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
            features = raw.view(DTYPES[media.dtype]).reshape(media.num_tokens, -1).to(self.device, self._backbone.dtype)
        elif media.kind == "audio":
            features = self._backbone.encode(torch.from_numpy(samples_of(view).copy()))
        else:
            _, rows, columns = media.grid_thw
            frames = (FRAMES_OF_PAIR,) if media.kind == "video" else ()
            shape = (*frames, rows * self._backbone.patch_size, columns * self._backbone.patch_size, 3)
            features = self._backbone.encode(torch.from_numpy(np.frombuffer(view, np.uint8).reshape(shape).copy()))
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

    def embed(self, batch: Sequence[Waiting[torch.Tensor]]) -> Found:
        """Raw rows of the prompts of a batch, of each kind that a request for them asks for."""
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
        visual = None
        if features:
            index = torch.from_numpy(np.concatenate(visual_index))
            visual = VisualTokens(index, torch.cat(features), numbering.all())
        packed = PackedBatch(
            token_ids=torch.from_numpy(np.fromiter(token_ids, np.int64)),  # torch's own takes nine times as long
            position_ids=torch.from_numpy(np.concatenate(positions, axis=1)),
            segment_lengths=[len(request.plan.ids) for request in requests],
            visual=visual,
            plans=[request.plan for request in requests],
            tenants=[request.tenant for request in requests],
        )
        return self._model.embed(packed, [waiting.kinds for waiting in batch])

    def _positions(self, request: Request) -> np.ndarray:
        """A prompt's positions; those of a short text follow from its length, and are made once."""
        num_tokens = len(request.plan.ids)
        if not request.media and num_tokens <= SHORT_TOKENS:
            return self._text_positions(num_tokens)
        return self._backbone.positions(num_tokens, [(media.offset, media.grid_thw) for media in request.media])

    def take_num_reused(self) -> int:
        """Tokens that did not have to be computed since the last call, for their beginnings were kept."""
        if self._prefixes is None:
            return 0
        before, self._num_reused = self._num_reused, self._prefixes.num_reused
        return self._num_reused - before

    def num_rows(self, request: Request, ask: OutputAsk) -> int:
        """Number of vectors of one of a request's outputs."""
        return self._model.heads[ask.kind].num_rows(request.plan)

    def of(self, found: Found, prompts: Sequence[int]) -> Found:
        """The rows of some of the prompts of a batch; the same may come several times."""
        return {kind: rows.of(prompts) for kind, rows in found.items()}

    def finish(self, found: Found, requests: Sequence[Request]) -> Sequence[Rows | None]:
        """Return each request's rows, as bytes by the names of its asks' rows; None where one of them is not valid.

        `found` is from `embed`, `of` or `kept`.
        """
        if len(found) == 1:  # then every request has one ask
            ((kind, rows),) = found.items()
            return self._finish(kind, rows, requests)
        answers: list[Rows | None] = [{} for _ in requests]
        for kind, rows in found.items():
            asking = [place for place, one in enumerate(requests) if any(ask.kind == kind for ask in one.asks)]
            if asking:
                made = self._finish(kind, rows.of(asking), [requests[place] for place in asking])
                for place, row in zip(asking, made, strict=True):
                    before = answers[place]
                    answers[place] = None if row is None or before is None else {**before, **row}
        return answers

    def _finish(self, kind: str, rows: HeadRows, requests: Sequence[Request]) -> Sequence[Rows | None]:
        asks = [ask for request in requests for ask in request.asks if ask.kind == kind]
        on_device = HeadRows(rows.rows.to(self.device), rows.counts)
        return self._model.heads[kind].finish(on_device, [one.plan for one in requests], asks, self._ranges)

    def to_keep(self, found: Found) -> list[bytes | None]:
        """The rows of each prompt as the result cache has them; None where other rows than the model's own are there.

        So what is kept never answers for less than was asked for.
        """
        own = self._model.own
        others = [rows.counts for kind, rows in found.items() if kind != own.kind]
        if own.kind not in found:
            return [None] * len(others[0])
        kept = own.keep(found[own.kind])
        return [None if any(more) else one for one, *more in zip(kept, *others, strict=True)]

    def kept(self, rows: Sequence[bytes]) -> Found:
        """Restore for `finish` what `to_keep` gave."""
        return {self._model.own.kind: self._model.own.restore(rows)}

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
            expected[media.offset : media.offset + media.num_tokens] = self._backbone.placeholder_ids[media.kind]
        num_visual = sum(media.num_tokens for media in request.media)
        pads = np.where(np.isin(token_ids, list(self._pads)), token_ids, NO_PAD)
        if (expected != NO_PAD).sum() != num_visual or not np.array_equal(expected, pads):
            raise RuntimeError(f"request {request.id}: media tokens and media disagree. This is a bug.")
