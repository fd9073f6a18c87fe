"""The arguments of `cenote serve`: every setting as a flag, in groups."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args, get_origin

from msgspec.structs import FieldInfo

from service.byte_sizes import UNITS
from service.settings.setting_sources import PREFIX
from service.settings.settings import FIELDS

GROUPS = {
    "model": "the model",
    "host": "listening",
    "device": "device and weights",
    "strict_reference": "reading of requests",
    "api_keys": "API keys",
    "allow_media_hosts": "images, audio and video by URL or from files",
    "encoder_cache_bytes": "caches",
    "pixel_arena_bytes": "batches and the queue",
    "max_tokens": "limits of a request, and media",
    "request_timeout_s": "timeouts and connections",
    "allowed_hosts": "hosts and origins",
    "metrics_port": "metrics and traces",
    "lame_duck_s": "shutdown",
    "engine_stuck_s": "the engine's health",
    "log_format": "logging",
}
"""First setting of each group, in the order of `Settings`; a group ends where the next one begins."""

METAVARS = {
    "model": "ID|NAME=ID",
    "device": "auto|cpu|cuda|cuda:N",
    "fronts": "auto|N",
    "min_bytes_per_s": "BYTES",
    "api_keys": "FILE",
    "disk_cache": "DIRECTORY",
    "media_paths": "DIRECTORY,...",
    "served_name": "NAME,...",
    "media_ports": "PORT,...",
    "nat64_prefixes": "PREFIX,...",
    "proxies": "ADDRESS,...",
    "allowed_origins": "ORIGIN,...",
    "image_background": "#RRGGBB",
    "otlp_endpoint": "URL",
    **dict.fromkeys(("allow_media_hosts", "allow_private_media_hosts", "allowed_hosts"), "HOST,..."),
    **dict.fromkeys(
        ("threads", "decode_workers", "max_batch_requests", "max_queue_requests", "max_media_fetches_per_host"), "N"
    ),
}

REPEATED = ("model",)
"""Flags that may come more than once, beside those of lists."""

USAGE = "cenote serve [--config FILE] [--SETTING VALUE ...]"
ABOUT = (
    "Serve models over HTTP. Every setting is a flag, a key of the TOML file of --config (`port = 8000`) and an "
    f"environment variable ({PREFIX}PORT); a flag overrides the environment, the environment the file. Sizes in "
    "bytes may end in KiB, MiB or GiB, or in kB, MB or GB (powers of 1,000)."
)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add every setting to the parser of `cenote serve`."""
    parser.usage, parser.description = USAGE, ABOUT
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings")
    for title, fields in setting_groups():
        group = parser.add_argument_group(title)
        for field in fields:
            _add_setting(group, field)


def setting_groups() -> Iterator[tuple[str, list[FieldInfo]]]:
    """Title and settings of each group, in the order of `--help`."""
    starts = list(GROUPS)
    fields = list(FIELDS.values())
    bounds = [list(FIELDS).index(name) for name in starts] + [len(fields)]
    for name, start, end in zip(starts, bounds, bounds[1:], strict=False):
        yield GROUPS[name], fields[start:end]


def flag_of(name: str) -> str:
    """A setting's name as a flag."""
    return f"--{name.replace('_', '-')}"


def meaning(field: FieldInfo) -> str:
    """A setting's description."""
    return str(next(meta.description for meta in field.type.__metadata__ if meta.description))


def default_of(field: FieldInfo) -> str:
    """A setting's default as one would write it: `1GiB`, `true`, `0.5`."""
    value = field.default
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if field.name.endswith("_bytes"):
        for unit, size in reversed(UNITS.items()):
            if value >= size and value % size == 0:
                return f"{value // size}{unit}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _add_setting(group: argparse._ArgumentGroup, field: FieldInfo) -> None:
    about = f"{meaning(field)} (default {default_of(field)}; {PREFIX}{field.name.upper()})".replace("%", "%%")
    flag, metavar = flag_of(field.name), _metavar(field)
    if isinstance(field.default, bool):
        group.add_argument(flag, nargs="?", const="true", default=argparse.SUPPRESS, metavar=metavar, help=about)
    elif isinstance(field.default, tuple) or field.name in REPEATED:
        group.add_argument(flag, default=argparse.SUPPRESS, action="append", metavar=metavar, help=about)
    else:
        group.add_argument(flag, default=argparse.SUPPRESS, metavar=metavar, help=about)


def _metavar(field: FieldInfo) -> str:
    if isinstance(field.default, bool):
        return "true|false"
    if field.name in METAVARS:
        return METAVARS[field.name]
    if get_origin(field.type.__origin__) is Literal:
        return "|".join(get_args(field.type.__origin__))
    word = field.name.rpartition("_")[2].upper()
    return "SECONDS" if word == "S" else word
