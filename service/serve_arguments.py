"""The arguments of `cenote serve`: every setting as a flag, in groups, with what it may be.

A setting's group is that of the settings around it: groups begin with a setting each and go on to the next one's.
"""

import argparse
from pathlib import Path

import msgspec

from schemas.paths import choices, types_at
from service.setting_sources import PREFIX
from service.settings import FIELDS

GROUPS = {
    "model": "the model",
    "host": "where it listens",
    "device": "how it computes",
    "strict_reference": "how requests are read",
    "api_keys": "keys",
    "allow_media_hosts": "images, audio and video by URL or from files",
    "encoder_cache_bytes": "caches",
    "pixel_arena_bytes": "batches and the queue",
    "max_tokens": "limits of a request, and media",
    "request_timeout_s": "time and connections",
    "allowed_hosts": "hosts and origins",
    "metrics_port": "metrics and traces",
    "lame_duck_s": "the end",
    "engine_load_s": "the engine's health",
    "log_format": "the log",
}
"""The first setting of each group, in the order of `Settings`."""

METAVARS = {"api_keys": "FILE", "disk_cache": "DIRECTORY", "media_paths": "DIRECTORY,...", "served_name": "NAME,..."}
"""Where neither the choices nor the name say it."""

USAGE = "cenote serve [--config FILE] [--SETTING VALUE ...]"
ABOUT = (
    "Serve a model over HTTP. Every setting is a flag, a key of the TOML file of --config (`port = 8000`) and an "
    f"environment variable ({PREFIX}PORT); a flag wins over the environment, the environment over the file. Sizes in "
    "bytes may have KiB, MiB or GiB behind them."
)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Every setting, in groups.

    Args:
        parser: of `cenote serve`.
    """
    parser.usage, parser.description = USAGE, ABOUT
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings")
    group: argparse._ArgumentGroup = parser.add_argument_group(GROUPS["model"])
    for name, field in FIELDS.items():
        if name in GROUPS and name != "model":
            group = parser.add_argument_group(GROUPS[name])
        _add_setting(group, name, field)


def _add_setting(group: argparse._ArgumentGroup, name: str, field: msgspec.structs.FieldInfo) -> None:
    flag = f"--{name.replace('_', '-')}"
    about = next(meta.description for meta in field.type.__metadata__ if meta.description)
    default = field.default if field.default not in (None, ()) else "none"
    shown = f"{about} (default {default}; {PREFIX}{name.upper()})".replace("%", "%%")
    metavar = _metavar(name, field)
    if isinstance(field.default, bool):
        group.add_argument(flag, nargs="?", const="true", default=argparse.SUPPRESS, metavar=metavar, help=shown)
    elif isinstance(field.default, tuple):
        group.add_argument(flag, default=argparse.SUPPRESS, action="append", metavar=metavar, help=shown)
    else:
        group.add_argument(flag, default=argparse.SUPPRESS, metavar=metavar, help=shown)


def _metavar(name: str, field: msgspec.structs.FieldInfo) -> str:
    if isinstance(field.default, bool):
        return "true|false"
    if named := choices(types_at(field.type, "")):
        return "|".join(named)
    word = name.rpartition("_")[2].upper()
    return METAVARS.get(name, "SECONDS" if word == "S" else word)
