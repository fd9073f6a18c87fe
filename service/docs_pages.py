"""The pages `docs/settings.md` and `docs/metrics.md`, generated from `Settings` and from the registry of metrics."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from msgspec.structs import FieldInfo
from prometheus_client.metrics import MetricWrapperBase

from service import engine_series, metrics
from service.accounting import LoopHistogram, TenantCounts
from service.reference.markdown import table
from service.settings.serve_arguments import default_of, flag_of, meaning, setting_groups
from service.settings.setting_sources import PREFIX, allowed

SETTINGS_HEAD = f"""<!-- Generated from `Settings`: `make docs`. Do not edit. -->

# Settings of `cenote serve`

Each setting is a flag, an environment variable ({PREFIX}`NAME`) and a key of the TOML file given with `--config FILE`.
A flag overrides the environment, the environment the file. An unknown setting or an invalid value ends the start with
exit code 2. Sizes in bytes may end in KiB, MiB or GiB, or in kB, MB or GB
(powers of 1,000); lists are separated by commas.

The same table: `cenote serve --help`.
"""

METRICS_HEAD = """<!-- Generated from the metrics registry: `make docs`. Do not edit. -->

# Metrics

`GET /metrics`, in Prometheus' text format; on a port of its own with `--metrics-port`. A histogram has the series
`NAME_bucket`, `NAME_sum` and `NAME_count`. Counters continue when an engine is restarted. Series whose label values are
fixed exist from the start; others appear with their first event. Series about an engine have the label `model`, the
name that answers have, with one model too. Those with the label `front` are of each front process, from 0 to one below
`--fronts`, and begin anew when it is replaced: what a service has done is their sum.

[How to add one](../CONTRIBUTING.md#a-metric). Rules and dashboard:
[`deploy/prometheus/`](../deploy/prometheus), [`deploy/grafana/`](../deploy/grafana).
"""

PACKAGE = Path(__file__).parent
AnyCollector = MetricWrapperBase | LoopHistogram | TenantCounts
DECLARING = (metrics, engine_series)
"""Modules that register collectors."""


def render_settings() -> str:
    """`docs/settings.md`."""
    parts = [SETTINGS_HEAD]
    for title, fields in setting_groups():
        rows = (
            (
                f"`{flag_of(f.name)}`",
                f"`{PREFIX}{f.name.upper()}`",
                f"`{f.name}`",
                f"`{default_of(f)}`",
                _allowed(f),
                meaning(f),
            )
            for f in fields
        )
        head = ("Flag", "Environment", "TOML", "Default", "Allowed", "Meaning")
        parts.append(f"## {title[0].upper()}{title[1:]}\n\n{table(head, rows)}\n")
    return "\n".join(parts)


def render_metrics() -> str:
    """`docs/metrics.md`."""
    rows = [row for module in DECLARING for row in _module_rows(module)]
    return f"{METRICS_HEAD}\n{table(('Name', 'Type', 'Labels', 'Meaning', 'Counted in'), rows)}\n"


def _allowed(field: FieldInfo) -> str:
    return "strings" if isinstance(field.default, tuple) else allowed(field.name).removeprefix("one of ")


def _module_rows(module: ModuleType) -> Iterator[tuple[str, ...]]:
    for name, value in vars(module).items():
        collectors = value.values() if isinstance(value, dict) else (value,)
        for collector in collectors if name.isupper() else ():
            if isinstance(collector, AnyCollector):
                yield from _collector_rows(collector, _counted_in(module, name))


def _collector_rows(collector: AnyCollector, places: str) -> Iterator[tuple[str, ...]]:
    own_labels = collector._labelnames if isinstance(collector, MetricWrapperBase) else None
    of_front = ("front",) if collector in metrics.REGISTRY._collector_to_names else ()
    for family in collector.collect():
        names = family._labelnames if own_labels is None else own_labels  # type: ignore[attr-defined]
        labels = (*of_front, *names)
        name = family.name + ("_total" if family.type == "counter" else "")
        shown = ", ".join(f"`{label}`" for label in labels) or "-"
        yield f"`{name}`", family.type, shown, family.documentation, places


def _counted_in(module: ModuleType, name: str) -> str:
    """Links to the modules that use a collector: by its name in its own, or through a field of `EngineSeries`."""
    if module is engine_series:
        use = re.compile(rf"\b_?(?:self|series)\.{name.lower()}\b(?! = )")
    else:  # in its own module deep within a function, not where it is declared
        use = re.compile(rf"\bmetrics\.{name}\b|^ {{8,}}{name}\b", re.MULTILINE)
    paths = (path for path in sorted(PACKAGE.rglob("*.py")) if path != Path(__file__) and use.search(_text(path)))
    names = (path.relative_to(PACKAGE.parent).as_posix() for path in paths)
    return ", ".join(f"[`{shown}`](../{shown})" for shown in names)


@cache
def _text(path: Path) -> str:
    return path.read_text()
