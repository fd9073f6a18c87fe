"""What the fronts of one service show each other, so that a limit holds for all of them together.

Each front shows its own counts by name and reads the others'. A front that is alone has nobody to ask (`ALONE`);
several have shared memory (`shared_counts.py`). The names:

| name | counts | until |
| --- | --- | --- |
| `queue`, `queue/TENANT` | inputs, tokens, bytes under way | |
| `bodies` | requests whose bodies are held | |
| `answers`, `answers/TENANT` | bytes of large answers | |
| `rate` | tokens finished since the start; thousandths of a token per second | when that was measured |
| `MODEL/queue`, `MODEL/queue/TENANT`, `MODEL/rate` | the same of one of several models | |
| `key/SHA256` | requests of an API key under way | the time that its requests have used up |
"""

from typing import Protocol

from service.front.admission.load import Load

QUEUE, BODIES, ANSWERS, RATE = "queue", "bodies", "answers", "rate"

SERVICE_WIDE = (QUEUE, BODIES, ANSWERS, RATE)
"""Names that every front has from its start to its end."""


Shown = tuple[int, int, int, int]
"""What is shown under one name: three counts, and a time in ns on `time.monotonic`, which the processes of one machine
share; 0 for none."""


class OtherFronts(Protocol):
    """The other fronts of the service; used on the event loop only."""

    @property
    def num_fronts(self) -> int:
        """Fronts of the service, this one included."""
        ...

    def load(self, name: str) -> Load:
        """A load of the service, of which this front holds nothing yet."""
        ...

    def show(self, name: str, first: int, second: int = 0, third: int = 0, until_ns: int = 0) -> None:
        """Show this front's counts to the others, in place of those before."""
        ...

    def sums(self, name: str) -> Shown | None:
        """The sums of what the others show, with the latest of their times; None where none of them shows the name."""
        ...

    def latest(self, name: str) -> Shown | None:
        """What the front with the latest time shows; None where none of the others shows the name."""
        ...


class NoOtherFronts:
    """A front that is alone: its own counts are those of the service."""

    @property
    def num_fronts(self) -> int:
        """One."""
        return 1

    def load(self, name: str) -> Load:
        """This front's own."""
        return Load()

    def show(self, name: str, first: int, second: int = 0, third: int = 0, until_ns: int = 0) -> None:
        """Show nothing: there is nobody."""

    def sums(self, name: str) -> Shown | None:
        """None."""
        return None

    def latest(self, name: str) -> Shown | None:
        """None."""
        return None


class PartOfFronts:
    """What the fronts show each other of one model, where they serve several: the same names behind the model's."""

    def __init__(self, whole: OtherFronts, model: str) -> None:
        self._whole = whole
        self._prefix = f"{model}/"

    @property
    def num_fronts(self) -> int:
        """Fronts of the service."""
        return self._whole.num_fronts

    def load(self, name: str) -> Load:
        """See `OtherFronts.load`."""
        return self._whole.load(self._prefix + name)

    def show(self, name: str, first: int, second: int = 0, third: int = 0, until_ns: int = 0) -> None:
        """See `OtherFronts.show`."""
        self._whole.show(self._prefix + name, first, second, third, until_ns)

    def sums(self, name: str) -> Shown | None:
        """See `OtherFronts.sums`."""
        return self._whole.sums(self._prefix + name)

    def latest(self, name: str) -> Shown | None:
        """See `OtherFronts.latest`."""
        return self._whole.latest(self._prefix + name)


ALONE = NoOtherFronts()
