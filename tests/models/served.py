"""A checkpoint through the service's own halves, without the socket between them: prompts, pixels, then the runner.

The one file of these tests that knows how the engine is asked.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from service.engine.execution.runner import ModelRunner
from service.engine.scheduling.waiting import Waiting
from service.engine.startup.self_check import check_forward, known_answers
from service.engine.startup.weight_formats import prepack
from service.ipc.messages import Media, PixelSlot, Request
from service.media.audio.samples import Audio, put_samples
from service.media.image.decode import load_pixels
from service.media.image.image_file import ImageFile
from service.media.item import ImageReadOptions
from service.media.media_item import MediaItem
from service.media.resize.antialias import resize_antialiased
from service.media.resize.resize import by_pillow
from service.media.video.frame_pair import FramePair
from service.media.video.video_file import VideoFramePair
from service.model.architectures import load_model
from service.outputs.ask import Asks
from service.outputs.dense import DenseAsk
from service.outputs.score import ScoreAsk
from service.outputs.sparse import SPARSE, SparseAsk, unpack_sparse
from service.outputs.tokens import TokensAsk
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Role, Turn
from service.prompt.detect import load_profile
from service.prompt.profile.profile import MULTI_VECTOR, SPLADE, Profile
from service.prompt.prompt import Prompt
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Side, Truncation
from service.workers import audio_reader, video_reader
from tests.builders import image_file

ARENA_BYTES = 1 << 24
DEVICE = torch.device(os.environ.get("TEST_DEVICE", "cpu"))
"""Where models run that a test loads itself; servers that it starts run where `TEST_SERVER_FLAGS` says."""
Part = Any
"""A text, an image by Pillow or by its file, or a medium that was opened."""
Row = dict[str, bytes] | None


class Served:
    """One checkpoint, loaded and checked as front and engine do it at start.

    The check is of the stock module's own layers, as on a GPU, and of weights in the processor's layout.
    """

    def __init__(self, folder: Path, family: str | None = None, *, strict_reference: bool = False) -> None:
        self.folder, self.profile = folder, load_profile(folder, family)
        profile = self.profile
        self.tokenizer = PromptTokenizer(folder, lower_case=profile.lower_case, markers=profile.markers)
        self.builder = PromptBuilder(profile, self.tokenizer, strict_reference)
        self.is_multi_vector, self.is_sparse = profile.pooling == MULTI_VECTOR, profile.pooling == SPLADE
        self.asks = self._asks()
        self._arena = memoryview(bytearray(ARENA_BYTES))
        self._features: dict[bytes, torch.Tensor] = {}  # as the encoder cache has them
        self.model: Any = load(folder, family)
        self.answers = known_answers(self.model)
        self.check()
        prepack(self.model, with_decoder=True)
        self.check()
        self.runner = self._runner(self.model)

    def _asks(self) -> Asks:
        """All that is asked for where a test says nothing."""
        dimensions, normalize = self.profile.dimensions, self.profile.normalize
        if self.is_sparse:
            return (SparseAsk(dimensions=dimensions),)
        if self.profile.is_reranker:
            return (ScoreAsk(),)
        return ((TokensAsk if self.is_multi_vector else DenseAsk)(dimensions=dimensions, normalize=normalize),)

    def check(self) -> None:
        """The known-answer check; its ModelError where the model's forward is not the stock module's."""
        check_forward(self.model, self.answers)

    def _runner(self, model: Any) -> ModelRunner:
        return ModelRunner(model, self._arena)

    @contextmanager
    def running(self, model: Any) -> Iterator[None]:
        """Another model in the place of the one that was loaded."""
        before, self.runner = self.runner, self._runner(model)
        try:
            yield
        finally:
            self.runner = before

    def turn(self, role: Role, parts: Sequence[Part]) -> Turn:
        """Parts as a request brings them."""
        return Turn(role, tuple(self.item(one) if isinstance(one, Image.Image | bytes) else one for one in parts))

    def item(self, image: Image.Image | bytes) -> ImageFile:
        """An image as a request brings it."""
        assert self.profile.images is not None
        options = ImageReadOptions(self.profile.images.background)
        return image_file(image, self.profile.images.pixel_rule, options=options)

    def prompt(self, *parts: Part, instruction: str | None = None, side: Side | None = None) -> Prompt:
        """The prompt of one user turn."""
        return self._prompt(instruction, self.turn("user", parts), side=side)

    def pair(self, query: Part, document: Part, instruction: str | None = None, side: Side | None = "right") -> Prompt:
        """The prompt of a reranker's pair; each side is a text or several parts."""
        sides = ((one,) if isinstance(one, str) else one for one in (query, document))
        turns = (self.turn(role, parts) for role, parts in zip(("query", "document"), sides, strict=True))
        return self._prompt(instruction, *turns, side=side)

    def _prompt(self, instruction: str | None, *turns: Turn, side: Side | None) -> Prompt:
        return self.builder.build(Conversation(instruction, turns), Truncation(self.profile.max_tokens, side))

    def text_prompts(
        self, texts: Sequence[str], instruction: str | None = None, side: Side | None = None
    ) -> list[Prompt]:
        """The prompts of texts, which are the same by themselves and among many."""
        prompts = [self.prompt(text, instruction=instruction, side=side) for text in texts]
        cut = Truncation(self.profile.max_tokens, side)
        together = self.builder.plain_texts.build(list(texts), Conversation(instruction, ()), cut)
        assert [one or other for one, other in zip(together, prompts, strict=True)] == prompts
        return prompts

    def waiting(self, prompts: Sequence[Prompt], asks: Sequence[Asks] | None = None) -> list[Waiting[torch.Tensor]]:
        """A request for each prompt, as the engine's scheduler has it."""
        wanted = asks or [self.asks] * len(prompts)
        return [self._waiting(id_, *both) for id_, both in enumerate(zip(prompts, wanted, strict=True))]

    def _waiting(self, id_: int, prompt: Prompt, asks: Asks) -> Waiting[torch.Tensor]:
        media, features = [], []
        for place in prompt.placeholders:
            item = place.item
            slot = self._filled(item)
            one = Media(
                key=b"",
                grid_thw=place.grid_thw,
                offset=place.offset,
                num_tokens=place.length,
                kind=item.kind,
                slot=slot,
            )
            if item.digest not in self._features:
                self._features[item.digest] = self.runner.encode(one, slot)
            media.append(one)
            features.append(self._features[item.digest])
        return Waiting(Request(id=id_, plan=prompt.plan, media=tuple(media), asks=asks), 0.0, features)

    def _filled(self, item: MediaItem) -> PixelSlot:
        files: tuple[Any, ...] = (item.first, item.second) if isinstance(item, FramePair) else (item,)
        pixels = b"".join(map(content, files))
        self._arena[: len(pixels)] = pixels
        return PixelSlot(0, len(pixels))

    def run(self, waiting: Sequence[Waiting[torch.Tensor]]) -> list[Row]:
        """The rows of requests in one packed batch."""
        return list(self.runner.finish(self.runner.embed(waiting), [one.request for one in waiting]))

    def rows(self, prompts: Sequence[Prompt], asks: Sequence[Asks] | None = None) -> list[dict[str, bytes]]:
        """The rows of prompts in one packed batch, all of which must have one."""
        rows = [row for row in self.run(self.waiting(prompts, asks)) if row is not None]
        assert len(rows) == len(prompts)
        return rows

    def numbers(self, prompts: Sequence[Prompt]) -> list[np.ndarray]:
        """`[vectors, dimensions]` of each prompt."""
        name = (TokensAsk.row if self.is_multi_vector else "") + "float32"
        return [np.frombuffer(row[name], "<f4").reshape(-1, self.profile.dimensions) for row in self.rows(prompts)]

    def vectors(self, prompts: Sequence[Prompt]) -> np.ndarray:
        """One row for each prompt, or for each chunk of one."""
        return np.concatenate(self.numbers(prompts))

    def texts(self, texts: Sequence[str], instruction: str | None = None, side: Side | None = None) -> np.ndarray:
        """The vectors of texts."""
        return self.vectors(self.text_prompts(texts, instruction, side))

    def weights(self, prompts: Sequence[Prompt]) -> np.ndarray:
        """The sparse vectors of prompts, zeros included."""
        return self.filled([row[SPARSE] for row in self.rows(prompts)])

    def filled(self, rows: Sequence[bytes]) -> np.ndarray:
        """Sparse rows with their zeros; entries ascend, and none is zero."""
        found = np.zeros((len(rows), self.profile.dimensions), np.float32)
        for one, row in zip(found, rows, strict=True):
            indices, values = unpack_sparse(row)
            assert (np.diff(indices.astype(int)) > 0).all()
            assert (values > 0).all()
            one[indices] = values
        return found

    def scores(self, prompts: Sequence[Prompt]) -> np.ndarray:
        """The scores of pairs, as the front makes them."""
        assert self.profile.is_reranker
        logits = self.vectors(prompts)[:, 0]
        return sigmoid(logits) if self.profile.activation == "sigmoid" else logits


def content(item: Any) -> bytes:
    """The bytes of a slot, or of a frame's half of it, as the decoders' processes make them."""
    if isinstance(item, Audio):
        samples = audio_reader.read_samples(item.file.encoded, item.file.container, item.rule, 1 << 24)
        return put_samples(samples, item.num_slot_bytes).tobytes()
    if isinstance(item, VideoFramePair):
        video, resize = item.video, resize_antialiased if item.video.is_antialiased else by_pillow
        with closing(video_reader.OpenVideoFile(video.file.encoded, "mp4")) as opened:
            return opened.frames(item.frames, video.size, max_pixels=1 << 24, resize=resize).tobytes()
    return load_pixels(item).tobytes()


def load(folder: Path, family: str | None = None) -> Any:
    """The model of a checkpoint, in float32."""
    profile = load_profile(folder, family)
    return load_model(profile.architecture, folder, DEVICE, torch.float32, profile.pooling)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-x))``."""
    scores: np.ndarray = 1 / (1 + np.exp(-logits))
    return scores


def difference(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> float:
    """The largest of all numbers of arrays, which must be of the same shapes."""
    assert [one.shape for one in got] == [one.shape for one in want]
    return max(float(np.abs(one - other).max()) for one, other in zip(got, want, strict=True))


def check_special_texts(tokenizer: PromptTokenizer, profile: Profile) -> None:
    """Fail if a text around the name of a protected token is encoded with one."""
    for token_id in profile.protected:
        name = tokenizer.id_to_token(token_id)
        assert name is not None
        for text in (name, f"a{name}b", f" {name} ", name * 3, name.upper(), f"{name[0]} {name[1:]}"):
            body = tokenizer.encode(text).ids
            assert set(body).isdisjoint(profile.protected), f"{text!r} became {body}"
