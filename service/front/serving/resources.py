"""Resources that all requests of a service share, whichever of its models they mean."""

import os
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from service import metrics
from service.decode.start import Decoders
from service.front.admission.budget import ANSWERS, QUEUE, Budget
from service.front.admission.load import Load
from service.front.engine_client.front_link import FrontLink
from service.front.inputs.fetching import Fetching
from service.front.inputs.uuids import UuidStore
from service.front.serving.process_tuning import available_cores
from service.media.local_file import LocalFiles
from service.settings.settings import Settings, SettingsError

SCHEMES = ("valkey", "valkeys", "redis", "rediss", "unix")


@dataclass(slots=True)
class Resources:
    """The budgets, stores and decoders of one service.

    Attributes:
        settings: what it was started with.
        link: to what this front shares with others: the limits of queue, answers and keys hold for all together.
        engine_threads: that an engine may use.
        cores: that this process may use.
        queue: of all models.
        answers: what large answers may hold until they are taken.
    """

    settings: Settings
    link: FrontLink
    engine_threads: int = field(init=False)
    cores: int = field(init=False)
    queue: Budget = field(init=False)
    answers: Budget = field(init=False)
    fetching: Fetching | None = field(init=False)
    local_files: LocalFiles | None = field(init=False)
    decoders: Decoders = field(init=False)
    uuids: UuidStore = field(init=False)

    def __post_init__(self) -> None:
        """Make what the settings say.

        Raises:
            SettingsError: a host, a port, a directory or a shared cache is none.
        """
        settings, plans, table = self.settings, self.settings.of_each_model, self.link.table
        share = settings.max_tenant_share
        num_inputs = sum(one.max_queue_requests for one in plans)
        whole = Load(num_inputs, sum(one.max_queue_tokens for one in plans), settings.max_queue_bytes)
        self.queue = queue = Budget(QUEUE, whole, table, share)
        self.answers = answers = Budget(ANSWERS, Load(num_bytes=settings.max_queue_bytes), table, share)
        metrics.QUEUE_INPUTS.set_function(lambda: queue.held.num_inputs)
        metrics.QUEUE_TOKENS.set_function(lambda: queue.held.num_tokens)
        metrics.QUEUE_BYTES.set_function(lambda: queue.held.num_bytes)
        metrics.ANSWER_BYTES.set_function(lambda: answers.held.num_bytes)
        self.fetching = Fetching.of(settings, self.link.num_fronts)
        self.local_files = None if settings.media_paths is None else LocalFiles.of(settings.media_paths)
        check_shared_cache(settings)
        self.engine_threads = settings.threads or available_cores()
        self.cores = max(1, self.engine_threads // self.link.num_fronts)
        self.decoders = Decoders(settings, self.cores)
        self.uuids = UuidStore(settings.media_store_bytes)

    def queue_of(self, index: int) -> Budget:
        """The queue of a model within that of all, so that one that is flooded or has no engine fills its own alone.

        The only model has that of all.

        Args:
            index: of the model among those served.
        """
        plans = self.settings.of_each_model
        if len(plans) == 1:
            return self.queue
        plan = plans[index]
        limits = Load(plan.max_queue_requests, plan.max_queue_tokens, plan.max_queue_bytes)
        return Budget(QUEUE, limits, self.link.table, plan.max_tenant_share, within=self.queue, prefix=f"{index}/")


def check_shared_cache(settings: Settings) -> None:
    """Refuse a directory that cannot be written to, a URL that is none, and a server without its client library.

    A server is not contacted: one that is down costs misses and may come back.

    Raises:
        SettingsError: one of these; it never repeats the URL, which may hold a password.
    """
    if settings.disk_cache is not None:
        path = Path(settings.disk_cache)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"--disk-cache {path}: {error.strerror}") from error
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            raise SettingsError(f"--disk-cache {path}: this user may not write there")
    if settings.valkey_url is not None:
        try:
            parts = urlsplit(settings.valkey_url)
            is_valid = parts.scheme in SCHEMES and bool(parts.path if parts.scheme == "unix" else parts.hostname)
            is_valid = is_valid and parts.port != 0
        except ValueError:
            is_valid = False
        if not is_valid:
            raise SettingsError(f"--valkey-url: expected {'://, '.join(SCHEMES)}:// and a host or a path, got another")
        if find_spec("redis") is None:
            raise SettingsError("--valkey-url: needs the extra `valkey`; in a checkout `pip install -e '.[valkey]'`")
