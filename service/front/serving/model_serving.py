"""One model of the service: its files, its engine, and what the routes ask once both are there."""

import logging
from dataclasses import dataclass

from schemas.endpoints.health import ModelHealth
from service.checkpoint.hub import canonical_name, find_checkpoint
from service.checkpoint.json_files import CheckpointError
from service.engine_series import ClientSeries
from service.errors import UnavailableError
from service.front.admission.forward_rate import ForwardRate
from service.front.daemon_thread import in_daemon_thread
from service.front.engine_client.engine_host import HostNeeds, Keeper, OpenHost
from service.front.engine_client.engine_state import EngineBrokenError
from service.front.engine_client.shared_vectors import with_shared_vectors
from service.front.inputs.reader import InputReader
from service.front.inputs.uuids import Uuids
from service.front.served_model import ServedModel, load_served_model, name_of
from service.front.serving.embedder import Embedder
from service.front.serving.fingerprint import model_fingerprint
from service.front.serving.from_settings import input_reader
from service.front.serving.health_probe import HealthProbe
from service.front.serving.resources import Resources
from service.front.serving.shared_towers import SharedTowers
from service.gc_tuning import freeze_gc_baseline
from service.ipc.messages import Ready
from service.settings import Settings

logger = logging.getLogger("cenote.serving")

LOADING_RETRY_S = 5

FAILED = "the model could not be loaded; the server's log says why"
"""Message to clients: the reason may name folders and devices."""


@dataclass(frozen=True, slots=True)
class Online:
    """Everything that a route needs once the model is there."""

    model: ServedModel
    engine: Ready
    embedder: Embedder
    reader: InputReader
    fingerprint: str


class ModelServing:
    """The life of one model, from `loading` to the end.

    Args:
        settings: of the service, as they are for this model.
        index: its place among those served.
        shared: what it shares with the others.
        towers: which models share features.
        open_host: makes what runs prompts.

    Attributes:
        model: its profile and tokenizer, once its files have been read.
        keeper: keeps its engine; None until then.
        failure: why it can never be ready, or None.
        name: what answers call it; known before its files have been read.
    """

    def __init__(
        self, settings: Settings, index: int, shared: Resources, towers: SharedTowers, open_host: OpenHost
    ) -> None:
        self.settings = settings
        self.model: ServedModel | None = None
        self.keeper: Keeper | None = None
        self.failure: str | None = None
        self.name = name_of(settings.served_name, canonical_name(settings.model))
        self._series = ClientSeries(self.name)  # 0 while it loads
        self._index = index
        self._shared = shared
        self._towers = towers
        self._open_host = open_host
        self._online: Online | None = None

    @property
    def has_been_ready(self) -> bool:
        """True if its health probe has passed once."""
        return self._online is not None

    def online(self) -> Online:
        """The model and its engine.

        Raises:
            UnavailableError: the model is still loading, or never will be there.
        """
        if self._online is None:
            reason = self.failure or "the model is loading"
            raise UnavailableError("model_loading", reason, retry_after_s=LOADING_RETRY_S)
        return self._online

    def health(self) -> ModelHealth:
        """Health of the model."""
        if self.failure is not None:
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
            logger.info("looking for %s", settings.model)
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
            if self._online is not None and self._online.engine is keeper.ready:
                return
            freeze_gc_baseline()
            fingerprint = model_fingerprint(settings, model, keeper.ready)
            self._online = Online(model, keeper.ready, embedder, reader, fingerprint)

        keeper = self.keeper = host.keeper(become_ready)
        about = {"folder": str(model.checkpoint.folder), "threads": shared.engine_threads}
        logger.info("loading %s", model.name, extra=about)
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
