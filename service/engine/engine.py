"""The engine process: it owns torch, the weights and the encoder cache.

Its socket and its pipe lead to its keeper, and it ends when the socket closes, so no engine outlives its keeper. Fronts
come in by descriptors that the keeper passes.
"""

import hashlib
import logging
import mmap
import os
import queue
import socket  # noqa: TID251  # a socket pair
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, cast

import torch
from transformers.utils import logging as transformers_logging

from cenote_kernels import PoolingMode
from service import logs
from service.checkpoint.content_digest import content_digest
from service.checkpoint.json_files import CheckpointError
from service.engine.encoder_cache.cache import EncoderCache
from service.engine.execution.runner import ModelRunner
from service.engine.front_line import accept_fronts
from service.engine.fronts import Fronts, Joined, Left
from service.engine.loop import EngineLoop, GuestInbox
from service.engine.scheduling.result_cache import ResultCache
from service.engine.scheduling.scheduler import MAX_HELD_ROUNDS, Scheduler
from service.engine.shared_tiers.codec import FeaturesCodec, tower_digest
from service.engine.shared_tiers.disk import DiskTier
from service.engine.shared_tiers.host_pages import HostPages
from service.engine.shared_tiers.look_ups import LookUps
from service.engine.shared_tiers.shared import LookedUp, SharedTier, SharedTiers
from service.engine.shared_tiers.valkey import ValkeyTier
from service.engine.startup.bfloat16_trial import say_if_faster, try_bfloat16, warn_if_slower
from service.engine.startup.cpu_tuning import keep_cores, keep_heap, mapped_blocks, use_huge_pages
from service.engine.startup.self_check import check_forward, known_answers
from service.engine.startup.weight_formats import prepack, use_bfloat16, use_int8
from service.errors import ModelError
from service.gc_tuning import freeze_gc_baseline
from service.ipc.channel import BlockingChannel
from service.ipc.messages import Broken, FrontMessage, Ready, Start
from service.media.item import TensorDtype
from service.model.adapted import adapted_layers, check_called, places_of
from service.model.architectures import load_model
from service.model.load import choose_device, choose_dtype
from service.model.model import Model
from service.model.packed.prefix_cache import PrefixCache

logger = logging.getLogger("cenote.engine")

OwnMessage = FrontMessage | LookedUp[torch.Tensor] | Joined | Left
Inboxed = OwnMessage | EngineLoop | tuple[EngineLoop, OwnMessage]
"""Messages that the engine's loop reads."""
Inbox = queue.Queue[Inboxed] | GuestInbox


class Lines(NamedTuple):
    """Descriptors of a model's own: of its keeper's socket and pipe, of the arena, and by which its fronts come in."""

    socket_fd: int
    pipe_fd: int
    arena_fd: int
    fronts_fd: int


class LoadedWeights(NamedTuple):
    """Weights on the device, checked, for one model or for several whose adapters share them.

    With the kernels that run them, the codec of features for other processes, if they are shared, and the places of
    adapters that change the tower, whose features are nobody else's.
    """

    model: Model
    kernels: str
    codecs: Sequence[FeaturesCodec]
    seeing_otherwise: Collection[int]


class Loading:
    """A model whose files are read from now on: what its keeper said first, when that was, and the files' digest."""

    def __init__(self, start: Start) -> None:
        self.start, self.began_s = start, time.perf_counter()
        self.digesting = ThreadPoolExecutor(1, "digest").submit(content_digest, Path(start.folder), start.num_threads)


def run(*descriptors: int) -> None:
    """Load, check, say Ready, then run until the keeper goes; for the descriptors see `Lines`."""
    lines = Lines(*descriptors)
    channel: BlockingChannel[FrontMessage] = BlockingChannel(socket.socket(fileno=lines.socket_fd), FrontMessage)  # type: ignore[arg-type]  # a union is a type to msgspec
    start = channel.receive()
    if not isinstance(start, Start):
        return
    logs.configure(start.log_format, start.log_level, start.model)
    if start.log_format == "json" or not sys.stderr.isatty():
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    inbox: queue.Queue[Inboxed] = queue.Queue()  # not a SimpleQueue, see docs/decisions/faults.md
    threading.Thread(target=read_forever, args=(channel, inbox), daemon=True).start()
    try:
        loading = Loading(start)
        loaded = load_weights(start)
        loop = open_loop(lines, channel, loading, loaded, inbox)
    except (ModelError, CheckpointError) as error:  # says what is wrong with the files; the keeper logs it
        channel.send(Broken(reason=str(error)))
        return
    except Exception as error:
        logger.exception("the model could not be loaded")
        channel.send(Broken(reason=f"{type(error).__name__}: {error}"))
        return

    def open_guest(descriptors: list[int]) -> None:
        """Take in a model that shares the weights; like ours, its keeper ends this process by going."""
        own = Lines(*descriptors)
        line: BlockingChannel[FrontMessage] = BlockingChannel(socket.socket(fileno=own.socket_fd), FrontMessage)  # type: ignore[arg-type]  # a union is a type to msgspec
        if not isinstance(guest := line.receive(), Start):
            return
        its = GuestInbox(inbox)
        try:
            its.loop = open_loop(own, line, Loading(guest), loaded, its)
        except Exception as error:
            logger.exception("a model could not be taken in that shares the weights")
            line.send(Broken(reason=f"{type(error).__name__}: {error}"))
            return
        inbox.put(its.loop)
        threading.Thread(target=read_forever, args=(line, its), daemon=True).start()
        accept(own, its)

    def accept(own: Lines, into: Inbox) -> None:
        coming = (socket.socket(fileno=own.fronts_fd), into, open_guest)
        threading.Thread(target=accept_fronts, args=coming, daemon=True).start()

    accept(lines, inbox)
    if loaded.model.backbone.device.type == "cpu":
        keep_cores(start.num_threads)  # last: threads that are started after it would be bound, too
    loop.run()


def open_loop(
    lines: Lines, channel: BlockingChannel[FrontMessage], loading: Loading, loaded: LoadedWeights, inbox: Inbox
) -> EngineLoop:
    """A model's loop over weights that are there; its keeper is told that it is ready."""
    start = loading.start
    num_bytes = start.num_fronts * start.arena_bytes
    pixels = memoryview(mmap.mmap(lines.arena_fd, num_bytes, access=mmap.ACCESS_READ))
    runner, ready = serve(loading, pixels, loaded)
    channel.send(ready)
    codecs = () if start.place in loaded.seeing_otherwise else loaded.codecs
    shared = open_shared(start, codecs[0], inbox.put) if codecs else None
    scheduler = new_scheduler(start, runner.device)
    if shared is not None:
        scheduler.images.look_ups = LookUps(shared.ask, MAX_HELD_ROUNDS * start.max_encoder_tokens)
    part_bytes = start.arena_bytes
    fronts = Fronts(channel.send, lines.pipe_fd, ready, num_fronts=start.num_fronts, part_bytes=part_bytes)
    own = queue.Queue[Inboxed]() if isinstance(inbox, GuestInbox) else inbox
    return EngineLoop(fronts, own, scheduler, runner, shared)


def load_weights(start: Start) -> LoadedWeights:
    """The weights of a model and of those that share them, in the form in which they are served."""
    torch.set_num_threads(start.num_threads)
    before = mapped_blocks()  # of Python's modules, which a forward hardly reads
    device = choose_device(start.device)
    dtype, pooling = choose_dtype(start.dtype, device), cast(PoolingMode, start.pooling)
    model = load_model(start.architecture, Path(start.group or start.folder), device, dtype, pooling)
    is_alone = not start.group
    answers = {place: known_answers(model, place) for place in {0, *places_of(model.backbone.adapted)}}
    check_called(model.backbone.adapted)
    tower = model.backbone.tower
    seeing = {} if tower is None else adapted_layers(tower.module)
    codecs, seeing_otherwise = open_codecs(start, model), places_of(seeing)
    is_open = is_alone and start.dtype == "auto" and start.weights != "int8"  # who names a number format has chosen
    trial = try_bfloat16(model) if is_open else None
    if is_alone:
        use_bfloat16(model, with_decoder=start.weights != "int8")
    kernels = prepack(model, with_decoder=start.weights != "int8")
    for place, own in answers.items():
        check_forward(model, own, place)
    say_if_faster(model, trial)
    if kernels:
        logger.info("kernels for the processor: %s", kernels)
    kernels += warn_if_slower(model)
    if start.weights == "int8":
        use_int8(model)
    freeze_gc_baseline()  # modules and weights stay as long as the process
    keep_heap()
    if device.type == "cpu":
        use_huge_pages(but=before)
    return LoadedWeights(model, kernels, codecs, seeing_otherwise)


def serve(loading: Loading, pixels: memoryview, loaded: LoadedWeights) -> tuple[ModelRunner, Ready]:
    """What runs a model over weights that are there, and its facts."""
    start, model = loading.start, loaded.model
    runner = ModelRunner(model, pixels, start.int8_ranges, start.place)
    if model.own_decoder is not None and runner.device.type == "cpu":
        runner.prefixes = PrefixCache(start.prefix_cache_bytes, start.max_tenant_share)
    use = f"{model.backbone.dtype} {start.weights} {start.pooling}"  # the same weights in other formats: another model
    ready = Ready(
        device=str(model.backbone.device),
        dtype=cast(TensorDtype, str(model.backbone.dtype).removeprefix("torch.")),
        hidden=model.own.hidden_size,
        num_parameters=model.num_parameters,
        kernels=loaded.kernels,
        model_digest=hashlib.sha256(loading.digesting.result() + use.encode()).digest(),
        load_s=time.perf_counter() - loading.began_s,
    )
    return runner, ready


def new_scheduler(start: Start, device: torch.device) -> Scheduler[torch.Tensor]:
    """An empty scheduler with the budgets that the front set."""
    return Scheduler(
        open_cache(start, device),
        ResultCache(start.result_cache_bytes, start.max_tenant_share),
        max_batch_tokens=start.max_batch_tokens,
        max_batch_requests=start.max_batch_requests,
        max_encoder_tokens=start.max_encoder_tokens,
    )


def open_cache(start: Start, device: torch.device) -> EncoderCache[torch.Tensor]:
    """An empty cache: two tiers on CUDA, one on the CPU, where the second would be the same memory."""
    if device.type != "cuda" or not start.host_cache_bytes or not start.encoder_cache_bytes:
        return EncoderCache(start.encoder_cache_bytes, start.max_tenant_share)
    pages = HostPages(start.host_cache_bytes, device)
    return EncoderCache(
        start.encoder_cache_bytes, start.max_tenant_share, host_memory=pages, max_host_bytes=pages.max_bytes
    )


def open_codecs(start: Start, model: Model) -> Sequence[FeaturesCodec]:
    """The one codec of features for other processes; none where they are not shared. Reads all weights of the tower."""
    tower = model.backbone.tower
    if tower is None or not (start.disk_cache or start.valkey_url):
        return ()
    namespace = tower_digest(tower.module, tower.config_json)
    return (FeaturesCodec(namespace, tower.dtype, tower.feature_width, model.backbone.device),)


def open_shared(
    start: Start, codec: FeaturesCodec, deliver: Callable[[LookedUp[torch.Tensor]], None]
) -> SharedTiers[torch.Tensor]:
    """The tiers that processes share, nearest first. A disk that cannot be used is logged and left out."""
    tiers: list[SharedTier] = []
    if start.disk_cache:
        try:
            tiers.append(DiskTier(Path(start.disk_cache), start.disk_cache_bytes))
        except OSError:
            logger.exception("the disk cache cannot be used; the engine runs without it")
    if start.valkey_url:
        tiers.append(ValkeyTier(start.valkey_url))
    return SharedTiers(tiers, codec, deliver)


def read_forever(channel: BlockingChannel[FrontMessage], inbox: Inbox) -> None:
    """Move messages into the inbox while the engine computes; end the process when the keeper has gone."""
    try:
        while (message := channel.receive()) is not None:
            inbox.put(message)
    finally:
        os._exit(0)
