"""Prometheus series of a front; those of the service's engines are in `engine_series.py`.

Series whose label values are fixed exist from the start. Each process renders its own, a front with the label `front`,
and one exposition of a service is all of them.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from schemas.errors import ERROR_CODES
from service.accounting import DEFERRED, ENGINE_STAGES, STAGES, LoopHistogram, TenantCounts
from service.settings.settings import FIELDS, Settings

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter

REGISTRY = CollectorRegistry()
"""Series of this front."""
SERVICE = CollectorRegistry()
"""Series of the service as a whole: of its engines, which all fronts share, and of its settings."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
LAGS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


def counter(name: str, about: str, *labels: str, registry: CollectorRegistry = REGISTRY) -> Counter:
    """A counter of a registry."""
    return Counter(name, about, labels, registry=registry)


def gauge(name: str, about: str, *labels: str, registry: CollectorRegistry = REGISTRY) -> Gauge:
    """A gauge of a registry."""
    return Gauge(name, about, labels, registry=registry)


def histogram(
    name: str, about: str, buckets: Sequence[float], *labels: str, registry: CollectorRegistry = REGISTRY
) -> Histogram:
    """A histogram of a registry."""
    return Histogram(name, about, labels, registry=registry, buckets=buckets)


REQUESTS = counter("cenote_requests_total", "Requests answered, by route and status", "route", "status")
REQUEST_SECONDS = LoopHistogram(
    "cenote_request_seconds", "Time from a request's first byte to its answer", SECONDS, "route", REGISTRY
)
STAGE_SECONDS = LoopHistogram("cenote_stage_seconds", "Time of a request in each stage", SECONDS, "stage", REGISTRY)
INPUTS = histogram("cenote_inputs_per_request", "Inputs of a request", SIZES)
TRUNCATED = counter("cenote_truncated_inputs_total", "Inputs whose text was truncated")
ERRORS = counter("cenote_errors_total", "Errors sent, by code; items of per_item answers included", "code")
STREAMS = gauge("cenote_streams", "Open streams of lines")
STREAM_LINES = counter("cenote_stream_lines_total", "Stream lines answered", "end")

REFUSED_CONNECTIONS = counter(
    "cenote_refused_connections_total", "Connections refused before a request was read", "code"
)
SLOW_CONNECTIONS = counter(
    "cenote_slow_connections_total", "Connections closed because the client was slow, or idle when others came", "phase"
)
LIMIT = gauge("cenote_limit", "Value of every numeric setting", "name", registry=SERVICE)

LOOP_LAG = histogram("cenote_event_loop_lag_seconds", "Delay of a timer on the front's event loop", LAGS)
LOOP_HELD = histogram("cenote_event_loop_held_seconds", "The same delay without time spent waiting for a core", LAGS)

QUEUE_INPUTS = gauge("cenote_queue_inputs", "Inputs admitted and not yet answered")
QUEUE_TOKENS = gauge("cenote_queue_tokens", "Tokens admitted and not yet answered")
QUEUE_BYTES = gauge("cenote_queue_bytes", "Bytes of request bodies and large answers in memory")
ANSWER_BYTES = gauge("cenote_answer_bytes", "Bytes of large answers until they are sent")
UUID_STORE_BYTES = gauge("cenote_uuid_store_bytes", "Bytes of images kept under clients' uuids")
IMAGES_DECODED = counter("cenote_pictures_decoded_total", "Images and pairs of video frames decoded")
VIDEOS_DECODED = counter("cenote_videos_decoded_total", "Video files decoded")
AUDIOS_DECODED = counter("cenote_sounds_decoded_total", "Audio files decoded")
DECODE_BYTES = gauge("cenote_decode_bytes", "Memory of running decodes")
DECODE_WORKERS_REPLACED = counter(
    "cenote_decode_workers_replaced_total", "Decoder processes replaced after they were killed or ended", "reason"
)
DECODE_STDERR_BYTES = counter("cenote_decode_stderr_bytes_total", "Bytes that codecs wrote to stderr")
PRECOMPUTED = counter("cenote_precomputed_images_total", "Images sent as features")
MEDIA_FETCHES = counter("cenote_media_fetches_total", "Media fetched by URL, by outcome", "outcome")
MEDIA_FETCHED_BYTES = counter("cenote_media_fetched_bytes_total", "Bytes of media fetched by URL")
MEDIA_MEMORY_BYTES = gauge("cenote_media_memory_bytes", "Bytes of fetched images kept for revalidation")

TENANTS = TenantCounts()
REGISTRY.register(TENANTS)

for _stage in (*STAGES, *ENGINE_STAGES):
    STAGE_SECONDS.show(_stage)
for _series, _values in (
    (ERRORS, ERROR_CODES),
    (DECODE_WORKERS_REPLACED, ("deadline", "lost", "memory", "start", "time")),
    (MEDIA_FETCHES, ("fetched", "failed", "refused")),
    (REFUSED_CONNECTIONS, ("invalid_request", "target_too_long", "head_too_large", "too_many_connections")),
    (STREAM_LINES, ("embedding", "error")),
    (SLOW_CONNECTIONS, ("head", "drain", "write", "waiting")),
):
    for _value in _values:
        _series.labels(_value)


def show_limits(settings: Settings) -> None:
    """Set `cenote_limit` of every numeric setting; a setting that is not set has no series."""
    for name in FIELDS:
        value = getattr(settings, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            LIMIT.labels(name).set(value)


class OfFront(Collector):
    """A front's series with its index as the label `front`."""

    def __init__(self, front: int) -> None:
        self._label = {"front": str(front)}

    def collect(self) -> Iterator[Metric]:
        """The series, as they are now."""
        for family in REGISTRY.collect():
            family.samples = [one._replace(labels={**one.labels, **self._label}) for one in family.samples]
            yield family


def render(front: int) -> bytes:
    """The series of this front in Prometheus' text format, with all that has been answered."""
    DEFERRED.finish()
    return generate_latest(OfFront(front))


def joined(expositions: Iterable[bytes]) -> bytes:
    """One exposition of those of several processes: each family once, with the series of all."""
    families: dict[bytes, tuple[bytes, list[bytes]]] = {}
    for exposition in expositions:
        for family in (b"\n" + exposition).split(b"\n# HELP ")[1:]:  # label values have their line feeds escaped
            about, kind, series = (family.rstrip(b"\n") + b"\n").split(b"\n", 2)
            head = b"# HELP %b\n%b\n" % (about, kind)
            families.setdefault(about.split(b" ", 1)[0], (head, []))[1].append(series)
    return b"".join(head + b"".join(series) for head, series in families.values())


Scrape = Callable[[], Awaitable[bytes]]
"""Gives every series of a service in Prometheus' text format, whose parts may be in several processes."""
