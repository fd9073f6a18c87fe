"""One model of the service: its files, its engine, and what the routes ask once both are there."""

import hashlib
import logging
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from schemas.endpoints.health import ModelHealth
from service.checkpoint.hub import canonical_name, find_checkpoint
from service.checkpoint.json_files import CheckpointError
from service.engine_series import ClientSeries
from service.errors import UnavailableError
from service.fairness.threads import in_daemon_thread
from service.front.admission.forward_rate import ForwardRate
from service.front.engine_client.engine_host import HostNeeds, Keeper, OpenHost
from service.front.engine_client.front_link import EngineBrokenError
from service.front.engine_client.shared_vectors import with_shared_vectors
from service.front.inputs.reader import InputReader
from service.front.inputs.uuids import Uuids
from service.front.served_model import ServedModel, load_served_model, name_of
from service.front.serving.embedder import Embedder
from service.front.serving.from_settings import input_reader, reading_rule, video_rule
from service.front.serving.health_probe import HealthProbe
from service.front.serving.resources import Resources
from service.front.serving.shared_towers import SharedTowers
from service.gc_tuning import freeze_gc_baseline
from service.ipc.messages import Ready
from service.media.key import AUDIO_VERSION, PREPROCESSING_VERSION, VIDEO_VERSION
from service.prompt.conversation import Conversation
from service.prompt.truncation import Truncation
from service.settings.settings import Settings

logger = logging.getLogger("cenote.serving")

LOADING_RETRY_S = 5

FAILED = "the model could not be loaded; the server's log says why"
"""Message to clients: the reason may name folders and devices."""

FINGERPRINT_TEXT = "Is this the Model that it was?"
FINGERPRINT_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Online:
    """Everything that a route needs once the model is there.

    Attributes:
        fingerprint: see `model_fingerprint`.
        fingerprint_as_written: of its vectors of parts as written: the two do not belong in one index.
    """

    model: ServedModel
    engine: Ready
    embedder: Embedder
    reader: InputReader
    fingerprint: str
    fingerprint_as_written: str


class ModelServing:
    """The life of one model, from `loading` to the end.

    Args:
        settings: of the service, as they are for this model.
        towers: which models share features.
        open_host: makes what runs prompts.

    Attributes:
        model: its profile and tokenizer, once its files have been read.
        keeper: keeps its engine; None until then.
        failure: why it can never be ready; empty while it may be.
        name: what answers call it; known before its files have been read.
        online: the model and its engine, once its health probe has passed.
    """

    def __init__(
        self, settings: Settings, index: int, shared: Resources, towers: SharedTowers, open_host: OpenHost
    ) -> None:
        self.settings = settings
        self.model: ServedModel | None = None
        self.keeper: Keeper | None = None
        self.failure = ""
        self.name = name_of(settings.served_name, canonical_name(settings.model))
        self._series = ClientSeries(self.name)  # 0 while it loads
        self._index = index
        self._shared = shared
        self._towers = towers
        self._open_host = open_host
        self.online: Online | None = None

    def refuse(self) -> NoReturn:
        """Refuse a request while there is nothing `online`.

        Raises:
            UnavailableError: the model is still loading, or never will be there.
        """
        reason = self.failure or "the model is loading"
        raise UnavailableError("model_loading", reason, retry_after_s=LOADING_RETRY_S)

    def health(self) -> ModelHealth:
        """Health of the model."""
        if self.failure:
            return ModelHealth(name=self.name, status="failed", detail=self.failure)
        if self.keeper is None:
            return ModelHealth(name=self.name, status="loading", detail="the model's files are being found")
        state = self.keeper.state
        return ModelHealth(name=self.name, status="ok" if state == "ready" else state, detail=self.keeper.detail)

    def end(self) -> None:
        """End the engine; who still waits is told."""
        if self.keeper is not None:
            self.keeper.end()

    async def run(self) -> None:
        """Find the model, start its engine and keep it; returns only when that can never work."""
        settings = self.settings
        try:
            self.model = model = await in_daemon_thread(lambda: _load_model(settings), "load")
            await self._keep_engine(model)
        except (CheckpointError, EngineBrokenError) as error:
            self.failure = FAILED
            logger.error("%s", error)
        except Exception:
            self.failure = FAILED
            logger.exception("the service failed to start. This is a bug.")

    async def _keep_engine(self, model: ServedModel) -> None:
        shared = self._shared
        tower = await self._towers.join(self._index, model, self.settings)
        settings, queue = tower.settings, shared.queue_of(self._index)
        needs = HostNeeds(
            settings=settings,
            model=model,
            index=self._index,
            cores=shared.cores,
            engine_threads=shared.engine_threads,
            decoders=shared.decoders,
            rate=queue.rate,
            forwards=ForwardRate(settings.max_batch_tokens),
            series=self._series,
            tower=tower.fingerprint,
            link=shared.link,
            group=tower.group,
        )
        host = with_shared_vectors(self._open_host(needs), needs)
        uuids = Uuids(shared.uuids, self.name, shared.link.find_uuid)
        reader = input_reader(settings, model, tower.fingerprint, uuids, shared)
        embedder = Embedder(reader, host, queue, needs.forwards, shared, settings)
        takes_audio = shared.decoders.audio is not None
        probe = HealthProbe(model, host, timeout_s=settings.request_timeout_s, takes_audio=takes_audio)

        async def become_ready() -> None:
            await probe.ask()
            assert keeper.ready is not None  # the keeper asks after an engine has said Ready
            if self.online is None or self.online.engine is not keeper.ready:
                freeze_gc_baseline()
                made_by = model_fingerprint(settings, model, keeper.ready)
                as_written = _hex_digits(f"{made_by} as_written".encode())
                self.online = Online(model, keeper.ready, embedder, reader, made_by, as_written)

        keeper = self.keeper = host.keeper(become_ready)
        about = {"folder": str(model.checkpoint.folder), "threads": shared.engine_threads}
        logger.info("loading %s: %s", model.name, model.purpose, extra=about)
        await keeper.run()


def _load_model(settings: Settings) -> ServedModel:
    checkpoint = find_checkpoint(settings.model, settings.revision)
    model = load_served_model(
        checkpoint,
        served_names=settings.served_name,
        family=settings.family or "",
        strict_reference=settings.strict_reference,
        max_tokens=settings.max_tokens,
    )
    tail = model.profile.expected_tail
    if tail is not None and tail not in model.tokenizer.tail_token_ids:
        # Right for this tokenizer all the same, but released ones of the family are understood to append the token.
        token = model.tokenizer.id_to_token(tail)
        logger.warning("the tokenizer appends no %s: the token pooled is the prompt's last one", token)
    return model


def model_fingerprint(settings: Settings, model: ServedModel, ready: Ready) -> str:
    """All that decides a vector beside the request, as one text that is compared exactly.

    The first 128 bits of a SHA-256, in hexadecimal digits. In: what the engine says of the files that it loaded, and
    what the front makes of prompts and images. Left out is what moves no vector by more than rounding, or only where a
    request asks for it: device, batch, limits of size.

    Args:
        settings: which of them say how images are read and texts are parsed.
        ready: an engine's facts, with the digest of every byte that it loaded.
    """
    profile, frames = model.profile, video_rule(settings, model)
    parts = (
        ready.model_digest,
        (profile.name, profile.normalize, settings.strict_reference, _prompts(model)),
        (PREPROCESSING_VERSION, *(model.pixel_rule.key_parts if model.pixel_rule else ())),
        (reading_rule(settings, model).key_part, frames and (VIDEO_VERSION, frames)),
        (AUDIO_VERSION, *(profile.audios.rule.key_parts if profile.audios else ())),
    )
    return _hex_digits(msgspec.msgpack.encode(parts))


def _hex_digits(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:FINGERPRINT_DIGITS]


def _prompts(model: ServedModel) -> list[list[int]]:
    """A known text as tokens, bare and under an instruction: what no file says, the family's template, shows there.

    None for a model that reads no text.
    """
    if "text" not in model.profile.modalities:
        return []
    instructions = (None, "Tell models apart.") if model.profile.takes_instructions else model.profile.roles or (None,)
    unbounded = Truncation(model.profile.max_tokens, "right")
    conversations = (Conversation(one, model.profile.turns_about(FINGERPRINT_TEXT)) for one in instructions)
    return [model.builder.build(one, unbounded).plan.ids for one in conversations]
