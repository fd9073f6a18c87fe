"""Prometheus series of the service; series whose label values are fixed exist from the start."""

from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from schemas.errors import ERROR_CODES
from service.ipc.messages import StepDone
from service.ipc.reports import CacheReport, TierName, TierReport
from service.settings import FIELDS, Settings
from service.stages import ENGINE_STAGES, STAGES

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter

REGISTRY = CollectorRegistry()
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
LAGS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
AGES = (1, 10, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600)
TOKENS = (16, 64, 256, 1024, 4096, 16384, 65536)

REQUESTS = Counter(
    "cenote_requests_total", "Requests answered, by route and status", ["route", "status"], registry=REGISTRY
)
REQUEST_SECONDS = Histogram(
    "cenote_request_seconds",
    "Time from a request's first byte to its answer",
    ["route"],
    buckets=SECONDS,
    registry=REGISTRY,
)
STAGE_SECONDS = Histogram(
    "cenote_stage_seconds",
    "Time of a request in each stage",
    ["stage"],
    buckets=SECONDS,
    registry=REGISTRY,
)
INPUTS = Histogram("cenote_inputs_per_request", "Inputs of a request", buckets=SIZES, registry=REGISTRY)
TRUNCATED = Counter("cenote_truncated_inputs_total", "Inputs whose text was truncated", registry=REGISTRY)
ERRORS = Counter(
    "cenote_errors_total", "Errors sent, by code; items of per_item answers included", ["code"], registry=REGISTRY
)
STREAMS = Gauge("cenote_streams", "Open streams of lines", registry=REGISTRY)
STREAM_LINES = Counter("cenote_stream_lines_total", "Stream lines answered", ["end"], registry=REGISTRY)

REFUSED_CONNECTIONS = Counter(
    "cenote_refused_connections_total", "Connections refused before a request was read", ["code"], registry=REGISTRY
)
SLOW_CONNECTIONS = Counter(
    "cenote_slow_connections_total", "Connections closed because the client was slow", ["phase"], registry=REGISTRY
)
LIMIT = Gauge("cenote_limit", "Value of every numeric setting", ["name"], registry=REGISTRY)

LOOP_LAG = Histogram(
    "cenote_event_loop_lag_seconds", "Delay of a timer on the front's event loop", buckets=LAGS, registry=REGISTRY
)
LOOP_HELD = Histogram(
    "cenote_event_loop_held_seconds",
    "The same delay without time spent waiting for a core",
    buckets=LAGS,
    registry=REGISTRY,
)

QUEUE_INPUTS = Gauge("cenote_queue_inputs", "Inputs admitted and not yet answered", registry=REGISTRY)
QUEUE_TOKENS = Gauge("cenote_queue_tokens", "Tokens admitted and not yet answered", registry=REGISTRY)
QUEUE_BYTES = Gauge("cenote_queue_bytes", "Bytes of request bodies and large answers in memory", registry=REGISTRY)
ANSWER_BYTES = Gauge("cenote_answer_bytes", "Bytes of large answers until they are sent", registry=REGISTRY)
ENGINE_READY = Gauge("cenote_engine_ready", "1 while the last health probe matched", registry=REGISTRY)
ENGINE_RESTARTS = Counter("cenote_engine_restarts_total", "Engine processes that ended unexpectedly", registry=REGISTRY)
ENGINE_STUCK = Counter("cenote_engine_stuck_total", "Engine processes killed by the watchdog", registry=REGISTRY)
WRONG_ANSWERS = Counter("cenote_known_answer_mismatches_total", "Health probes with a wrong vector", registry=REGISTRY)
BREAKER_OPEN = Gauge(
    "cenote_engine_breaker_open", "1 while engines are not restarted, since too many died", registry=REGISTRY
)
REQUESTS_SENT_AGAIN = Counter(
    "cenote_inputs_sent_again_total",
    "Inputs not yet started that were retried on the next engine",
    registry=REGISTRY,
)

BATCH_REQUESTS = Histogram("cenote_batch_inputs", "Inputs of a forward", buckets=SIZES, registry=REGISTRY)
BATCH_TOKENS = Histogram("cenote_batch_tokens", "Tokens of a forward", buckets=TOKENS, registry=REGISTRY)
STEP_SECONDS = Histogram(
    "cenote_step_seconds",
    "Time of an engine step: encoding of images, or forward",
    ["kind"],
    buckets=SECONDS,
    registry=REGISTRY,
)
VISION_ENCODES = Counter("cenote_vision_encodes_total", "Images encoded by the vision tower", registry=REGISTRY)
ARENA_BYTES = Gauge("cenote_pixel_arena_bytes", "Shared memory in use for pixels", registry=REGISTRY)
UUID_STORE_BYTES = Gauge("cenote_uuid_store_bytes", "Bytes of images kept under clients' uuids", registry=REGISTRY)
IMAGES_DECODED = Counter("cenote_pictures_decoded_total", "Images and pairs of video frames decoded", registry=REGISTRY)
VIDEOS_DECODED = Counter("cenote_videos_decoded_total", "Video files decoded", registry=REGISTRY)
AUDIOS_DECODED = Counter("cenote_sounds_decoded_total", "Audio files decoded", registry=REGISTRY)
DECODE_BYTES = Gauge("cenote_decode_bytes", "Memory of running decodes", registry=REGISTRY)
DECODE_WORKERS_REPLACED = Counter(
    "cenote_decode_workers_replaced_total",
    "Decoder processes replaced after they were killed or ended",
    ["reason"],
    registry=REGISTRY,
)
DECODE_STDERR_BYTES = Counter(
    "cenote_decode_stderr_bytes_total", "Bytes that codecs wrote to stderr", registry=REGISTRY
)
PRECOMPUTED = Counter("cenote_precomputed_images_total", "Images sent as features", registry=REGISTRY)
MEDIA_FETCHES = Counter(
    "cenote_media_fetches_total", "Media fetched by URL, by outcome", ["outcome"], registry=REGISTRY
)
MEDIA_FETCHED_BYTES = Counter("cenote_media_fetched_bytes_total", "Bytes of media fetched by URL", registry=REGISTRY)
MEDIA_MEMORY_BYTES = Gauge(
    "cenote_media_memory_bytes", "Bytes of fetched images kept for revalidation", registry=REGISTRY
)
CACHE_HITS = Counter("cenote_encoder_cache_hits_total", "Images whose features were cached", registry=REGISTRY)
CACHE_MISSES = Counter("cenote_encoder_cache_misses_total", "Images that had to be encoded", registry=REGISTRY)
CACHE_BYTES = Gauge("cenote_encoder_cache_bytes", "Bytes of features on the device", registry=REGISTRY)
CACHE_ENTRIES = Gauge("cenote_encoder_cache_entries", "Images with features on the device", registry=REGISTRY)
CACHE_EVICTIONS = Counter("cenote_encoder_cache_evictions_total", "Features evicted from the device", registry=REGISTRY)
CACHE_SAVED_SECONDS = Counter(
    "cenote_encoder_cache_saved_seconds_total", "Seconds of encoding that cache hits saved", registry=REGISTRY
)
EVICTION_AGE = Histogram(
    "cenote_encoder_cache_eviction_age_seconds",
    "Age of features evicted from a tier",
    ["tier"],
    buckets=AGES,
    registry=REGISTRY,
)
RESULT_HITS = Counter("cenote_result_cache_hits_total", "Inputs whose vector was cached", registry=REGISTRY)
RESULT_MISSES = Counter("cenote_result_cache_misses_total", "Inputs whose vector was not cached", registry=REGISTRY)
RESULT_BYTES = Gauge("cenote_result_cache_bytes", "Bytes of cached vectors, overhead included", registry=REGISTRY)
RESULT_ENTRIES = Gauge("cenote_result_cache_entries", "Prompts with a cached vector", registry=REGISTRY)
RESULT_EVICTIONS = Counter("cenote_result_cache_evictions_total", "Cached vectors evicted", registry=REGISTRY)
DEDUPLICATED = Counter(
    "cenote_requests_deduplicated_total", "Inputs answered by the forward of an identical one", registry=REGISTRY
)
SHARED_VECTOR_HITS = Counter(
    "cenote_shared_vector_hits_total", "Inputs whose vector was on the shared server", registry=REGISTRY
)
SHARED_VECTOR_MISSES = Counter(
    "cenote_shared_vector_misses_total", "Inputs whose vector was not on the shared server", registry=REGISTRY
)
TIER_COUNTERS = {
    f"num_{name}": Counter(f"cenote_encoder_cache_tier_{name}_total", about, ["tier"], registry=REGISTRY)
    for name, about in (
        ("hits", "Features found in a tier"),
        ("misses", "Features not found in a tier"),
        ("evictions", "Features evicted from a tier"),
        ("rejected", "Features that a tier did not store"),
    )
}
TIER_GAUGES = {
    f"num_{name}": Gauge(f"cenote_encoder_cache_tier_{name}", about, ["tier"], registry=REGISTRY)
    for name, about in (
        ("bytes", "Bytes in a tier; not known of Valkey"),
        ("entries", "Images in a tier; not known of Valkey"),
    )
}
TIER_CORRUPT = Counter(
    "cenote_encoder_cache_tier_corrupt_total", "Damaged values found in a shared tier", ["tier"], registry=REGISTRY
)
TIER_UP = Gauge(
    "cenote_encoder_cache_tier_up", "1 while the last use of a shared tier succeeded", ["tier"], registry=REGISTRY
)
TIER_LAST_SUCCESS = Gauge(
    "cenote_encoder_cache_tier_last_success_timestamp_seconds",
    "When a use of a shared tier last succeeded; 0 before",
    ["tier"],
    registry=REGISTRY,
)
SHARED_TIERS = ("disk", "valkey")
"""Tiers that several processes use. Their health series exist once an engine has reported them."""
SHARED_VECTORS = "vectors"
"""Label of the server of finished vectors, which the front asks: a shared tier without features."""

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
"""Last reports: an engine counts from its own start, a series continues over restarts."""


def observe_step(step: StepDone) -> None:
    """Count one step of the engine."""
    if step.num_encoded:
        VISION_ENCODES.inc(step.num_encoded)
        STEP_SECONDS.labels("encode").observe(step.step_ms / 1e3)
    if step.num_tokens:
        BATCH_REQUESTS.observe(len(step.vectors) + len(step.failures))
        BATCH_TOKENS.observe(step.num_tokens)
        STEP_SECONDS.labels("language").observe(step.step_ms / 1e3)
    results = step.results
    RESULT_BYTES.set(results.num_bytes)
    RESULT_ENTRIES.set(results.num_entries)
    counts = (
        (CACHE_HITS, sum(vector.num_hits for vector in step.vectors)),
        (CACHE_MISSES, sum(vector.num_misses for vector in step.vectors)),
        (RESULT_HITS, results.num_hits),
        (RESULT_MISSES, results.num_misses),
        (RESULT_EVICTIONS, results.num_evictions),
        (DEDUPLICATED, results.num_deduplicated),
    )
    for counter, count in counts:
        if count:
            counter.inc(count)
    if step.cache != _last_cache:  # a text leaves the encoder cache as it was
        _observe_cache(step.cache)


def _observe_cache(report: CacheReport) -> None:
    global _last_cache
    CACHE_BYTES.set(report.num_bytes)
    CACHE_ENTRIES.set(report.num_entries)
    CACHE_EVICTIONS.inc(_gain(report.num_evictions, _last_cache.num_evictions))
    CACHE_SAVED_SECONDS.inc(_gain(report.saved_s, _last_cache.saved_s))
    for tier in report.tiers:
        _observe_tier(tier)
    _last_cache = report


def _observe_tier(report: TierReport) -> None:
    last = _last_reports.get(report.tier)
    for name, series in TIER_COUNTERS.items():
        count, before = getattr(report, name), getattr(last, name, 0)
        series.labels(report.tier).inc(_gain(count, before))
    for name, gauge in TIER_GAUGES.items():
        gauge.labels(report.tier).set(getattr(report, name))
    if report.tier in SHARED_TIERS:
        TIER_CORRUPT.labels(report.tier).inc(_gain(report.num_corrupt, getattr(last, "num_corrupt", 0)))
        TIER_UP.labels(report.tier).set(report.is_up)
        TIER_LAST_SUCCESS.labels(report.tier).set(report.last_success_s)
    for age_s in report.evicted_after_s:
        EVICTION_AGE.labels(report.tier).observe(age_s)
    _last_reports[report.tier] = report


def _gain(count: float, before: float) -> float:
    return count - before if count >= before else count  # less than before: a new engine


def show_limits(settings: Settings) -> None:
    """Set `cenote_limit` of every numeric setting; a setting that is not set has no series."""
    for name in FIELDS:
        value = getattr(settings, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            LIMIT.labels(name).set(value)


def render() -> bytes:
    """The registry in Prometheus' text format."""
    return generate_latest(REGISTRY)
