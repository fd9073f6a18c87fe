"""Where settings come from: a flag, an environment variable `CENOTE_<NAME>`, a key of the TOML file of `--config`.

A flag wins over the environment, the environment over the file, the file over the default. A setting that nobody
declared stops the start, wherever it stands.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from schemas.paths import expectation, types_at
from service.settings import FIELDS, Settings, SettingsError

PREFIX = "CENOTE_"
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def load_settings(
    flags: Mapping[str, str | list[str]], environ: Mapping[str, str], config: Path | None = None
) -> Settings:
    """Merge file, environment and flags.

    Raises:
        SettingsError: a name is unknown, or a value is not one that the setting can have.
    """
    named = {
        **_from_file(config),
        **{
            name.removeprefix(PREFIX).lower(): (f"environment variable {name}", value)
            for name, value in environ.items()
            if name.startswith(PREFIX)
        },
        **{name: (f"--{name.replace('_', '-')}", value) for name, value in flags.items()},
    }
    values = {}
    for name, (source, value) in named.items():
        if name not in FIELDS:
            raise SettingsError(f"{source}: there is no such setting; `cenote serve --help` lists them")
        values[name] = _convert(name, source, value)
    return Settings(**values)


def _from_file(path: Path | None) -> dict[str, tuple[str, Any]]:
    if path is None:
        return {}
    try:
        content = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:  # not there, not UTF-8, not TOML
        raise SettingsError(f"--config {path}: {error}") from error
    return {name.replace("-", "_"): (f"{path}: {name}", value) for name, value in content.items()}


def _convert(name: str, source: str, value: Any) -> Any:
    if isinstance(value, str) and name.endswith("_bytes"):
        value = _bytes(value)
    if isinstance(FIELDS[name].default, tuple):
        value = _list(value)
    try:
        return msgspec.convert(value, FIELDS[name].type, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        wanted = expectation(types_at(FIELDS[name].type, ""))
        raise SettingsError(f"{source}: got {value!r}, expected {wanted}") from error


def _list(value: Any) -> Any:
    """`a,b`, or a list of such, as a list of names; what is no text is left for the conversion to refuse."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return value
    return [name.strip() for part in parts for name in part.split(",")]


def _bytes(text: str) -> str:
    """`2GiB` as a number of bytes; anything else unchanged."""
    match = re.fullmatch(r"(\d+)\s*(KiB|MiB|GiB)", text)
    return str(int(match[1]) * UNITS[match[2]]) if match else text
