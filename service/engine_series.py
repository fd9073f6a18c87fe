"""Prometheus series about one engine, each with the label `model`; the fields of two classes are named after them.

Series whose label values are fixed exist as soon as the model has a name.
"""

from functools import partial
from typing import get_args

from service import metrics
from service.ipc.messages import StepReport
from service.ipc.reports import CacheReport, TierName, TierReport
from service.metrics import SECONDS, SERVICE, SIZES

AGES = (1, 10, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600)
TOKENS = (16, 64, 256, 1024, 4096, 16384, 65536)

CORRUPT = "Damaged values found in a shared tier"
UP = "1 while the last use of a shared tier succeeded"
LAST_SUCCESS = "When a use of a shared tier last succeeded; 0 before"

MODEL = "model"
TIER = "tier"

counter = partial(metrics.counter, registry=SERVICE)
gauge = partial(metrics.gauge, registry=SERVICE)
histogram = partial(metrics.histogram, registry=SERVICE)

ENGINE_READY = gauge("cenote_engine_ready", "1 while the last health probe matched", MODEL)
ENGINE_RESTARTS = counter("cenote_engine_restarts_total", "Engine processes that ended unexpectedly", MODEL)
ENGINE_STUCK = counter("cenote_engine_stuck_total", "Engine processes killed by the watchdog", MODEL)
WRONG_ANSWERS = counter("cenote_known_answer_mismatches_total", "Health probes with a wrong vector", MODEL)
BREAKER_OPEN = gauge("cenote_engine_breaker_open", "1 while engines are not restarted, since too many died", MODEL)
BATCH_INPUTS = histogram("cenote_batch_inputs", "Inputs of a forward", SIZES, MODEL)
BATCH_TOKENS = histogram("cenote_batch_tokens", "Tokens of a forward", TOKENS, MODEL)
STEP_SECONDS = histogram(
    "cenote_step_seconds", "Time of an engine step: encoding of images, or forward", SECONDS, MODEL, "kind"
)
VISION_ENCODES = counter("cenote_vision_encodes_total", "Images encoded by the vision tower", MODEL)
CACHE_HITS = counter("cenote_encoder_cache_hits_total", "Images whose features were cached", MODEL)
CACHE_MISSES = counter("cenote_encoder_cache_misses_total", "Images that had to be encoded", MODEL)
CACHE_BYTES = gauge("cenote_encoder_cache_bytes", "Bytes of features on the device", MODEL)
CACHE_ENTRIES = gauge("cenote_encoder_cache_entries", "Images with features on the device", MODEL)
CACHE_EVICTIONS = counter("cenote_encoder_cache_evictions_total", "Features evicted from the device", MODEL)
CACHE_SAVED_SECONDS = counter(
    "cenote_encoder_cache_saved_seconds_total", "Seconds of encoding that cache hits saved", MODEL
)
EVICTION_AGE = histogram(
    "cenote_encoder_cache_eviction_age_seconds", "Age of features evicted from a tier", AGES, MODEL, TIER
)
PREFIX_TOKENS = counter(
    "cenote_prefix_cache_tokens_total", "Tokens of prompts that were not computed: what they begin with was kept", MODEL
)
RESULT_HITS = counter("cenote_result_cache_hits_total", "Inputs whose vector was cached", MODEL)
RESULT_MISSES = counter("cenote_result_cache_misses_total", "Inputs whose vector was not cached", MODEL)
RESULT_BYTES = gauge("cenote_result_cache_bytes", "Bytes of cached vectors, overhead included", MODEL)
RESULT_ENTRIES = gauge("cenote_result_cache_entries", "Prompts with a cached vector", MODEL)
RESULT_EVICTIONS = counter("cenote_result_cache_evictions_total", "Cached vectors evicted", MODEL)
DEDUPLICATED = counter(
    "cenote_requests_deduplicated_total", "Inputs answered by the forward of an identical one", MODEL
)
TIER_COUNTERS = {
    f"num_{name}": counter(f"cenote_encoder_cache_tier_{name}_total", about, MODEL, TIER)
    for name, about in (
        ("hits", "Features found in a tier"),
        ("misses", "Features not found in a tier"),
        ("evictions", "Features evicted from a tier"),
        ("rejected", "Features that a tier did not store"),
    )
}
TIER_GAUGES = {
    f"num_{name}": gauge(f"cenote_encoder_cache_tier_{name}", about, MODEL, TIER)
    for name, about in (
        ("bytes", "Bytes in a tier; not known of Valkey"),
        ("entries", "Images in a tier; not known of Valkey"),
    )
}
TIER_CORRUPT = counter("cenote_encoder_cache_tier_corrupt_total", CORRUPT, MODEL, TIER)
TIER_UP = gauge("cenote_encoder_cache_tier_up", UP, MODEL, TIER)
TIER_LAST_SUCCESS = gauge("cenote_encoder_cache_tier_last_success_timestamp_seconds", LAST_SUCCESS, MODEL, TIER)
OWN_TIERS: tuple[TierName, ...] = ("device", "host")
"""Tiers of one engine. Only they tell the ages of what they evict."""
SHARED_TIERS = ("disk", "valkey")
"""Tiers that several processes use. Their health series exist once an engine has reported them."""
SHARED_VECTORS = "vectors"
"""Label of the server of finished vectors, which the front asks: a shared tier without features."""

# Of a front.

SENT_AGAIN = metrics.counter(
    "cenote_inputs_sent_again_total", "Inputs not yet started that were retried on the next engine", MODEL
)
ARENA_BYTES = metrics.gauge("cenote_pixel_arena_bytes", "Shared memory in use for pixels", MODEL)
SHARED_VECTOR_HITS = metrics.counter(
    "cenote_shared_vector_hits_total", "Inputs whose vector was on the shared server", MODEL
)
SHARED_VECTOR_MISSES = metrics.counter(
    "cenote_shared_vector_misses_total", "Inputs whose vector was not on the shared server", MODEL
)
VECTORS_CORRUPT = metrics.counter("cenote_encoder_cache_tier_corrupt_total", CORRUPT, MODEL, TIER)
VECTORS_UP = metrics.gauge("cenote_encoder_cache_tier_up", UP, MODEL, TIER)
VECTORS_LAST_SUCCESS = metrics.gauge(
    "cenote_encoder_cache_tier_last_success_timestamp_seconds", LAST_SUCCESS, MODEL, TIER
)


class EngineSeries:
    """The series of one model's engines, made once by who keeps them.

    An engine counts from its own start, a series goes on over restarts: the last reports are kept to tell what is new.
    """

    def __init__(self, model: str) -> None:
        """Begin with zeros; `model` is the name that answers have."""
        self.engine_ready = ENGINE_READY.labels(model)
        self.engine_restarts = ENGINE_RESTARTS.labels(model)
        self.engine_stuck = ENGINE_STUCK.labels(model)
        self.wrong_answers = WRONG_ANSWERS.labels(model)
        self.breaker_open = BREAKER_OPEN.labels(model)
        self.batch_inputs = BATCH_INPUTS.labels(model)
        self.batch_tokens = BATCH_TOKENS.labels(model)
        self.step_seconds = {kind: STEP_SECONDS.labels(model, kind) for kind in ("encode", "language")}
        self.vision_encodes = VISION_ENCODES.labels(model)
        self.cache_hits = CACHE_HITS.labels(model)
        self.cache_misses = CACHE_MISSES.labels(model)
        self.cache_bytes = CACHE_BYTES.labels(model)
        self.cache_entries = CACHE_ENTRIES.labels(model)
        self.cache_evictions = CACHE_EVICTIONS.labels(model)
        self.cache_saved_seconds = CACHE_SAVED_SECONDS.labels(model)
        self.eviction_age = {tier: EVICTION_AGE.labels(model, tier) for tier in OWN_TIERS}
        self.prefix_tokens = PREFIX_TOKENS.labels(model)
        self.result_hits = RESULT_HITS.labels(model)
        self.result_misses = RESULT_MISSES.labels(model)
        self.result_bytes = RESULT_BYTES.labels(model)
        self.result_entries = RESULT_ENTRIES.labels(model)
        self.result_evictions = RESULT_EVICTIONS.labels(model)
        self.deduplicated = DEDUPLICATED.labels(model)
        tiers = get_args(TierName)
        self.tier_counters = {
            tier: {name: one.labels(model, tier) for name, one in TIER_COUNTERS.items()} for tier in tiers
        }
        self.tier_gauges = {
            tier: {name: one.labels(model, tier) for name, one in TIER_GAUGES.items()} for tier in tiers
        }
        self.tier_corrupt = partial(TIER_CORRUPT.labels, model)
        self.tier_up = partial(TIER_UP.labels, model)
        self.tier_last_success = partial(TIER_LAST_SUCCESS.labels, model)
        self._last_cache = CacheReport(num_entries=0, num_bytes=0, num_evictions=0)
        self._last_tiers: dict[TierName, TierReport] = {}

    def observe_step(self, step: StepReport) -> None:
        """Count one step of the engine."""
        if step.num_encoded:
            self.vision_encodes.inc(step.num_encoded)
            self.step_seconds["encode"].observe(step.step_ms / 1e3)
        if step.num_tokens:
            self.batch_inputs.observe(step.num_requests)
            self.batch_tokens.observe(step.num_tokens)
            self.step_seconds["language"].observe(step.step_ms / 1e3)
        results = step.results
        self.result_bytes.set(results.num_bytes)
        self.result_entries.set(results.num_entries)
        counts = (
            (self.cache_hits, step.num_hits),
            (self.cache_misses, step.num_misses),
            (self.result_hits, results.num_hits),
            (self.result_misses, results.num_misses),
            (self.result_evictions, results.num_evictions),
            (self.deduplicated, results.num_deduplicated),
            (self.prefix_tokens, step.num_prefix_tokens),
        )
        for series, count in counts:
            if count:
                series.inc(count)
        if step.cache != self._last_cache:  # a text leaves the encoder cache as it was
            self._observe_cache(step.cache)

    def _observe_cache(self, report: CacheReport) -> None:
        last, self._last_cache = self._last_cache, report
        self.cache_bytes.set(report.num_bytes)
        self.cache_entries.set(report.num_entries)
        self.cache_evictions.inc(_gain(report.num_evictions, last.num_evictions))
        self.cache_saved_seconds.inc(_gain(report.saved_s, last.saved_s))
        for one in report.tiers:
            tier, before = one.tier, self._last_tiers.get(one.tier, TierReport(tier=one.tier))
            self._last_tiers[tier] = one
            for name, total in self.tier_counters[tier].items():
                total.inc(_gain(getattr(one, name), getattr(before, name)))
            for name, level in self.tier_gauges[tier].items():
                level.set(getattr(one, name))
            if tier in SHARED_TIERS:
                self.tier_corrupt(tier).inc(_gain(one.num_corrupt, before.num_corrupt))
                self.tier_up(tier).set(one.is_up)
                self.tier_last_success(tier).set(one.last_success_s)
            for age_s in one.evicted_after_s:
                self.eviction_age[tier].observe(age_s)


class ClientSeries:
    """The series of what one front has to do with one model's engines."""

    def __init__(self, model: str) -> None:
        """Begin with zeros; `model` is the name that answers have."""
        self.sent_again = SENT_AGAIN.labels(model)
        self.arena_bytes = ARENA_BYTES.labels(model)
        self.shared_vector_hits = SHARED_VECTOR_HITS.labels(model)
        self.shared_vector_misses = SHARED_VECTOR_MISSES.labels(model)
        self.vectors_corrupt = partial(VECTORS_CORRUPT.labels, model, SHARED_VECTORS)
        self.vectors_up = partial(VECTORS_UP.labels, model, SHARED_VECTORS)
        self.vectors_last_success = partial(VECTORS_LAST_SUCCESS.labels, model, SHARED_VECTORS)


def _gain(count: float, before: float) -> float:
    return count - before if count >= before else count  # less than before: a new engine
