"""Every setting with its default and meaning. `setting_sources.py` reads them; `cenote serve --help` shows them."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from schemas.content.parts import COLOR_PATTERN
from schemas.endpoints.models import LongTexts

MOST = 1 << 50
"""No machine has as many bytes, no model as many tokens."""
MAX_S = 86_400.0
"""A day: threads and selectors fail on waits without an end."""

Positive = Annotated[int, Meta(ge=1, le=MOST)]
NotNegative = Annotated[int, Meta(ge=0, le=MOST)]
Seconds = Annotated[float, Meta(ge=0.001, le=MAX_S)]


class SettingsError(Exception):
    """A setting is unknown or its value is invalid; the message names the setting."""


def _about(description: str) -> Meta:
    return Meta(description=description)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole configuration, read once at start."""

    model: Annotated[
        str,
        _about(
            "`builtin`, `builtin-reranker`, a folder, or a hub id such as Qwen/Qwen3-VL-Embedding-2B; as NAME=ID more "
            "than once to serve several, see docs/several-models.md; with none named, and the extra `text` installed, "
            "all-MiniLM-L6-v2 and both built-in ones"
        ),
    ] = "builtin"
    revision: Annotated[str | None, _about("commit, tag or branch of the hub id")] = None
    served_name: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        _about("names in /v1/models and of `model`; answers have the first; the canonical id if not set"),
    ] = ()
    family: Annotated[
        str | None, _about("model family, an entry of service/prompt/families; from the checkpoint's files if not set")
    ] = None
    host: Annotated[str, _about("address to listen on")] = "127.0.0.1"
    port: Annotated[Annotated[int, Meta(ge=0, le=65535)], _about("port to listen on; 0 takes a free one")] = 8000
    listen: Annotated[
        Literal["at-once", "when-ready"],
        _about("when to accept connections: at-once answers 503 while the model loads, when-ready refuses until then"),
    ] = "at-once"
    fronts: Annotated[
        Annotated[int, Meta(ge=1, le=64)] | Literal["auto"],
        _about("front processes, which read requests and write answers; auto takes one for every four cores"),
    ] = 1
    device: Annotated[
        Annotated[str, Meta(pattern=r"\A(auto|cpu|cuda(:\d{1,3})?)\Z")],
        _about("where the engine runs; auto is the first CUDA device, or the CPU where there is none"),
    ] = "auto"
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"],
        _about("number format of the weights; auto is float32 on the CPU and the checkpoint's own elsewhere"),
    ] = "auto"
    weights: Annotated[
        Literal["as-is", "int8"],
        _about("int8 multiplies by 8-bit copies of the weights: CPU only, faster, refused if vectors change too much"),
    ] = "as-is"
    threads: Annotated[
        Annotated[int, Meta(ge=0, le=1024)], _about("CPU threads of the engine; 0 takes the container's CPU quota")
    ] = 0
    strict_reference: Annotated[bool, _about("parse special tokens in user text, as the reference embedder does")] = (
        False
    )
    unknown_fields: Annotated[
        Literal["refuse", "ignore"], _about("what to do with a request field that the schema does not have")
    ] = "refuse"
    token_arrays: Annotated[
        Literal["refuse", "accept"], _about("what to do with token ids as input; accepted, they are the whole prompt")
    ] = "refuse"  # noqa: S105  # not that kind of token
    truncate_long_texts: Annotated[
        LongTexts,
        _about(
            "what to do with a text over the model's limit where the request does not say: refuse it, or cut off its "
            "end, which `truncated` of the answer reports; media, instructions and templates are never cut"
        ),
    ] = "refuse"
    api_keys: Annotated[
        str | None, _about("file of API keys, one JSON object a line; without it no key is required")
    ] = None
    allow_media_hosts: Annotated[
        str | None,
        _about("hosts from which media may be fetched: `a.example,*.b.example`, or `*` for every public host"),
    ] = None
    allow_private_media_hosts: Annotated[
        str | None, _about("hosts from which media may be fetched even if their addresses are private")
    ] = None
    media_urls: Annotated[
        Literal["read", "text"],
        _about(
            "how a text that is nothing but the URL of a media file on such a host is read: as the file, or as text"
        ),
    ] = "read"
    media_ports: Annotated[str, _about("ports from which media may be fetched")] = "80,443"
    nat64_prefixes: Annotated[
        str | None, _about("IPv6 prefixes that this network translates to IPv4 (NAT64), besides 64:ff9b::/96")
    ] = None
    media_paths: Annotated[str | None, _about("directories below which `file:` URLs may name files")] = None
    media_fetch_timeout_s: Annotated[
        Seconds, _about("time limit of one fetch, redirects included, and of waiting for other fetches from its host")
    ] = 10.0
    max_media_fetches_per_host: Annotated[
        Positive, _about("maximum concurrent fetches from one host; one tenant may have twice as many in all")
    ] = 8
    encoder_cache_bytes: Annotated[
        NotNegative, _about("capacity of the encoder cache (vision features); 0 disables it")
    ] = 1 << 30
    result_cache_bytes: Annotated[
        NotNegative, _about("capacity of the result cache (vectors of repeated prompts); 0 disables it")
    ] = 64 << 20
    prefix_cache_bytes: Annotated[
        NotNegative,
        _about("capacity of the prefix cache (instructions that begin prompts, of Qwen3-VL on the CPU); 0 disables it"),
    ] = 64 << 20
    host_cache_bytes: Annotated[
        NotNegative,
        _about("capacity of the host cache (vision features that left the GPU, in pinned memory); unused on the CPU"),
    ] = 2 << 30
    disk_cache: Annotated[str | None, _about("directory of the shared disk tier of the encoder cache")] = None
    disk_cache_bytes: Annotated[Positive, _about("capacity of that directory, for all processes that share it")] = (
        10 << 30
    )
    valkey_url: Annotated[
        str | None, _about("URL of a Valkey or Redis server that replicas share; needs the extra `valkey`")
    ] = None
    valkey_keeps: Annotated[
        Literal["both", "vectors", "features"],
        _about("what that server stores: vectors (unless --result-cache-bytes is 0), features, or both"),
    ] = "both"
    media_store_bytes: Annotated[
        NotNegative,
        _about(
            "capacity of images that clients name by `uuid`; images that are revalidated by their URL (ETag) get a "
            "quarter of it on top; 0 keeps neither after its request"
        ),
    ] = 256 << 20
    pixel_arena_bytes: Annotated[
        Annotated[int, Meta(ge=1 << 16, le=1 << 40)], _about("shared memory that carries pixels to the engine")
    ] = 256 << 20
    max_batch_tokens: Annotated[
        Positive, _about("maximum tokens of one forward; a step of the vision encoder takes a quarter as many")
    ] = 8192
    max_batch_requests: Annotated[Positive, _about("maximum inputs of one forward")] = 256
    max_queue_requests: Annotated[
        Positive, _about("maximum inputs in the queue and in work; more are answered 503")
    ] = 8192
    max_queue_tokens: Annotated[Positive, _about("maximum tokens in the queue and in work; more are answered 503")] = (
        1 << 20
    )
    max_queue_bytes: Annotated[
        Positive,
        _about(
            "maximum bytes of request bodies in memory, and again of large answers until they are sent; more are "
            "answered 503"
        ),
    ] = 512 << 20
    max_tenant_share: Annotated[
        Annotated[float, Meta(ge=0.001, le=1)],
        _about("largest share of queue and caches that one tenant may hold, with --api-keys"),
    ] = 0.5
    max_tokens: Annotated[NotNegative, _about("maximum tokens of a prompt; 0 takes the model's own limit")] = 0
    max_body_bytes: Annotated[Positive, _about("largest request body")] = 32 << 20
    max_image_bytes: Annotated[Positive, _about("largest encoded image")] = 20 << 20
    max_image_pixels: Annotated[Positive, _about("maximum pixels of an image before resizing")] = 33_200_000
    max_video_frames: Annotated[
        Annotated[int, Meta(ge=2, le=MOST)],
        _about("maximum frames taken from one video; the model's own maximum holds too"),
    ] = 64
    max_media_bytes: Annotated[
        Positive,
        _about(
            "largest video, audio or PDF file, and most that is fetched for one request; `max_image_bytes` holds for "
            "each file that is fetched, too"
        ),
    ] = 64 << 20
    max_video_s: Annotated[Seconds, _about("longest video, or requested part of one")] = 600.0
    max_audio_s: Annotated[Seconds, _about("longest audio")] = 300.0
    image_embeds: Annotated[Literal["accept", "refuse"], _about("what to do with features sent in place of images")] = (
        "accept"
    )
    image_background: Annotated[
        Annotated[str, Meta(pattern=COLOR_PATTERN)] | None,
        _about(
            "color under transparent pixels, unless the request has one; if not set, as the reference embedder: white "
            "under RGBA, the stored color in palette and gray images"
        ),
    ] = None
    image_orientation: Annotated[
        Literal["ignore", "apply"], _about("whether to apply the EXIF orientation; the reference ignores it")
    ] = "ignore"
    decode_isolation: Annotated[
        Literal["auto", "threads", "processes"],
        _about("where media are decoded; auto is processes; threads only if every image is trusted"),
    ] = "auto"
    decode_workers: Annotated[
        Annotated[int, Meta(ge=0, le=256)],
        _about("threads or processes that decode; 0 takes the cores of the container's CPU quota"),
    ] = 0
    decode_timeout_s: Annotated[
        Seconds,
        _about("time limit of decoding an image; a page of a PDF has twice as long, video and audio four times"),
    ] = 5.0
    max_decode_bytes: Annotated[
        Positive, _about("memory of concurrent decodes; an image that alone needs more is refused")
    ] = 512 << 20
    max_features_bytes: Annotated[
        Positive,
        _about("maximum bytes of one answer of /v1/image_embeds, or of one with several vectors for each input"),
    ] = 256 << 20
    request_timeout_s: Annotated[Seconds, _about("time limit of a request; X-Request-Timeout may ask for less")] = 300.0
    receive_timeout_s: Annotated[
        Seconds,
        _about(
            "time limit of receiving request line and headers; a body has half as much again, and longer while it "
            "arrives at the minimum rate"
        ),
    ] = 10.0
    min_bytes_per_s: Annotated[
        Positive,
        _about("slowest rate a second of a request body, of fetched media and of a client that reads its answer"),
    ] = 16_000
    stream_idle_s: Annotated[Seconds, _about("how long a stream may be silent; a blank line keeps it open")] = 60.0
    max_stream_lines: Annotated[
        Positive, _about("maximum lines of one stream in work; further lines are not read until then")
    ] = 1024
    keep_alive_s: Annotated[
        Annotated[int, Meta(ge=1, le=86_400)],
        _about("how long an idle connection is kept; longer than clients keep theirs, so that the client closes it"),
    ] = 75
    max_connections: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)],
        _about(
            "maximum connections; beyond them idle ones are closed, and where none is idle only probes are answered"
        ),
    ] = 1024
    proxies: Annotated[
        str | None,
        _about(
            "addresses that stand for many clients, `10.0.0.7,10.1.0.0/16`, which may hold all connections; any other "
            "address (of IPv6, any other /64) may hold half of them"
        ),
    ] = None
    allowed_hosts: Annotated[
        str | None, _about("host names that requests may be addressed to, separated by commas; any if not set")
    ] = None
    allowed_origins: Annotated[
        str | None,
        _about("origins whose pages may call the API from a browser (CORS): `https://app.example,...`, or `*` for all"),
    ] = None
    metrics_port: Annotated[
        Annotated[int, Meta(ge=0, le=65535)] | None,
        _about("separate port for /metrics, which the main port then does not have"),
    ] = None
    otlp_endpoint: Annotated[
        str | None, _about("URL to export spans to by OTLP over HTTP, such as http://localhost:4318/v1/traces")
    ] = None
    lame_duck_s: Annotated[
        Annotated[float, Meta(ge=0, le=MAX_S)],
        _about("after SIGTERM, how long connections are accepted while /readyz is 503"),
    ] = 10.0
    drain_timeout_s: Annotated[
        Seconds, _about("after --lame-duck-s, how long accepted requests may take to finish")
    ] = 25.0
    engine_stuck_s: Annotated[
        Annotated[float, Meta(ge=1, le=MAX_S)],
        _about("silence after which the engine counts as stuck; 5 times its slowest similar step if that is longer"),
    ] = 10.0
    known_answer_s: Annotated[Seconds, _about("interval of the health probe, an embedding whose vector is known")] = (
        60.0
    )
    breaker_wait_s: Annotated[
        Annotated[float, Meta(ge=0, le=MAX_S)],
        _about(
            "how long an engine that died 5 times within 60 s is not restarted (the breaker is open), and again after "
            "one more death; 0 always restarts it"
        ),
    ] = 30.0
    log_format: Annotated[Literal["human", "json"], _about("format of log lines on stderr")] = "human"
    log_level: Annotated[Literal["debug", "info", "warning", "error"], _about("minimum severity of log lines")] = "info"
    models: tuple["Settings", ...] = ()
    """Where several models are served, the settings of each: these, but for what its table says."""

    @property
    def fetches_image_urls(self) -> bool:
        """True if media may be fetched from any host."""
        return self.allow_media_hosts is not None or self.allow_private_media_hosts is not None

    @property
    def of_each_model(self) -> tuple["Settings", ...]:
        """The settings of every model that is served."""
        return self.models or (self,)

    @property
    def model_ids(self) -> str:
        """The models to serve, for log lines."""
        return ", ".join(one.model for one in self.of_each_model)


REPLACED = {
    **dict.fromkeys(("video_timeout_s", "audio_timeout_s", "pdf_timeout_s"), "decode_timeout_s"),
    **dict.fromkeys(("max_video_bytes", "max_audio_bytes", "max_pdf_bytes"), "max_media_bytes"),
    "max_media_fetch_bytes": "max_media_bytes",
    **dict.fromkeys(("head_timeout_s", "body_timeout_s"), "receive_timeout_s"),
    **dict.fromkeys(("uuid_store_bytes", "media_memory_bytes"), "media_store_bytes"),
    "media_connect_timeout_s": "media_fetch_timeout_s",
    "max_media_fetches_per_tenant": "max_media_fetches_per_host",
    "max_answer_bytes": "max_queue_bytes",
    "max_encoder_tokens": "max_batch_tokens",
    "max_peer_share": "proxies",
    "breaker_deaths": "breaker_wait_s",
}
"""Settings of before, by the one that each was merged into."""
FIXED = {"engine_load_s": "1800 s", "max_head_bytes": "32 KiB", "max_media_redirects": "3"}
"""Settings of before that are constants."""

FIELDS = {field.name: field for field in msgspec.structs.fields(Settings) if field.name != "models"}
"""Every setting that has a flag, an environment variable and a key; `models` is made of those by `model_tables.py`."""
