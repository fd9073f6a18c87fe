"""The models to serve: `--model ID`, `--model NAME=ID` more than once, and tables `[models.NAME]` of the TOML file.

A table has the settings of its model alone; what it leaves out is as for all. In: values with their sources. Out: one
table for each model, not converted yet.
"""

import difflib
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from service.settings.settings import FIXED, REPLACED, SettingsError

ModelTable = Mapping[str, tuple[str, Any]]
"""Settings by name: each with where it stood, for errors, and its value as it stood there."""

OF_ONE_MODEL = frozenset(
    {
        *("model", "revision", "served_name", "family", "device", "dtype", "weights", "threads", "strict_reference"),
        *("encoder_cache_bytes", "result_cache_bytes", "prefix_cache_bytes", "host_cache_bytes", "pixel_arena_bytes"),
        *("max_batch_tokens", "max_batch_requests", "max_queue_requests", "max_queue_tokens"),
        *(
            "max_tokens",
            "truncate_long_texts",
            "max_video_frames",
            "image_embeds",
            "image_background",
            "image_orientation",
        ),
        *("engine_stuck_s", "known_answer_s", "breaker_wait_s"),
    }
)
"""Settings that a table may have. All others are the service's: it has one address, and one set of keys."""

ONLY_IN_TABLES = ("revision", "served_name", "family")
"""Settings that say nothing where several models are served and no table names the one that is meant."""

NAMED = re.compile(r"([A-Za-z0-9][\w.-]{0,63})=(.+)", re.DOTALL)
"""A folder whose name has an equals sign is written with a slash before it: `./a=b`."""


def named_models(tables: tuple[str, Any] | None, given: tuple[str, Any] | None) -> list[ModelTable]:
    """One table for each model: first those of the file, then what was given; one without a name for `--model ID`.

    Args:
        tables: the file's `models`, with where they stand.
        given: the setting `model`, with where it stood; what it says of a table's name comes before the table.
    """
    found = {} if tables is None else _tables(*tables)
    if given is None:
        return [_complete(name, table) for name, table in found.items()]
    source, value = given
    pairs = _pairs(source, value)
    if pairs is None:
        if found:
            name = next(iter(found))
            raise SettingsError(f"{source}: got {value!r} beside the table [models.{name}]; expected NAME=ID")
        return [{"model": (source, value[0] if isinstance(value, list) else value)}]
    for name, model in pairs:
        found[name] = {**found.get(name, {}), "model": (source, model)}
    return [_complete(name, table) for name, table in found.items()]


def check_common(named: ModelTable) -> None:
    """Refuse, where several models are served, what must name one of them."""
    for name in ONLY_IN_TABLES:
        if name in named:
            source, value = named[name]
            raise SettingsError(
                f"{source}: got {value!r}, and several models are served; expected it as `{name}` in the table "
                "[models.NAME] of the one that is meant"
            )


def _pairs(source: str, value: Any) -> list[tuple[str, Any]] | None:
    """Names and models of `a=x`, `a=x,b=y` or a list of these; None for one model without a name."""
    parts = value if isinstance(value, list) else [value]
    if len(parts) == 1 and isinstance(parts[0], str) and NAMED.fullmatch(parts[0]):
        parts = re.split(r",(?=[A-Za-z0-9][\w.-]{0,63}=)", parts[0])
    found = [NAMED.fullmatch(part) if isinstance(part, str) else None for part in parts]
    if len(parts) == 1 and found[0] is None:
        return None
    pairs = [(one[1], one[2]) for one in found if one is not None]
    if len(pairs) < len(parts):
        part = parts[found.index(None)]
        raise SettingsError(f"{source}: got {part!r} as one of several models; expected NAME=ID, such as search={part}")
    twice = [name for name, num in Counter(name for name, _ in pairs).items() if num > 1]
    if twice:
        raise SettingsError(f"{source}: got the name {twice[0]!r} twice; expected another name for each model")
    return pairs


def _tables(source: str, tables: Any) -> dict[str, ModelTable]:
    if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
        raise SettingsError(f"{source}: expected tables [models.NAME]")
    found: dict[str, ModelTable] = {}
    for name, table in tables.items():
        if not NAMED.fullmatch(f"{name}=x"):
            raise SettingsError(f"{source}.{name}: expected a name of 1 to 64 letters, digits, dots, dashes and _")
        fields = {key.replace("-", "_"): (f"{source}.{name}.{key}", value) for key, value in table.items()}
        for key, (where, _) in fields.items():
            if key not in OF_ONE_MODEL | REPLACED.keys() | FIXED.keys():
                allowed = ", ".join(sorted(OF_ONE_MODEL))
                close = difflib.get_close_matches(key, OF_ONE_MODEL, 1)
                meant = f"; did you mean {close[0]}?" if close else ";"
                raise SettingsError(f"{where}: no setting of one model{meant} expected one of {allowed}")
        found[name] = fields
    return found


def _complete(name: str, table: ModelTable) -> ModelTable:
    """A table with the name that answers have, and that requests may give."""
    if "model" not in table:
        raise SettingsError(f"[models.{name}]: expected a key `model`, or --model {name}=ID")
    where, more = table.get("served_name", ("", []))
    return {**table, "served_name": (where, [name, *([more] if isinstance(more, str) else more)])}
