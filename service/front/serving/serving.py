"""What the routes answer from: the settings, the model once it is found, and the engine once it is up."""

import asyncio
import gc
import logging
from dataclasses import dataclass, field
from pathlib import Path

from litestar import Litestar

from schemas.endpoints.health import Health
from service.checkpoint.errors import CheckpointError, UnsupportedModelError
from service.checkpoint.hub import find_checkpoint
from service.decode.start import start_audio_decoder, start_video_decoder
from service.errors import UnavailableError
from service.fairness.threads import FairThreads
from service.front.admission.admission import Admission
from service.front.admission.answer_room import AnswerRoom
from service.front.admission.api_keys import Keyring
from service.front.admission.load import QueueLimits
from service.front.admission.other_fronts import ALONE
from service.front.admission.shared_counts import SharedCounts
from service.front.daemon_thread import in_daemon_thread
from service.front.engine_client.engine_host import HostNeeds, Keeper, OpenHost
from service.front.engine_client.local_engine import LocalEngine
from service.front.engine_client.shared_cache import check_shared_cache
from service.front.engine_client.shared_vectors import with_shared_vectors
from service.front.engine_client.supervisor import EngineBrokenError
from service.front.inputs.fetching import Fetching
from service.front.inputs.reader import InputReader
from service.front.served_model import ServedModel, load_served_model
from service.front.serving.embedder import Embedder
from service.front.serving.fingerprint import model_fingerprint
from service.front.serving.from_settings import input_reader
from service.front.serving.front_link import FrontLink
from service.front.serving.health_probe import HealthProbe
from service.front.serving.process_tuning import available_cores
from service.front.turns import Turns
from service.ipc.messages import Ready
from service.media.local_file import LocalFiles
from service.settings import Settings

logger = logging.getLogger("cenote.serving")

LOADING_RETRY_S = 5

FAILED = "the model could not be loaded; the server's log says why"
"""What clients are told: the reason may name folders and devices."""

SMALL_BODY_BYTES = 1 << 20
"""Bodies that are decoded in a millisecond or two; they take turns with larger ones."""


@dataclass(frozen=True, slots=True)
class Online:
    """Everything that a route needs once the model is there."""

    model: ServedModel
    engine: Ready
    embedder: Embedder
    reader: InputReader
    fingerprint: str


@dataclass(slots=True)
class Serving:
    """The life of one service, from `loading` to the end.

    Attributes:
        settings: what it was started with.
        open_host: makes what runs prompts.
        shared: counts of all fronts, where there are several: the limits of queue, answers and keys hold for all of
            them together.
        cores: that this process may use; None: as many as the settings say, or there are.
        link: to the other fronts; None where there are none.
        keeper: keeps the engine; None until the model's files are here.
        failure: why it can never be ready, or None.
        ended: set when `failure` is.
        is_draining: a signal has come; requests are still taken, but better sent elsewhere.
        admission: the bounded queue.
        answers: what large answers may hold until they are taken.
        ignores_unknown_fields: request fields that the schema does not have are passed over.
        accepts_token_arrays: `input` may hold token ids.
        keyring: the API keys; None where nobody is asked for one.
        fetching: brings in images by URL, or None.
        local_files: reads `file:` URLs, or None.
        turns: in which long work is done on the loop.
        bodies: where large bodies are decoded. One thread: decoding holds Python's global lock, 1 to 2 ms for a
            megabyte. Two are never done sooner in two threads than in one, and the loop has its turn between them.
    """

    settings: Settings
    open_host: OpenHost = LocalEngine
    shared: SharedCounts | None = None
    cores: int | None = None
    link: FrontLink | None = None
    keeper: Keeper | None = None
    failure: str | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    is_draining: bool = False
    admission: Admission = field(init=False)
    answers: AnswerRoom = field(init=False)
    ignores_unknown_fields: bool = field(init=False)
    accepts_token_arrays: bool = field(init=False)
    keyring: Keyring | None = field(init=False)
    fetching: Fetching | None = field(init=False)
    local_files: LocalFiles | None = field(init=False)
    turns: Turns = field(default_factory=Turns)
    bodies: FairThreads = field(default_factory=lambda: FairThreads(1, "body", small=SMALL_BODY_BYTES, num_spare=0))
    _online: Online | None = None

    def __post_init__(self) -> None:
        """Queue and keys are there before the model: bodies are held and keys are checked while it loads, too.

        Raises:
            SettingsError: the file of keys is not one; a host, a port, a directory or a shared cache is none.
        """
        settings, others = self.settings, self.shared or ALONE
        limits = QueueLimits(settings.max_queue_requests, settings.max_queue_tokens, settings.max_queue_bytes)
        self.admission = Admission(limits, settings.max_tenant_share, others=others)
        self.answers = AnswerRoom(settings.max_answer_bytes, settings.max_tenant_share, others)
        self.ignores_unknown_fields = settings.unknown_fields == "ignore"
        self.accepts_token_arrays = settings.token_arrays == "accept"  # noqa: S105  # not that kind of token
        self.keyring = None if settings.api_keys is None else Keyring(Path(settings.api_keys), others)
        self.fetching = Fetching.of(settings, others.num_fronts)
        self.local_files = LocalFiles.of(settings.media_paths)
        check_shared_cache(settings)

    def online(self) -> Online:
        """The model and its engine.

        Raises:
            UnavailableError: the model is still loading, or never will be there.
        """
        if self._online is None:
            reason = self.failure or "the model is loading"
            raise UnavailableError("model_loading", reason, retry_after_s=LOADING_RETRY_S)
        return self._online

    def health(self) -> Health:
        """What `/readyz` answers."""
        if self.failure is not None:
            return Health(status="failed", detail=self.failure)
        if self.is_draining:
            return Health(status="draining", detail="the server is going; send requests to another")
        if self.keeper is None:
            return Health(status="loading", detail="the model's files are being found")
        state = self.keeper.state
        return Health(status="ok" if state == "ready" else state, detail=self.keeper.detail)

    def give_up(self) -> None:
        """The drain's time is over: who still waits is told, and the engine ends."""
        if self.keeper is not None:
            self.keeper.end()

    async def run(self) -> None:
        """Find the model, start its engine and keep it; returns only when that can never work."""
        settings = self.settings
        try:
            logger.info("looking for %s", settings.model)
            model = await in_daemon_thread(lambda: _load_model(settings), "load")
            await self._keep_engine(model)
        except (CheckpointError, UnsupportedModelError, EngineBrokenError) as error:
            self.failure = FAILED
            logger.error("%s", error)
        except Exception:
            self.failure = FAILED
            logger.exception("the service failed to start. This is a bug.")
        finally:
            self.ended.set()

    async def _keep_engine(self, model: ServedModel) -> None:
        settings, cores = self.settings, self.cores or self.settings.threads or available_cores()
        videos = start_video_decoder(settings, cores)
        audio = start_audio_decoder(settings, cores)
        needs = HostNeeds(settings, model, cores, videos, audio, self.admission.rate)
        host = with_shared_vectors(self.open_host(needs), needs)
        reader = input_reader(settings, model, self.fetching, self.local_files, videos, audio)
        if self.link is not None:
            self.link.share_uuids(reader.rules.uuids)
        timeout_s = settings.request_timeout_s
        embedder = Embedder(reader, host, self.admission, self.answers, num_threads=cores, timeout_s=timeout_s)
        probe = HealthProbe(model, host, timeout_s=timeout_s, takes_audio=audio is not None)

        async def become_ready() -> None:
            await probe.ask()
            assert keeper.ready is not None  # the keeper asks after an engine has said Ready
            if self._online is not None and self._online.engine is keeper.ready:
                return
            keep_out_of_collections()
            fingerprint = model_fingerprint(settings, model, keeper.ready)
            self._online = Online(model, keeper.ready, embedder, reader, fingerprint)

        keeper = self.keeper = host.keeper(become_ready)
        logger.info("loading %s", model.name, extra={"folder": str(model.checkpoint.folder), "threads": cores})
        await keeper.run()


MAX_NEW_OBJECTS = 20_000
"""That a collection looks through: those of a request of 2,048 inputs. A millisecond; Python's own rule is 700."""


def keep_out_of_collections() -> None:
    """All that is there now stays: a collection of everything would hold the loop for 60 ms, amidst requests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(MAX_NEW_OBJECTS, *gc.get_threshold()[1:])


def serving_of(app: Litestar) -> Serving:
    """The service behind an app."""
    serving: Serving = app.state.serving
    return serving


def _load_model(settings: Settings) -> ServedModel:
    checkpoint = find_checkpoint(settings.model, settings.revision)
    model = load_served_model(
        checkpoint,
        served_names=settings.served_name,
        family=settings.family,
        strict_reference=settings.strict_reference,
        max_tokens=settings.max_tokens,
    )
    tail = model.profile.expected_tail
    if tail is not None and tail not in model.tokenizer.tail_token_ids:
        # Right for this tokenizer all the same, but released ones of the family are understood to append the token.
        token = model.tokenizer.id_to_token(tail)
        logger.warning("the tokenizer appends no %s: the token pooled is the prompt's last one", token)
    return model
