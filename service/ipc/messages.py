"""The messages between front and engine: tagged msgspec Structs, sent as msgpack; never pickle."""

import math
import time
from typing import Literal

import msgspec

from service.checkpoint.int8_range import Int8Range
from service.ipc.reports import CacheReport, ResultReport
from service.media.item import MediaKind, TensorDtype
from service.outputs.block import RowBlock
from service.outputs.kinds import SentAsks
from service.outputs.plan import TokenPlan

StepKind = Literal["encode", "forward"]
GridTHW = tuple[int, int, int]
"""Temporal, height and width of an image in 16-pixel patches, before merging."""


class IpcMessage(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Anything that crosses the socket pair, or the pipe beside it."""


class PixelSlot(msgspec.Struct, frozen=True, array_like=True):
    """A stretch of the shared arena: RGB bytes of an image or of two frames, or features, row by row."""

    start: int
    num_bytes: int


class Media(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """An image, a pair of video frames or an audio file of a request, and where its placeholders stand."""

    key: bytes  # level-1 content key, 32 bytes
    grid_thw: GridTHW  # its size in patches
    offset: int  # index of the first placeholder token
    num_tokens: int  # how many placeholder tokens it has
    kind: MediaKind = "image"
    """Each kind has a placeholder token of its own; a video's media are pairs of its frames."""
    dtype: TensorDtype | None = None
    """None when the slot holds pixels; the number format of the features that it holds instead."""
    slot: PixelSlot | None = None
    """Its pixels or features, or None when the front expects the engine to have the features."""


class Bundle(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Requests that came together: they go together where others wait.

    Attributes:
        party: the request over HTTP that it is of: a tenant's share its part.
        first: the first id.
        num_tokens: of all.
    """

    party: int = 0
    first: int = 0
    num_tokens: int = 0


NO_BUNDLE = Bundle()


class Request(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """One prompt, and what is asked of the model for it."""

    id: int
    """Unique as long as the front lives; modulo the number of fronts it is the front's index."""
    plan: TokenPlan
    media: tuple[Media, ...] = ()  # its images, in the order of their placeholders
    asks: SentAsks
    tenant: str = ""  # with whom the engine is shared fairly; empty without a key
    bundle: Bundle = NO_BUNDLE
    deadline_s: float = math.inf  # when it expires, on `time.monotonic`, one clock for all processes of a machine
    is_fresh: bool = False  # neither a kept vector nor another request's run may answer it: the health probe
    alone: bool = False
    """An engine ended while it ran this: it gets a batch of its own, so that no other request is lost with it."""


# Front to engine.


class Start(IpcMessage, frozen=True, kw_only=True):
    """The first message: everything the engine needs to know."""

    folder: str
    group: str = ""  # folder of the base and of the adapters that share its weights, where some do
    place: int = 0  # of its adapter among them
    architecture: str  # which code runs it, as the profile says
    device: str
    dtype: str
    weights: Literal["as-is", "int8"] = "as-is"
    arena_bytes: int
    encoder_cache_bytes: int
    host_cache_bytes: int = 0
    disk_cache: str = ""
    disk_cache_bytes: int = 0
    valkey_url: str = ""  # it may hold a password
    max_tenant_share: float = 1.0
    """Part of each cache that one tenant may hold, in each tier of the engine's own."""
    result_cache_bytes: int = 0
    prefix_cache_bytes: int = 0
    max_batch_tokens: int
    max_batch_requests: int
    max_encoder_tokens: int
    num_threads: int
    num_fronts: int  # the arena has a part of `arena_bytes` for each
    pooling: str
    int8_ranges: dict[int, Int8Range] = {}  # by length of vector; other lengths have the fixed range
    log_format: Literal["human", "json"]
    log_level: str
    model: str  # its name for log lines


class Submit(IpcMessage, frozen=True, kw_only=True):
    """Requests that enter the scheduler together, before its next step."""

    requests: list[Request]


class Pixels(IpcMessage, frozen=True, kw_only=True):
    """Pixels that the engine asked for."""

    key: bytes
    slot: PixelSlot


class Abandon(IpcMessage, frozen=True, kw_only=True):
    """Requests that were cancelled."""

    ids: list[int]


class Ping(IpcMessage, frozen=True, kw_only=True):
    """A request for a `Pong`, answered between two steps."""


class AskKept(IpcMessage, frozen=True, kw_only=True):
    """A question, answered between two steps: which of these prompts have a kept vector."""

    id: int
    """As of a request."""
    digests: list[bytes]


# Engine to front.


class Ready(IpcMessage, frozen=True, kw_only=True):
    """Weights are loaded and the engine's own forward equals the stock one on a probe."""

    device: str
    dtype: TensorDtype
    hidden: int
    num_parameters: int
    kernels: str  # that run on a processor, and why not others, for people
    model_digest: bytes  # SHA-256 over every byte of the model's files, and how its weights are used
    load_s: float


class Broken(IpcMessage, frozen=True, kw_only=True):
    """The engine cannot start; trying again will not help."""

    reason: str


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One request that failed by itself; its batch mates did not."""

    id: int
    code: Literal["non_finite_embedding", "out_of_memory", "internal_error"]
    message: str


class StepStarted(IpcMessage, frozen=True, kw_only=True):
    """The engine enters the model: the heartbeat that the watchdog counts from, sent by `announcements.py`.

    Once for each run of a batch and for each image, numbered from 1. If the engine ends before it says anything `after`
    it, these requests of a front were running and no others; the keeper is not told which.
    """

    number: int
    kind: StepKind
    num_tokens: int
    ids: list[int]
    began_s: float
    """By `time.monotonic`, which processes of one machine share."""


class SignOfLife(IpcMessage, frozen=True, kw_only=True):
    """Any message of a running engine between two steps."""

    after: int = 0
    """The number of the last step that was announced: it is over."""
    said_s: float = msgspec.field(default_factory=time.monotonic)
    """When, by the engine: the front may hear of it late."""


class Pong(SignOfLife, frozen=True, kw_only=True):
    """The answer to a `Ping`: the engine's loop runs."""


class StepReport(SignOfLife, frozen=True, kw_only=True):
    """Report of a step of the engine, for the metrics: to its keeper, however many fronts the results go to."""

    num_requests: int = 0
    """Requests that were answered, failed ones included."""
    num_hits: int = 0
    """Images of these whose features were there already."""
    num_misses: int = 0
    num_encoded: int = 0
    """Runs of the vision tower in this step."""
    num_tokens: int = 0
    """Tokens that went through the language model in this step."""
    num_prefix_tokens: int = 0
    """Tokens of these prompts that did not have to be computed, for their beginnings were kept."""
    step_ms: float = 0.0
    cache: CacheReport
    results: ResultReport = ResultReport()


class StepDone(SignOfLife, frozen=True, kw_only=True):
    """The results of one step of the engine."""

    blocks: list[RowBlock] = []
    failures: list[Failure] = []
    released: list[int] = []
    """Starts of pixel slots that the engine has read."""


class WantPixels(SignOfLife, frozen=True, kw_only=True):
    """Features that the front thought cached have gone; their pixels are needed."""

    keys: list[bytes]


class AreKept(SignOfLife, frozen=True, kw_only=True):
    """The answer to an `AskKept`: of each prompt whether its vector is kept."""

    id: int
    are_kept: list[bool]


FrontMessage = Start | Submit | Pixels | Abandon | Ping | AskKept
EngineMessage = Ready | Broken | Pong | StepDone | WantPixels | AreKept
