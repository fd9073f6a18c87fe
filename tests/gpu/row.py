"""One line of the table: what was asked, what came out, against which ceiling."""

from dataclasses import dataclass

NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        name: what is looked at.
        measured: the figure with its unit, or why there is none.
        ceiling: what the card itself does, in the same unit; empty where nothing limits it.
        share: measured / ceiling, or a ratio that is wanted.
        wanted: the bar, in words; empty for what is only told.
        holds: whether the bar is met; None where nothing was measured or no bar is set.
    """

    name: str
    measured: str = NOT_MEASURED
    ceiling: str = ""
    share: float | None = None
    wanted: str = ""
    holds: bool | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the Markdown table."""
        share = "" if self.share is None else f"{self.share:.2f}"
        verdict = {True: "holds", False: "**misses**", None: ""}[self.holds]
        return self.name, self.measured, self.ceiling, share, self.wanted, verdict
