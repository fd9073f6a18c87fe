"""Every Prometheus series with fixed labels, declared once; stages, steps and codes are there from the start."""

from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from schemas.errors import ERROR_CODES
from service.ipc.messages import StepDone
from service.ipc.reports import CacheReport, TierName, TierReport
from service.settings import FIELDS, Settings
from service.stages import ENGINE_STAGES, STAGES

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, read by nobody

REGISTRY = CollectorRegistry()
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
LAGS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
AGES = (1, 10, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600)
TOKENS = (16, 64, 256, 1024, 4096, 16384, 65536)

REQUESTS = Counter(
    "cenote_requests_total", "Answered requests by route and status", ["route", "status"], registry=REGISTRY
)
REQUEST_SECONDS = Histogram(
    "cenote_request_seconds", "From first byte to answer", ["route"], buckets=SECONDS, registry=REGISTRY
)
STAGE_SECONDS = Histogram(
    "cenote_stage_seconds",
    "Time of a request in each stage",
    ["stage"],
    buckets=SECONDS,
    registry=REGISTRY,
)
INPUTS = Histogram("cenote_inputs_per_request", "Inputs of a request", buckets=SIZES, registry=REGISTRY)
TRUNCATED = Counter("cenote_truncated_inputs_total", "Inputs whose text was cut", registry=REGISTRY)
ERRORS = Counter("cenote_errors_total", "Error answers by code", ["code"], registry=REGISTRY)
STREAMS = Gauge("cenote_streams", "Streams of lines that are open", registry=REGISTRY)
STREAM_LINES = Counter("cenote_stream_lines_total", "Lines of streams that were answered", ["end"], registry=REGISTRY)

REFUSED_CONNECTIONS = Counter(
    "cenote_refused_connections_total", "Connections ended before a request was heard", ["code"], registry=REGISTRY
)
SLOW_CONNECTIONS = Counter(
    "cenote_slow_connections_total", "Connections ended for being slow", ["phase"], registry=REGISTRY
)
LIMIT = Gauge("cenote_limit", "Every setting that is a number", ["name"], registry=REGISTRY)

LOOP_LAG = Histogram(
    "cenote_event_loop_lag_seconds", "How late the front's event loop woke", buckets=LAGS, registry=REGISTRY
)
LOOP_HELD = Histogram(
    "cenote_event_loop_held_seconds", "The same without waiting for a core", buckets=LAGS, registry=REGISTRY
)

QUEUE_INPUTS = Gauge("cenote_queue_inputs", "Inputs admitted and not answered yet", registry=REGISTRY)
QUEUE_TOKENS = Gauge("cenote_queue_tokens", "Tokens admitted and not answered yet", registry=REGISTRY)
QUEUE_BYTES = Gauge("cenote_queue_bytes", "Bytes of bodies and of large answers that are held", registry=REGISTRY)
ANSWER_BYTES = Gauge("cenote_answer_bytes", "Bytes that large answers hold until they are taken", registry=REGISTRY)
ENGINE_READY = Gauge("cenote_engine_ready", "1 while a known-answer embedding has matched", registry=REGISTRY)
ENGINE_RESTARTS = Counter("cenote_engine_restarts_total", "Engines that ended unasked", registry=REGISTRY)
ENGINE_STUCK = Counter("cenote_engine_stuck_total", "Engines ended by the watchdog", registry=REGISTRY)
WRONG_ANSWERS = Counter("cenote_known_answer_mismatches_total", "Known answers that did not match", registry=REGISTRY)
BREAKER_OPEN = Gauge("cenote_engine_breaker_open", "1 while no engine is started: too many ended", registry=REGISTRY)
REQUESTS_SENT_AGAIN = Counter(
    "cenote_inputs_sent_again_total",
    "Inputs that one engine had not come to and the next was given",
    registry=REGISTRY,
)

BATCH_REQUESTS = Histogram("cenote_batch_inputs", "Inputs of a language step", buckets=SIZES, registry=REGISTRY)
BATCH_TOKENS = Histogram("cenote_batch_tokens", "Tokens of a language step", buckets=TOKENS, registry=REGISTRY)
STEP_SECONDS = Histogram("cenote_step_seconds", "An engine step", ["kind"], buckets=SECONDS, registry=REGISTRY)
VISION_ENCODES = Counter("cenote_vision_encodes_total", "Pictures run through the vision tower", registry=REGISTRY)
ARENA_BYTES = Gauge("cenote_pixel_arena_bytes", "Shared memory taken by pixels on their way", registry=REGISTRY)
UUID_STORE_BYTES = Gauge("cenote_uuid_store_bytes", "Pictures kept for clients' uuids", registry=REGISTRY)
PICTURES_DECODED = Counter("cenote_pictures_decoded_total", "Pictures and pairs of frames decoded", registry=REGISTRY)
VIDEOS_DECODED = Counter("cenote_videos_decoded_total", "Video files that frames were taken from", registry=REGISTRY)
SOUNDS_DECODED = Counter("cenote_sounds_decoded_total", "Sounds decoded", registry=REGISTRY)
DECODE_BYTES = Gauge("cenote_decode_bytes", "Memory of what is being decoded", registry=REGISTRY)
DECODE_WORKERS_REPLACED = Counter(
    "cenote_decode_workers_replaced_total", "Decoder processes that were killed or ended", ["reason"], registry=REGISTRY
)
DECODE_STDERR_BYTES = Counter("cenote_decode_stderr_bytes_total", "Bytes that codecs complained in", registry=REGISTRY)
PRECOMPUTED = Counter("cenote_precomputed_images_total", "Pictures that came as features", registry=REGISTRY)
MEDIA_FETCHES = Counter("cenote_media_fetches_total", "Pictures by URL", ["outcome"], registry=REGISTRY)
MEDIA_FETCHED_BYTES = Counter("cenote_media_fetched_bytes_total", "Bytes of pictures by URL", registry=REGISTRY)
MEDIA_MEMORY_BYTES = Gauge("cenote_media_memory_bytes", "Fetched pictures kept to be revalidated", registry=REGISTRY)
CACHE_HITS = Counter("cenote_encoder_cache_hits_total", "Pictures whose features were there", registry=REGISTRY)
CACHE_MISSES = Counter("cenote_encoder_cache_misses_total", "Pictures that had to be encoded", registry=REGISTRY)
CACHE_BYTES = Gauge("cenote_encoder_cache_bytes", "Bytes of features on the device", registry=REGISTRY)
CACHE_ENTRIES = Gauge("cenote_encoder_cache_entries", "Pictures with features on the device", registry=REGISTRY)
CACHE_EVICTIONS = Counter("cenote_encoder_cache_evictions_total", "Features pushed off the device", registry=REGISTRY)
CACHE_SAVED_SECONDS = Counter(
    "cenote_encoder_cache_saved_seconds_total", "Seconds of encoding that hits were spared", registry=REGISTRY
)
EVICTION_AGE = Histogram(
    "cenote_encoder_cache_eviction_age_seconds",
    "How long features that were pushed out of a tier had been in it",
    ["tier"],
    buckets=AGES,
    registry=REGISTRY,
)
RESULT_HITS = Counter("cenote_result_cache_hits_total", "Inputs whose vector was kept", registry=REGISTRY)
RESULT_MISSES = Counter("cenote_result_cache_misses_total", "Inputs whose vector was not kept", registry=REGISTRY)
RESULT_BYTES = Gauge("cenote_result_cache_bytes", "Bytes of kept vectors, their keeping included", registry=REGISTRY)
RESULT_ENTRIES = Gauge("cenote_result_cache_entries", "Prompts with a kept vector", registry=REGISTRY)
RESULT_EVICTIONS = Counter("cenote_result_cache_evictions_total", "Kept vectors pushed out", registry=REGISTRY)
DEDUPLICATED = Counter(
    "cenote_requests_deduplicated_total", "Inputs that shared another's run of the model", registry=REGISTRY
)
SHARED_VECTOR_HITS = Counter(
    "cenote_shared_vector_hits_total", "Inputs whose vector the shared server had", registry=REGISTRY
)
SHARED_VECTOR_MISSES = Counter(
    "cenote_shared_vector_misses_total", "Inputs whose vector it did not have", registry=REGISTRY
)
TIER_COUNTERS = {
    f"num_{name}": Counter(f"cenote_encoder_cache_tier_{name}_total", about, ["tier"], registry=REGISTRY)
    for name, about in (
        ("hits", "Features that were in a tier"),
        ("misses", "Features that a tier was asked for in vain"),
        ("evictions", "Features pushed out of a tier"),
        ("rejected", "Features not let into a tier"),
    )
}
TIER_GAUGES = {
    f"num_{name}": Gauge(f"cenote_encoder_cache_tier_{name}", about, ["tier"], registry=REGISTRY)
    for name, about in (
        ("bytes", "Bytes in a tier; Valkey's are the server's to tell"),
        ("entries", "Pictures in a tier; Valkey's are the server's to tell"),
    )
}
TIER_CORRUPT = Counter(
    "cenote_encoder_cache_tier_corrupt_total",
    "Features in a shared tier that were not sound",
    ["tier"],
    registry=REGISTRY,
)
TIER_HEALTH = {
    "is_up": Gauge(
        "cenote_encoder_cache_tier_up", "1 while a shared tier does what it should", ["tier"], registry=REGISTRY
    ),
    "last_success_s": Gauge(
        "cenote_encoder_cache_tier_last_success_timestamp_seconds",
        "When a shared tier last did; 0 before",
        ["tier"],
        registry=REGISTRY,
    ),
}
SHARED_TIERS = ("disk", "valkey")
"""Where others are at work as well; whether they are there is known when the engine says so."""

for _stage in (*STAGES, *ENGINE_STAGES):
    STAGE_SECONDS.labels(_stage)
for _code in ERROR_CODES:
    ERRORS.labels(_code)
for _reason in ("deadline", "lost", "start"):
    DECODE_WORKERS_REPLACED.labels(_reason)
for _outcome in ("fetched", "failed", "refused"):
    MEDIA_FETCHES.labels(_outcome)
for _code in ("invalid_request", "target_too_long", "head_too_large", "too_many_connections"):
    REFUSED_CONNECTIONS.labels(_code)
for _end in ("embedding", "error"):
    STREAM_LINES.labels(_end)
for _phase in ("head", "drain", "write"):
    SLOW_CONNECTIONS.labels(_phase)
for _kind in ("encode", "language"):
    STEP_SECONDS.labels(_kind)
for _tier in get_args(TierName):
    for _series in (*TIER_COUNTERS.values(), *TIER_GAUGES.values()):
        _series.labels(_tier)

_last_reports: dict[TierName, TierReport] = {}
_last_cache = CacheReport(num_entries=0, num_bytes=0, num_evictions=0)
"""What was reported last: engines count from their own start, series go on."""


def observe_step(step: StepDone) -> None:
    """Count what one step of the engine did."""
    if step.num_encoded:
        VISION_ENCODES.inc(step.num_encoded)
        STEP_SECONDS.labels("encode").observe(step.step_ms / 1e3)
    if step.num_tokens:
        BATCH_REQUESTS.observe(len(step.vectors) + len(step.failures))
        BATCH_TOKENS.observe(step.num_tokens)
        STEP_SECONDS.labels("language").observe(step.step_ms / 1e3)
    for vector in step.vectors:
        CACHE_HITS.inc(vector.num_hits)
        CACHE_MISSES.inc(vector.num_misses)
    CACHE_BYTES.set(step.cache.num_bytes)
    CACHE_ENTRIES.set(step.cache.num_entries)
    _observe_cache(step.cache)
    RESULT_HITS.inc(step.results.num_hits)
    RESULT_MISSES.inc(step.results.num_misses)
    RESULT_BYTES.set(step.results.num_bytes)
    RESULT_ENTRIES.set(step.results.num_entries)
    RESULT_EVICTIONS.inc(step.results.num_evictions)
    DEDUPLICATED.inc(step.results.num_deduplicated)
    for report in step.cache.tiers:
        _observe_tier(report)


def _observe_tier(report: TierReport) -> None:
    last = _last_reports.get(report.tier)
    for name, series in TIER_COUNTERS.items():
        count, before = getattr(report, name), getattr(last, name, 0)
        series.labels(report.tier).inc(_gain(count, before))
    for name, gauge in TIER_GAUGES.items():
        gauge.labels(report.tier).set(getattr(report, name))
    if report.tier in SHARED_TIERS:
        TIER_CORRUPT.labels(report.tier).inc(_gain(report.num_corrupt, getattr(last, "num_corrupt", 0)))
        for name, gauge in TIER_HEALTH.items():
            gauge.labels(report.tier).set(getattr(report, name))
    for age_s in report.evicted_after_s:
        EVICTION_AGE.labels(report.tier).observe(age_s)
    _last_reports[report.tier] = report


def _observe_cache(report: CacheReport) -> None:
    global _last_cache
    CACHE_EVICTIONS.inc(_gain(report.num_evictions, _last_cache.num_evictions))
    CACHE_SAVED_SECONDS.inc(_gain(report.saved_s, _last_cache.saved_s))
    _last_cache = report


def _gain(count: float, before: float) -> float:
    return count - before if count >= before else count  # less than before: a new engine


def show_limits(settings: Settings) -> None:
    """Give every setting that is a number a series; what is off or not set has none."""
    for name in FIELDS:
        value = getattr(settings, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            LIMIT.labels(name).set(value)


def render() -> bytes:
    """The whole registry in Prometheus' text format."""
    return generate_latest(REGISTRY)
