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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import torch
import transformers

from cenote_kernels import PoolingMode
from service import logs
from service.checkpoint.content_digest import content_digest
from service.checkpoint.json_files import CheckpointError
from service.engine.encoder_cache.cache import EncoderCache
from service.engine.execution.runner import ModelRunner
from service.engine.front_line import accept_fronts
from service.engine.fronts import Fronts, Joined, Left
from service.engine.loop import EngineLoop
from service.engine.scheduling.result_cache import ResultCache
from service.engine.scheduling.scheduler import MAX_HELD_ROUNDS, Scheduler
from service.engine.shared_tiers.codec import FeaturesCodec, tower_digest
from service.engine.shared_tiers.disk import DiskTier
from service.engine.shared_tiers.host_pages import HostPages
from service.engine.shared_tiers.look_ups import LookUps
from service.engine.shared_tiers.shared import LookedUp, SharedTier, SharedTiers
from service.engine.shared_tiers.valkey import ValkeyTier
from service.engine.startup.bfloat16_trial import say_if_faster, try_bfloat16, warn_if_slower
from service.engine.startup.cpu_tuning import keep_cores, keep_heap, use_huge_pages
from service.engine.startup.self_check import check_forward, known_answers
from service.engine.startup.weight_formats import prepack, use_bfloat16, use_int8
from service.errors import ModelError
from service.gc_tuning import freeze_gc_baseline
from service.ipc.channel import BlockingChannel
from service.ipc.messages import Broken, FrontMessage, Ready, Start
from service.media.item import TensorDtype
from service.model.architectures import load_model
from service.model.load import choose_device, choose_dtype
from service.model.model import Model
from service.model.packed.prefix_cache import PrefixCache

logger = logging.getLogger("cenote.engine")

Inboxed = FrontMessage | LookedUp[torch.Tensor] | Joined | Left
"""Messages that the engine's loop reads."""


def run(socket_fd: int, pipe_fd: int, arena_fd: int, fronts_fd: int) -> None:
    """Load, check, say Ready, then run until the keeper goes."""
    channel: BlockingChannel[FrontMessage] = BlockingChannel(socket.socket(fileno=socket_fd), FrontMessage)  # type: ignore[arg-type]  # a union is a type to msgspec
    start = channel.receive()
    if not isinstance(start, Start):
        return
    logs.configure(start.log_format, start.log_level, start.model)
    if start.log_format == "json" or not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    inbox: queue.Queue[Inboxed] = queue.Queue()  # not a SimpleQueue, see docs/decisions/faults.md
    threading.Thread(target=read_forever, args=(channel, inbox), daemon=True).start()
    pixels = memoryview(mmap.mmap(arena_fd, start.num_fronts * start.arena_bytes, access=mmap.ACCESS_READ))
    try:
        runner, ready, codec = load(start, pixels)
    except (ModelError, CheckpointError) as error:  # says what is wrong with the files; the keeper logs it
        channel.send(Broken(reason=str(error)))
        return
    except Exception as error:
        logger.exception("the model could not be loaded")
        channel.send(Broken(reason=f"{type(error).__name__}: {error}"))
        return
    channel.send(ready)
    shared = None if codec is None else open_shared(start, codec, inbox.put)
    scheduler = new_scheduler(start, runner.device)
    if shared is not None:
        scheduler.images.look_ups = LookUps(shared.ask, MAX_HELD_ROUNDS * start.max_encoder_tokens)
    part_bytes = start.arena_bytes
    fronts = Fronts(channel.send, pipe_fd, ready, num_fronts=start.num_fronts, part_bytes=part_bytes)
    loop = EngineLoop(fronts, inbox, scheduler, runner, shared)
    threading.Thread(target=accept_fronts, args=(socket.socket(fileno=fronts_fd), inbox), daemon=True).start()
    if runner.device.type == "cpu":
        keep_cores(start.num_threads)  # last: threads that are started after it would be bound, too
    loop.run()


def load(start: Start, pixels: memoryview) -> tuple[ModelRunner, Ready, FeaturesCodec | None]:
    """Weights on the device, checked against the stock forward; and a codec where features are shared."""
    began = time.perf_counter()
    digesting = ThreadPoolExecutor(1, "digest").submit(content_digest, Path(start.folder), start.num_threads)
    torch.set_num_threads(start.num_threads)
    device = choose_device(start.device)
    dtype, pooling = choose_dtype(start.dtype, device), cast(PoolingMode, start.pooling)
    model = load_model(start.architecture, Path(start.folder), device, dtype, pooling)
    answers, codec = known_answers(model), open_codec(start, model)
    is_open = start.dtype == "auto" and start.weights != "int8"  # who names a number format has chosen
    trial = try_bfloat16(model) if is_open else None
    use_bfloat16(model, with_decoder=start.weights != "int8")
    prepack(model, with_decoder=start.weights != "int8")
    check_forward(model, answers)
    say_if_faster(model, trial)
    warn_if_slower(model)
    if start.weights == "int8":
        use_int8(model)
    if (backbone := model.own_decoder) is not None and device.type == "cpu":
        backbone.language.prefixes = PrefixCache(start.prefix_cache_bytes, start.max_tenant_share)
    runner = ModelRunner(model, pixels, start.int8_ranges)
    freeze_gc_baseline()  # modules and weights stay as long as the process
    keep_heap()
    if device.type == "cpu":
        use_huge_pages()
    use = f"{model.backbone.dtype} {start.weights} {start.pooling}"  # the same weights in other formats: another model
    ready = Ready(
        device=str(device),
        dtype=cast(TensorDtype, str(model.backbone.dtype).removeprefix("torch.")),
        hidden=model.own.hidden_size,
        num_parameters=model.num_parameters,
        model_digest=hashlib.sha256(digesting.result() + use.encode()).digest(),
        load_s=time.perf_counter() - began,
    )
    return runner, ready, codec


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
        if device.type != "cuda" and start.host_cache_bytes:
            logger.info("encoder cache: one tier; the host tier is for devices with memory of their own")
        return EncoderCache(start.encoder_cache_bytes, start.max_tenant_share)
    pages = HostPages(start.host_cache_bytes, device)
    return EncoderCache(
        start.encoder_cache_bytes, start.max_tenant_share, host_memory=pages, max_host_bytes=pages.max_bytes
    )


def open_codec(start: Start, model: Model) -> FeaturesCodec | None:
    """Return the codec of features for other processes; None where none are shared. Reads all weights of the tower."""
    tower = model.backbone.tower
    if tower is None or not (start.disk_cache or start.valkey_url):
        return None
    namespace = tower_digest(tower.module, tower.config_json)
    return FeaturesCodec(namespace, tower.dtype, tower.feature_width, model.backbone.device)


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


def read_forever(channel: BlockingChannel[FrontMessage], inbox: "queue.Queue[Inboxed]") -> None:
    """Move messages into the inbox while the engine computes; end the process when the keeper has gone."""
    try:
        while (message := channel.receive()) is not None:
            inbox.put(message)
    finally:
        os._exit(0)
