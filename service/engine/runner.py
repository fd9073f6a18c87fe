"""Runs what the scheduler decided: pictures to features, packed requests to vectors.

Knows of a model what `EmbeddingModel` says, and no family.
"""

import gc
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import torch

from cenote_kernels import NumberFormat, Output, finish, finish_each
from service.engine.scheduler import Waiting
from service.errors import ModelError
from service.ipc.messages import Media, OutputSpec, PixelSlot, Request
from service.media.picture import FRAMES_OF_PAIR
from service.media.sound import samples_of
from service.media.tensor_dtype import TensorDtype
from service.model.embedding_model import EmbeddingModel
from service.model.packed_batch import PackedBatch
from service.prompt.int8_range import Int8Range

DTYPES: dict[TensorDtype, torch.dtype] = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
"""Number formats of features on their way in and out."""

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
    ) -> None:
        """Run `model`; with `is_multi_vector` it gives a vector for each token and not one for each prompt."""
        self._model = model
        self._is_multi_vector = is_multi_vector
        self._pixels = pixels
        self.hidden = model.hidden
        self.device = model.device
        self._ranges = {
            dimensions: (self._tensor(found.minimum), self._tensor(found.maximum))
            for dimensions, found in (int8_ranges or {}).items()
        }

    def encode(self, slot: PixelSlot, grid_thw: tuple[int, int, int]) -> torch.Tensor:
        """Features of the picture or pair of frames in a slot of the arena, `[tokens, hidden · (1 + deepstack)]`.

        Raises:
            ModelError: a feature is not finite; cached, it would fail every later request for the picture.
        """
        _, rows, columns = grid_thw
        height, width = rows * self._model.patch_size, columns * self._model.patch_size
        view = self._pixels[slot.start : slot.start + slot.num_bytes]
        frames = torch.from_numpy(np.frombuffer(view, np.uint8).reshape(-1, height, width, 3).copy())
        return self._encoded(frames if len(frames) == FRAMES_OF_PAIR else frames.squeeze(0))

    def hear(self, slot: PixelSlot) -> torch.Tensor:
        """Features of the sound in a slot of the arena, `[1, hidden]`.

        Raises:
            ModelError: as `encode`.
        """
        samples = samples_of(self._pixels[slot.start : slot.start + slot.num_bytes])
        return self._encoded(torch.from_numpy(samples.copy()))

    def read_features(self, slot: PixelSlot, media: Media) -> torch.Tensor:
        """Features that came instead of pixels, `[tokens, hidden · (1 + deepstack)]` in the model's dtype.

        Raises:
            ModelError: a number is not finite in that dtype; the front lets none through.
        """
        assert media.dtype is not None  # else the slot holds pixels
        view = self._pixels[slot.start : slot.start + slot.num_bytes]
        raw = torch.from_numpy(np.frombuffer(view, np.uint8).copy())  # the slot is given back while these still wait
        features = raw.view(DTYPES[media.dtype]).reshape(media.num_tokens, -1).to(self.device, self._model.dtype)
        if not bool(features.isfinite().all()):
            raise ModelError("non_finite_embedding", "features that came are not finite in the model's number format")
        return features

    def write_features(self, features: torch.Tensor, dtype: TensorDtype) -> bytes | None:
        """Features as bytes of a number format; None where a number has no finite value in it."""
        cast = features.to(DTYPES[dtype])
        return _to_bytes(cast.cpu()) if bool(cast.isfinite().all()) else None

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

        One behind the other, as many for each as `num_vectors` says.
        """
        return self._model.embed(self._pack(batch))

    def num_vectors(self, request: Request) -> int:
        """How many vectors a request's prompt has: one, or with late interaction one for each of its tokens."""
        return len(request.token_ids) if self._is_multi_vector else 1

    def repeat(self, raw: torch.Tensor, requests: Sequence[Request], times: Sequence[int]) -> torch.Tensor:
        """The vectors of each request so many times, one behind the other."""
        parts = torch.split(raw, [self.num_vectors(request) for request in requests])
        return torch.cat([part for part, number in zip(parts, times, strict=True) for _ in range(number)])

    def finish(self, raw: torch.Tensor, requests: Sequence[Request]) -> list[dict[str, bytes] | None]:
        """One row per request in each wanted number format, as bytes; None where the vector is not sound.

        Args:
            raw: `[total_vectors, hidden]`, from `embed`, `repeat` or `kept`.
            requests: what each is wanted for.
        """
        outputs, raw = [_output(request) for request in requests], raw.to(self.device)
        if self._is_multi_vector:
            rows = finish_each(raw, [self.num_vectors(one) for one in requests], outputs, ranges=self._ranges)
        else:
            rows = finish(raw, outputs, ranges=self._ranges)
        return [None if row is None else {kind: _to_bytes(tensor) for kind, tensor in row.items()} for row in rows]

    def to_keep(self, raw: torch.Tensor) -> list[bytes | None]:
        """Raw vectors as the result cache has them; None for one that is not finite, or has no direction."""
        norms = torch.linalg.vector_norm(raw, dim=-1)
        is_sound = (norms.isfinite() & (norms > 0)).tolist()
        return [row.tobytes() if sound else None for row, sound in zip(raw.cpu().numpy(), is_sound, strict=True)]

    def kept(self, vectors: Sequence[bytes]) -> torch.Tensor:
        """What `to_keep` gave as `finish` takes it."""
        return torch.frombuffer(bytearray().join(vectors), dtype=torch.float32).view(len(vectors), self.hidden)

    def _encoded(self, pixels: torch.Tensor) -> torch.Tensor:
        features = self._model.encode(pixels)
        if not bool(features.isfinite().all()):
            raise ModelError("non_finite_embedding", "the tower gave features that are not finite")
        return features

    def _tensor(self, values: Sequence[float]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self.device)

    def _pack(self, batch: Sequence[Waiting[torch.Tensor]]) -> PackedBatch:
        token_ids: list[int] = []
        positions: list[np.ndarray] = []
        visual_index: list[np.ndarray] = []
        features: list[torch.Tensor] = []
        for waiting in batch:
            request = waiting.request
            for media, feature in zip(request.media, waiting.features, strict=True):
                # Checked per picture and not per batch: sums can agree while one request reads another's features.
                if feature is None or feature.shape[0] != media.num_tokens:
                    raise RuntimeError(
                        f"request {request.id}: features do not match their placeholders. This is a bug."
                    )
                start = len(token_ids) + media.offset
                visual_index.append(np.arange(start, start + media.num_tokens))
                features.append(feature)
            self._check_placeholders(request)
            placeholders = [(media.offset, media.grid_thw) for media in request.media]
            positions.append(self._model.positions(len(request.token_ids), placeholders))
            token_ids += request.token_ids
        index = np.concatenate(visual_index) if visual_index else np.zeros(0, np.int64)
        return PackedBatch(
            token_ids=torch.tensor(token_ids),
            position_ids=torch.from_numpy(np.concatenate(positions, axis=1)),
            segment_lengths=[len(waiting.request.token_ids) for waiting in batch],
            visual_index=torch.from_numpy(index),
            features=torch.cat(features) if features else None,
        )

    def _check_placeholders(self, request: Request) -> None:
        """The prompt was checked when it was built; here again, as the last before tokens of many stand together.

        Source: reference/security-reliability.md finding 1.
        """
        token_ids = np.asarray(request.token_ids)
        expected = np.full(len(token_ids), NO_PAD)
        for media in request.media:
            expected[media.offset : media.offset + media.num_tokens] = self._model.placeholder_ids[media.num_frames - 1]
        num_visual = sum(media.num_tokens for media in request.media)
        pads = np.where(np.isin(token_ids, self._model.placeholder_ids), token_ids, NO_PAD)
        if (expected != NO_PAD).sum() != num_visual or not np.array_equal(expected, pads):
            raise RuntimeError(f"request {request.id}: media tokens and media disagree. This is a bug.")


def _output(request: Request) -> Output:
    wanted = request.output
    assert isinstance(wanted, OutputSpec)  # the scheduler puts no other into a language batch
    return Output(wanted.dimensions, cast(tuple[NumberFormat, ...], wanted.kinds), wanted.normalize)


def _to_bytes(row: torch.Tensor) -> bytes:
    return row.contiguous().view(torch.uint8).numpy().tobytes()
