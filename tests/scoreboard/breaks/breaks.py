"""Every break of the product, by the line that must notice it."""

from tests.scoreboard.breaks import media, server
from tests.scoreboard.breaks.ways import Break

BREAKS = (*server.BREAKS, *media.BREAKS)


def of_line(name: str) -> tuple[Break, ...]:
    """Those that a line must notice."""
    return tuple(one for one in BREAKS if one.line == name)


def named(name: str) -> Break:
    """The one with this `line: name`."""
    (found,) = (one for one in BREAKS if f"{one.line}: {one.name}" == name)
    return found
