"""Reads settings from flags, environment variables `CENOTE_<NAME>` and the TOML file of `--config`.

A flag overrides the environment, the environment the file, the file the default. An unknown setting is an error in all.
"""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from schemas.parsing.paths import expectation, types_at
from service.byte_sizes import plain_bytes
from service.settings.model_tables import ONLY_IN_TABLES, ModelTable, check_common, named_models
from service.settings.settings import FIELDS, FIXED, REPLACED, Settings, SettingsError

PREFIX = "CENOTE_"
NOTHING: Mapping[str, str] = {}
DEVICES = "auto, cpu, cuda or cuda:N"


def load_settings(
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    config: Path | None = None,
    unnamed: Mapping[str, str] = NOTHING,
) -> Settings:
    """Merge file, environment and flags.

    Args:
        flags: strings by name, lists of them for flags that came more than once; `models` with tables as in the file.
        config: the TOML file.
        unnamed: models by name, which are served where no source names one, or says something of one alone.
    """
    named = {
        **({} if config is None else _from_file(config)),
        **{
            name.removeprefix(PREFIX).lower(): (f"environment variable {name}", value)
            for name, value in environ.items()
            if name.startswith(PREFIX)
        },
        **{name: (f"--{name.replace('_', '-')}", value) for name, value in flags.items()},
    }
    if unnamed and named.keys().isdisjoint(("model", "models", "weights", *ONLY_IN_TABLES)):
        named["model"] = ("the default", [f"{name}={model}" for name, model in unnamed.items()])
    tables = named_models(named.pop("models", None), named.pop("model", None))
    values = _values(named)
    if not tables:
        return Settings(**values)
    models = [_values(table) for table in tables]
    if len(models) == 1:
        models[0]["served_name"] = (*models[0].get("served_name", ()), *values.get("served_name", ()))
        return Settings(**values | models[0])
    check_common(named)
    return Settings(**values, models=tuple(Settings(**values | one) for one in models))


def _values(named: ModelTable) -> dict[str, Any]:
    """Settings by name, each from its source's notation."""
    for name, (source, _) in named.items():
        if name not in FIELDS:
            raise _unknown(source, name)
    return {name: _convert(name, source, value) for name, (source, value) in named.items()}


def unknown_flag(argument: str) -> SettingsError:
    """The error for an unknown argument of `cenote serve`, `--flag`, `--flag=value` or another word."""
    flag, _, _ = argument.partition("=")
    if not flag.startswith("--"):
        return SettingsError(f"serve: got {argument!r}, expected a flag; `cenote serve --help` lists them")
    return _unknown(flag, flag.removeprefix("--").replace("-", "_"))


def _unknown(source: str, name: str) -> SettingsError:
    """The error for an unknown name, with the setting that is meant in the notation of its source."""
    if name in FIXED:
        return SettingsError(f"{source}: no setting any more; it is always {FIXED[name]}")
    if name in REPLACED:
        return SettingsError(f"{source}: no setting any more; use {_notation(source, REPLACED[name])}")
    close = difflib.get_close_matches(name, FIELDS, 1)
    meant = f"; did you mean {_notation(source, close[0])}?" if close else ";"
    return SettingsError(f"{source}: unknown setting{meant} `cenote serve --help` lists them")


def _notation(source: str, name: str) -> str:
    """A setting's name as its source writes it: a flag, an environment variable or a key."""
    if source.startswith("--"):
        return f"--{name.replace('_', '-')}"
    return f"{PREFIX}{name.upper()}" if source.startswith("environment") else name


def _from_file(path: Path) -> dict[str, tuple[str, Any]]:
    try:
        content = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:  # missing, not UTF-8 or not TOML
        raise SettingsError(f"--config {path}: {error}") from error
    for name, value in content.items():
        if isinstance(value, dict) and name != "models":
            of_models = [key for key, one in value.items() if isinstance(one, dict)] or ["NAME"]
            close = difflib.get_close_matches(name, ("models",))
            meant = f"; did you mean [models.{of_models[0]}]?" if close else ";"
            told = "settings stand at the top of the file, those of one model in [models.NAME]"
            raise SettingsError(f"{path}: unknown table [{name}]{meant} {told}")
    return {name.replace("-", "_"): (f"{path}: {name}", value) for name, value in content.items()}


def _convert(name: str, source: str, value: Any) -> Any:
    if isinstance(value, str) and name.endswith("_bytes"):
        value = plain_bytes(value)
    if isinstance(FIELDS[name].default, tuple):
        value = _list(value)
    try:
        return msgspec.convert(value, FIELDS[name].type, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        size = ", or a size such as 1GiB" if name.endswith("_bytes") else ""
        raise SettingsError(f"{source}: got {value!r}, expected {allowed(name)}{size}") from error


def allowed(name: str) -> str:
    """The values of a setting in words."""
    return DEVICES if name == "device" else expectation(types_at(FIELDS[name].type, ""))


def _list(value: Any) -> Any:
    """`a,b`, or a list of such strings, as a list of names; other values unchanged, for the conversion to refuse."""
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return value
    return [name.strip() for part in parts for name in part.split(",")]
