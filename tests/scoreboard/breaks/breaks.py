"""Every break of the product, by the line that must notice it."""

from tests.scoreboard.breaks import engine, front, http, media
from tests.scoreboard.breaks.ways import Break

BREAKS: dict[str, tuple[Break, ...]] = http.BREAKS | front.BREAKS | engine.BREAKS | media.BREAKS


def named(name: str) -> Break:
    """The one with this `line: name`."""
    line, _, what = name.partition(": ")
    (found,) = (one for one in BREAKS[line] if one.name == what)
    return found
