"""Every setting, with its default and what it is for. `setting_sources.py` says where values come from."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from schemas.content import COLOR_PATTERN

Positive = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]
PositiveSeconds = Annotated[float, Meta(gt=0)]


class SettingsError(Exception):
    """A setting is unknown or has a value that it cannot have; the message names it."""


def _about(description: str) -> Meta:
    return Meta(description=description)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole configuration, read once at start."""

    model: Annotated[str, _about("`builtin`, a folder, or a hub id such as Qwen/Qwen3-VL-Embedding-2B")] = "builtin"
    revision: Annotated[str | None, _about("commit, tag or branch of the hub id")] = None
    served_name: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        _about("names in /v1/models and for `model`, the first in answers; the canonical id when not given"),
    ] = ()
    family: Annotated[
        str | None,
        _about("whose prompts the model takes, a page of service/prompt/families; its files say when not given"),
    ] = None
    host: Annotated[str, _about("address to listen on")] = "127.0.0.1"
    port: Annotated[Annotated[int, Meta(ge=0, le=65535)], _about("port to listen on; 0 takes a free one")] = 8000
    listen: Annotated[
        Literal["at-once", "when-ready"],
        _about(
            "when connections are taken: at-once answers 503 while the model loads, when-ready refuses them till then"
        ),
    ] = "at-once"
    device: Annotated[str, _about("auto, cpu, cuda or cuda:N; auto is the first CUDA device or the CPU")] = "auto"
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"],
        _about("number format of the weights; auto is float32 on the CPU and the checkpoint's own elsewhere"),
    ] = "auto"
    weights: Annotated[
        Literal["as-is", "int8"],
        _about("int8 multiplies by 8-bit copies: CPU only, faster, refused where it bends vectors"),
    ] = "as-is"
    threads: Annotated[NotNegative, _about("CPU threads of the engine; 0 takes what the container's quota allows")] = 0
    strict_reference: Annotated[bool, _about("parse special tokens in user text, as the reference embedder does")] = (
        False
    )
    unknown_fields: Annotated[
        Literal["refuse", "ignore"], _about("what happens to a request field that the schema does not have")
    ] = "refuse"
    token_arrays: Annotated[
        Literal["refuse", "accept"], _about("what happens to token ids as input; accepted, they are a whole prompt")
    ] = "refuse"  # noqa: S105  # not that kind of token
    api_keys: Annotated[
        str | None, _about("file of API keys, one JSON object a line; without it nobody is asked for a key")
    ] = None
    allow_media_hosts: Annotated[
        str | None,
        _about("hosts that pictures may be fetched from: `a.example,*.b.example`, or `*` for every public one"),
    ] = None
    allow_private_media_hosts: Annotated[
        str | None, _about("hosts that pictures may be fetched from also where their addresses are private")
    ] = None
    media_ports: Annotated[str, _about("ports that pictures may be fetched from")] = "80,443"
    nat64_prefixes: Annotated[
        str | None, _about("IPv6 prefixes that this network translates to IPv4, besides 64:ff9b::/96")
    ] = None
    media_paths: Annotated[str | None, _about("directories that `file:` URLs may name files below")] = None
    media_fetch_timeout_s: Annotated[PositiveSeconds, _about("longest time of one fetch, redirects included")] = 10.0
    media_connect_timeout_s: Annotated[PositiveSeconds, _about("longest time to connect, within a fetch")] = 3.0
    max_media_redirects: Annotated[NotNegative, _about("redirects that one fetch follows")] = 3
    max_media_fetch_bytes: Annotated[Positive, _about("bytes fetched for one request, all pictures together")] = (
        64 << 20
    )
    max_media_fetches_per_host: Annotated[Positive, _about("fetches from one host at once; more wait")] = 8
    max_media_fetches_per_tenant: Annotated[Positive, _about("fetches for one tenant at once; more wait")] = 16
    media_memory_bytes: Annotated[
        NotNegative, _about("cap of fetched pictures kept to be revalidated (ETag); 0 keeps none")
    ] = 64 << 20
    encoder_cache_bytes: Annotated[NotNegative, _about("cap of the vision-feature cache; 0 switches it off")] = 1 << 30
    result_cache_bytes: Annotated[
        NotNegative, _about("cap of the vectors kept for prompts that come again; 0 switches it off")
    ] = 64 << 20
    host_cache_bytes: Annotated[
        NotNegative, _about("cap of features that left the GPU and stay in pinned memory; unused on the CPU")
    ] = 2 << 30
    disk_cache: Annotated[str | None, _about("directory that features are kept in as well")] = None
    disk_cache_bytes: Annotated[Positive, _about("cap of that directory, of all who share it")] = 10 << 30
    valkey_url: Annotated[str | None, _about("Valkey or Redis server that processes share; extra `valkey`")] = None
    valkey_keeps: Annotated[
        Literal["both", "vectors", "features"],
        _about("what that server keeps: finished vectors (unless --result-cache-bytes is 0), features, or both"),
    ] = "both"
    uuid_store_bytes: Annotated[
        NotNegative, _about("cap of the pictures kept for clients' uuids; 0 knows a uuid only within its request")
    ] = 256 << 20
    pixel_arena_bytes: Annotated[
        Annotated[int, Meta(ge=1 << 16)], _about("shared memory for decoded pictures on their way to the engine")
    ] = 256 << 20
    max_batch_tokens: Annotated[Positive, _about("tokens of one language step")] = 8192
    max_batch_requests: Annotated[Positive, _about("inputs of one language step")] = 256
    max_encoder_tokens: Annotated[Positive, _about("visual tokens of one encode step")] = 2048
    max_queue_requests: Annotated[Positive, _about("inputs under way at once; more are answered 503")] = 8192
    max_queue_tokens: Annotated[Positive, _about("tokens under way at once; more are answered 503")] = 1 << 20
    max_queue_bytes: Annotated[Positive, _about("bytes of request bodies held at once; more are answered 503")] = (
        512 << 20
    )
    max_answer_bytes: Annotated[
        Positive, _about("bytes that large answers hold, from their work to their last byte; more are answered 503")
    ] = 512 << 20
    max_tenant_share: Annotated[
        Annotated[float, Meta(gt=0, le=1)],
        _about("part of queue and caches that one tenant may hold, where there are keys"),
    ] = 0.5
    max_tokens: Annotated[NotNegative, _about("longest prompt; 0 takes the model's own limit")] = 0
    max_body_bytes: Annotated[Positive, _about("largest request body")] = 32 << 20
    max_image_bytes: Annotated[Positive, _about("largest encoded picture")] = 20 << 20
    max_image_pixels: Annotated[Positive, _about("largest picture before it is resized")] = 33_200_000
    max_video_frames: Annotated[
        Annotated[int, Meta(ge=2)], _about("frames of one video that the model sees, at most as many as its reference")
    ] = 64
    max_video_bytes: Annotated[Positive, _about("largest video file; by URL `max_image_bytes` holds too")] = 64 << 20
    max_video_s: Annotated[PositiveSeconds, _about("longest video file, in seconds of playing")] = 600.0
    video_timeout_s: Annotated[PositiveSeconds, _about("longest time a video file may take to decode")] = 20.0
    max_audio_bytes: Annotated[Positive, _about("largest sound file; by URL `max_image_bytes` holds too")] = 64 << 20
    max_audio_s: Annotated[PositiveSeconds, _about("longest sound, in seconds of playing")] = 300.0
    audio_timeout_s: Annotated[PositiveSeconds, _about("longest time a sound may take to decode")] = 20.0
    image_embeds: Annotated[
        Literal["accept", "refuse"], _about("what happens to features that clients send in place of pictures")
    ] = "accept"
    image_background: Annotated[
        Annotated[str, Meta(pattern=COLOR_PATTERN)] | None,
        _about(
            "color under transparent pixels, as #rrggbb, where a request gives none; when not given as the reference: "
            "white under RGBA, the stored color in palette and gray pictures"
        ),
    ] = None
    image_orientation: Annotated[
        Literal["ignore", "apply"], _about("what is done about the EXIF orientation; the reference ignores it")
    ] = "ignore"
    decode_isolation: Annotated[
        Literal["auto", "threads", "processes"],
        _about("where pictures are decoded; auto is processes; threads are for who trusts every picture"),
    ] = "auto"
    decode_workers: Annotated[
        NotNegative, _about("threads or processes that decode; 0 takes as many as the container's quota has cores")
    ] = 0
    decode_timeout_s: Annotated[Annotated[float, Meta(gt=0)], _about("longest time a picture may take to decode")] = 5.0
    max_decode_bytes: Annotated[
        Positive, _about("memory of all pictures that are decoded at once; one that takes more is refused")
    ] = 512 << 20
    max_features_bytes: Annotated[
        Positive,
        _about("features of one /v1/image_embeds answer, or vectors of one answer with several for each input"),
    ] = 256 << 20
    request_timeout_s: Annotated[
        Annotated[float, Meta(gt=0)], _about("longest time a request may take; X-Request-Timeout may ask for less")
    ] = 300.0
    body_timeout_s: Annotated[
        Annotated[float, Meta(gt=0)], _about("time for a request's body; longer while it comes at the least rate")
    ] = 15.0
    min_bytes_per_s: Annotated[Positive, _about("least rate of a slow body, and of a client that reads its answer")] = (
        16_000
    )
    stream_idle_s: Annotated[
        PositiveSeconds, _about("how long a stream of lines may stay open without a new byte; a blank line is one")
    ] = 60.0
    max_stream_lines: Annotated[
        Positive, _about("lines of one stream under way at once; the rest of it is not read before")
    ] = 1024
    head_timeout_s: Annotated[Annotated[float, Meta(gt=0)], _about("time for a request's line and headers")] = 10.0
    keep_alive_s: Annotated[
        Annotated[int, Meta(ge=1)],
        _about("how long an idle connection is kept: longer than clients keep theirs, so that it is they who close it"),
    ] = 75
    max_connections: Annotated[Positive, _about("connections at once; above, only probes are answered, others 503")] = (
        1024
    )
    max_head_bytes: Annotated[Annotated[int, Meta(ge=1024)], _about("request line and headers together")] = 32 << 10
    allowed_hosts: Annotated[
        str | None, _about("host names that requests may be addressed to, separated by commas; any when not given")
    ] = None
    allowed_origins: Annotated[
        str | None,
        _about("origins whose pages may use the API from a browser: `https://app.example,...`, or `*` for every page"),
    ] = None
    metrics_port: Annotated[
        Annotated[int, Meta(ge=0, le=65535)] | None,
        _about("port of its own for /metrics, which the main one then lacks"),
    ] = None
    otlp_endpoint: Annotated[
        str | None, _about("URL that spans are sent to by OTLP over HTTP, such as http://localhost:4318/v1/traces")
    ] = None
    lame_duck_s: Annotated[
        Annotated[float, Meta(ge=0)],
        _about("after SIGTERM, how long connections are still accepted while /readyz is 503"),
    ] = 10.0
    drain_timeout_s: Annotated[
        Annotated[float, Meta(gt=0)], _about("after that, how long accepted requests have to finish")
    ] = 25.0
    engine_load_s: Annotated[
        Annotated[float, Meta(ge=1)], _about("how long an engine may take to load before another is started")
    ] = 1800.0
    engine_stuck_s: Annotated[
        Annotated[float, Meta(ge=1)],
        _about("least silence after which the engine counts as stuck; 5 times its slowest like step when that is more"),
    ] = 10.0
    known_answer_s: Annotated[
        Annotated[float, Meta(gt=0)], _about("how often the engine is asked the question whose answer is known")
    ] = 60.0
    breaker_deaths: Annotated[
        Positive, _about("ends of the engine within 60 s after which it is left alone for breaker_wait_s")
    ] = 5
    breaker_wait_s: Annotated[
        Annotated[float, Meta(gt=0)], _about("how long before another engine is tried, then one end is enough")
    ] = 30.0
    log_format: Annotated[Literal["human", "json"], _about("form of the log lines on stderr")] = "human"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], _about("least severe log line that is written")
    ] = "info"

    @property
    def fetches_image_urls(self) -> bool:
        """Whether any host is configured that pictures may be fetched from."""
        return self.allow_media_hosts is not None or self.allow_private_media_hosts is not None


FIELDS = {field.name: field for field in msgspec.structs.fields(Settings)}
