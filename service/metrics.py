"""Prometheus series of the service; series whose label values are fixed exist from the start."""

from collections.abc import Awaitable, Callable, Sequence
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from schemas.errors import ERROR_CODES
from service.ipc.messages import StepReport
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


def _counter(name: str, about: str, *labels: str) -> Counter:
    return Counter(name, about, labels, registry=REGISTRY)


def _gauge(name: str, about: str, *labels: str) -> Gauge:
    return Gauge(name, about, labels, registry=REGISTRY)


def _histogram(name: str, about: str, buckets: Sequence[float], *labels: str) -> Histogram:
    return Histogram(name, about, labels, registry=REGISTRY, buckets=buckets)


REQUESTS = _counter("cenote_requests_total", "Requests answered, by route and status", "route", "status")
REQUEST_SECONDS = _histogram(
    "cenote_request_seconds", "Time from a request's first byte to its answer", SECONDS, "route"
)
STAGE_SECONDS = _histogram("cenote_stage_seconds", "Time of a request in each stage", SECONDS, "stage")
INPUTS = _histogram("cenote_inputs_per_request", "Inputs of a request", SIZES)
TRUNCATED = _counter("cenote_truncated_inputs_total", "Inputs whose text was truncated")
ERRORS = _counter("cenote_errors_total", "Errors sent, by code; items of per_item answers included", "code")
STREAMS = _gauge("cenote_streams", "Open streams of lines")
STREAM_LINES = _counter("cenote_stream_lines_total", "Stream lines answered", "end")

REFUSED_CONNECTIONS = _counter(
    "cenote_refused_connections_total", "Connections refused before a request was read", "code"
)
SLOW_CONNECTIONS = _counter("cenote_slow_connections_total", "Connections closed because the client was slow", "phase")
LIMIT = _gauge("cenote_limit", "Value of every numeric setting", "name")

LOOP_LAG = _histogram("cenote_event_loop_lag_seconds", "Delay of a timer on the front's event loop", LAGS)
LOOP_HELD = _histogram("cenote_event_loop_held_seconds", "The same delay without time spent waiting for a core", LAGS)

QUEUE_INPUTS = _gauge("cenote_queue_inputs", "Inputs admitted and not yet answered")
QUEUE_TOKENS = _gauge("cenote_queue_tokens", "Tokens admitted and not yet answered")
QUEUE_BYTES = _gauge("cenote_queue_bytes", "Bytes of request bodies and large answers in memory")
ANSWER_BYTES = _gauge("cenote_answer_bytes", "Bytes of large answers until they are sent")
ENGINE_READY = _gauge("cenote_engine_ready", "1 while the last health probe matched")
ENGINE_RESTARTS = _counter("cenote_engine_restarts_total", "Engine processes that ended unexpectedly")
ENGINE_STUCK = _counter("cenote_engine_stuck_total", "Engine processes killed by the watchdog")
WRONG_ANSWERS = _counter("cenote_known_answer_mismatches_total", "Health probes with a wrong vector")
BREAKER_OPEN = _gauge("cenote_engine_breaker_open", "1 while engines are not restarted, since too many died")
REQUESTS_SENT_AGAIN = _counter(
    "cenote_inputs_sent_again_total", "Inputs not yet started that were retried on the next engine"
)

BATCH_REQUESTS = _histogram("cenote_batch_inputs", "Inputs of a forward", SIZES)
BATCH_TOKENS = _histogram("cenote_batch_tokens", "Tokens of a forward", TOKENS)
STEP_SECONDS = _histogram(
    "cenote_step_seconds", "Time of an engine step: encoding of images, or forward", SECONDS, "kind"
)
VISION_ENCODES = _counter("cenote_vision_encodes_total", "Images encoded by the vision tower")
ARENA_BYTES = _gauge("cenote_pixel_arena_bytes", "Shared memory in use for pixels")
UUID_STORE_BYTES = _gauge("cenote_uuid_store_bytes", "Bytes of images kept under clients' uuids")
IMAGES_DECODED = _counter("cenote_pictures_decoded_total", "Images and pairs of video frames decoded")
VIDEOS_DECODED = _counter("cenote_videos_decoded_total", "Video files decoded")
AUDIOS_DECODED = _counter("cenote_sounds_decoded_total", "Audio files decoded")
DECODE_BYTES = _gauge("cenote_decode_bytes", "Memory of running decodes")
DECODE_WORKERS_REPLACED = _counter(
    "cenote_decode_workers_replaced_total", "Decoder processes replaced after they were killed or ended", "reason"
)
DECODE_STDERR_BYTES = _counter("cenote_decode_stderr_bytes_total", "Bytes that codecs wrote to stderr")
PRECOMPUTED = _counter("cenote_precomputed_images_total", "Images sent as features")
MEDIA_FETCHES = _counter("cenote_media_fetches_total", "Media fetched by URL, by outcome", "outcome")
MEDIA_FETCHED_BYTES = _counter("cenote_media_fetched_bytes_total", "Bytes of media fetched by URL")
MEDIA_MEMORY_BYTES = _gauge("cenote_media_memory_bytes", "Bytes of fetched images kept for revalidation")
CACHE_HITS = _counter("cenote_encoder_cache_hits_total", "Images whose features were cached")
CACHE_MISSES = _counter("cenote_encoder_cache_misses_total", "Images that had to be encoded")
CACHE_BYTES = _gauge("cenote_encoder_cache_bytes", "Bytes of features on the device")
CACHE_ENTRIES = _gauge("cenote_encoder_cache_entries", "Images with features on the device")
CACHE_EVICTIONS = _counter("cenote_encoder_cache_evictions_total", "Features evicted from the device")
CACHE_SAVED_SECONDS = _counter("cenote_encoder_cache_saved_seconds_total", "Seconds of encoding that cache hits saved")
EVICTION_AGE = _histogram(
    "cenote_encoder_cache_eviction_age_seconds", "Age of features evicted from a tier", AGES, "tier"
)
PREFIX_TOKENS = _counter(
    "cenote_prefix_cache_tokens_total", "Tokens of prompts that were not computed: what they begin with was kept"
)
RESULT_HITS = _counter("cenote_result_cache_hits_total", "Inputs whose vector was cached")
RESULT_MISSES = _counter("cenote_result_cache_misses_total", "Inputs whose vector was not cached")
RESULT_BYTES = _gauge("cenote_result_cache_bytes", "Bytes of cached vectors, overhead included")
RESULT_ENTRIES = _gauge("cenote_result_cache_entries", "Prompts with a cached vector")
RESULT_EVICTIONS = _counter("cenote_result_cache_evictions_total", "Cached vectors evicted")
DEDUPLICATED = _counter("cenote_requests_deduplicated_total", "Inputs answered by the forward of an identical one")
SHARED_VECTOR_HITS = _counter("cenote_shared_vector_hits_total", "Inputs whose vector was on the shared server")
SHARED_VECTOR_MISSES = _counter("cenote_shared_vector_misses_total", "Inputs whose vector was not on the shared server")
TIER_COUNTERS = {
    f"num_{name}": _counter(f"cenote_encoder_cache_tier_{name}_total", about, "tier")
    for name, about in (
        ("hits", "Features found in a tier"),
        ("misses", "Features not found in a tier"),
        ("evictions", "Features evicted from a tier"),
        ("rejected", "Features that a tier did not store"),
    )
}
TIER_GAUGES = {
    f"num_{name}": _gauge(f"cenote_encoder_cache_tier_{name}", about, "tier")
    for name, about in (
        ("bytes", "Bytes in a tier; not known of Valkey"),
        ("entries", "Images in a tier; not known of Valkey"),
    )
}
TIER_CORRUPT = _counter("cenote_encoder_cache_tier_corrupt_total", "Damaged values found in a shared tier", "tier")
TIER_UP = _gauge("cenote_encoder_cache_tier_up", "1 while the last use of a shared tier succeeded", "tier")
TIER_LAST_SUCCESS = _gauge(
    "cenote_encoder_cache_tier_last_success_timestamp_seconds",
    "When a use of a shared tier last succeeded; 0 before",
    "tier",
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


def observe_step(step: StepReport) -> None:
    """Count one step of the engine."""
    if step.num_encoded:
        VISION_ENCODES.inc(step.num_encoded)
        STEP_SECONDS.labels("encode").observe(step.step_ms / 1e3)
    if step.num_tokens:
        BATCH_REQUESTS.observe(step.num_requests)
        BATCH_TOKENS.observe(step.num_tokens)
        STEP_SECONDS.labels("language").observe(step.step_ms / 1e3)
    results = step.results
    RESULT_BYTES.set(results.num_bytes)
    RESULT_ENTRIES.set(results.num_entries)
    counts = (
        (CACHE_HITS, step.num_hits),
        (CACHE_MISSES, step.num_misses),
        (RESULT_HITS, results.num_hits),
        (RESULT_MISSES, results.num_misses),
        (RESULT_EVICTIONS, results.num_evictions),
        (DEDUPLICATED, results.num_deduplicated),
        (PREFIX_TOKENS, step.num_prefix_tokens),
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
        last = _last_reports.get(tier.tier)
        for name, series in TIER_COUNTERS.items():
            series.labels(tier.tier).inc(_gain(getattr(tier, name), getattr(last, name, 0)))
        for name, gauge in TIER_GAUGES.items():
            gauge.labels(tier.tier).set(getattr(tier, name))
        if tier.tier in SHARED_TIERS:
            TIER_CORRUPT.labels(tier.tier).inc(_gain(tier.num_corrupt, getattr(last, "num_corrupt", 0)))
            TIER_UP.labels(tier.tier).set(tier.is_up)
            TIER_LAST_SUCCESS.labels(tier.tier).set(tier.last_success_s)
        for age_s in tier.evicted_after_s:
            EVICTION_AGE.labels(tier.tier).observe(age_s)
        _last_reports[tier.tier] = tier
    _last_cache = report


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


Scrape = Callable[[], Awaitable[bytes]]
"""Gives every series of a service in Prometheus' text format, whose parts may be in several processes."""


async def scrape() -> bytes:
    """The registry of the only front; its process counts for the engine too."""
    return render()
