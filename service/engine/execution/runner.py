"""Runs the model: media to features, packed requests to raw rows, raw rows to bytes.

Knows neither families nor kinds of output: `load_model` (`model/architectures.py`) makes a model of a backbone and its
heads, `Model.embed` runs both, and each head finishes its rows.
"""

import gc
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

import numpy as np
import torch

from service.checkpoint.int8_range import Int8Range
from service.engine.scheduling.waiting import Waiting
from service.errors import ModelError
from service.ipc.messages import Media, PixelSlot, Request
from service.media.audio.samples import samples_of
from service.media.item import TensorDtype
from service.model.heads.head import HeadRows
from service.model.model import Found, Model
from service.model.packed.packed_batch import NO_VISUAL, PackedBatch, VisualTokens
from service.model.packed.prefix_cache import PrefixCache
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
        prefixes: beginnings that the decoder keeps; it counts the tokens that they saved.
    """

    def __init__(
        self,
        model: Model,
        pixels: memoryview,
        int8_ranges: Mapping[int, Int8Range] = MappingProxyType({}),
        place: int = 0,
    ) -> None:
        """Run `model` on what lies in `pixels`, where adapters share its weights the one at this place."""
        self._place = place
        self._model = model
        self._backbone = model.backbone
        self._pixels = pixels
        self._decoder = model.own_decoder
        self.prefixes = PrefixCache(0) if self._decoder is None else self._decoder.language.prefixes
        self.heads = model.heads
        self.device = model.backbone.device
        self._pads = frozenset(model.backbone.placeholder_ids.values())
        self._text_positions = cache(lambda num_tokens: model.backbone.positions(num_tokens, ()))
        self._ranges = {
            dimensions: (
                torch.tensor(found.minimum, device=self.device),
                torch.tensor(found.maximum, device=self.device),
            )
            for dimensions, found in int8_ranges.items()
        }

    def encode(self, media: Media, slot: PixelSlot) -> torch.Tensor:
        """Features of media, `[num_tokens, hidden · (1 + deepstack)]` in the model's dtype.

        Args:
            media: an image, a pair of frames, an audio file, or features that came instead of pixels.
            slot: its bytes in the arena.

        Raises:
            ModelError: a feature is not finite; cached, it would fail every later request for the same media.
        """
        self._backbone.chosen.place = self._place
        view = self._pixels[slot.start : slot.start + slot.num_bytes]
        if media.dtype is not None:
            raw = torch.from_numpy(np.frombuffer(view, np.uint8).copy())  # the slot is released before these are used
            features = raw.view(DTYPES[media.dtype]).reshape(media.num_tokens, -1).to(self.device, self._backbone.dtype)
        elif media.kind == "audio":
            features = self._backbone.encode(torch.from_numpy(samples_of(view).copy()))
        else:
            _, rows, columns = media.grid_thw
            frames = (-1,) if media.kind == "video" else ()
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
        visual = _visual_tokens(batch) if any(request.media for request in requests) else NO_VISUAL
        token_ids: list[int] = []
        positions: list[np.ndarray] = []
        kinds: list[set[str]] = []
        for waiting in batch:
            request = waiting.request
            ids, media = request.plan.ids, request.media
            if media:
                self._check_media(request)
            elif not self._pads.isdisjoint(ids):
                raise RuntimeError(f"request {request.id}: media tokens and media disagree. This is a bug.")
            if not media and len(ids) <= SHORT_TOKENS:
                positions.append(self._text_positions(len(ids)))
            else:
                positions.append(self._backbone.positions(len(ids), [(one.offset, one.grid_thw) for one in media]))
            token_ids += ids
            kinds.append({ask.kind for one in (waiting, *waiting.joined) for ask in one.request.asks})
        packed = PackedBatch(
            token_ids=torch.from_numpy(np.fromiter(token_ids, np.int64)),  # torch's own takes nine times as long
            position_ids=torch.from_numpy(np.concatenate(positions, axis=1)),
            segment_lengths=[len(request.plan.ids) for request in requests],
            visual=visual,
            plans=[request.plan for request in requests],
            tenants=[request.tenant for request in requests],
        )
        self._backbone.chosen.place = self._place
        if self._decoder is not None:
            self._decoder.language.prefixes = self.prefixes
        return self._model.embed(packed, kinds)

    def of(self, found: Found, prompts: Sequence[int]) -> Found:
        """The rows of some of the prompts of a batch; the same may come several times."""
        return {kind: rows.of(prompts) for kind, rows in found.items()}

    def finish(self, found: Found, requests: Sequence[Request]) -> Sequence[Rows | None]:
        """Return each request's rows, as bytes by the names of its asks' rows; None where one of them is not valid.

        `found` is from `embed`, `of` or `kept`.
        """
        answers: list[Rows | None] = [{} for _ in requests]
        for kind, rows in found.items():
            asking = [place for place, one in enumerate(requests) if any(ask.kind == kind for ask in one.asks)]
            if not asking:
                continue
            own = rows if len(asking) == len(requests) else rows.of(asking)
            on_device = HeadRows(own.rows.to(self.device), own.counts)
            asks = [ask for request in requests for ask in request.asks if ask.kind == kind]
            plans = [requests[place].plan for place in asking]
            made = self.heads[kind].finish(on_device, plans, asks, self._ranges)
            for place, row in zip(asking, made, strict=True):
                before = answers[place]
                answers[place] = None if row is None or before is None else {**before, **row}
        return answers

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

    def _check_media(self, request: Request) -> None:
        """Check media against placeholders once more, before the tokens of several requests stand together.

        Source: docs/notes/security.md.
        """
        token_ids = np.asarray(request.plan.ids)
        expected = np.full(len(token_ids), NO_PAD)
        for media in request.media:
            expected[media.offset : media.offset + media.num_tokens] = self._backbone.placeholder_ids[media.kind]
        num_visual = sum(media.num_tokens for media in request.media)
        pads = np.where(np.isin(token_ids, list(self._pads)), token_ids, NO_PAD)
        if (expected != NO_PAD).sum() != num_visual or not np.array_equal(expected, pads):
            raise RuntimeError(f"request {request.id}: media tokens and media disagree. This is a bug.")


def _visual_tokens(batch: Sequence[Waiting[torch.Tensor]]) -> VisualTokens:
    """The placeholders of a batch with their features, numbered by the image token that they stand for.

    By the tensor of its features and not by its content key: one tensor has one content, whoever made the key.
    """
    index: list[np.ndarray] = []
    numbers: list[np.ndarray] = []
    features: list[torch.Tensor] = []
    first_of: dict[tuple[object, ...], int] = {}
    start = num_numbered = 0
    for waiting in batch:
        request = waiting.request
        for media, feature in zip(request.media, waiting.features, strict=True):
            # Checked per image and not per batch: sums can agree while one request reads another's features.
            if feature is None or feature.shape[0] != media.num_tokens:
                raise RuntimeError(f"request {request.id}: features do not match their placeholders. This is a bug.")
            place = start + media.offset
            index.append(np.arange(place, place + media.num_tokens))
            features.append(feature)
            first = first_of.setdefault((id(feature), media.grid_thw, media.kind), num_numbered)
            num_numbered += media.num_tokens * (first == num_numbered)
            numbers.append(np.arange(first, first + media.num_tokens))
        start += len(request.plan.ids)
    where, which = (torch.from_numpy(np.concatenate(one)) for one in (index, numbers))
    return VisualTokens(where, torch.cat(features), which)
