"""The dead-letter file: a line for each item that has no vector, with the reason.

The ledger holds the truth, and a run that starts writes the file anew from it: a kill between the two costs nothing.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from service.ingest.errors import IngestError, Reason
from service.ingest.item import Failure
from service.ingest.ledger import Ledger

Entry = tuple[str, str | None, Reason]
"""Item, instruction, reason."""


class DeadLetters:
    """JSONL of `id`, `instructions`, `code`, `message`; not there while nothing has failed.

    Attributes:
        num_items: how many have a line in it, or several: one for each code, and for each request while a run goes.
    """

    def __init__(self, path: Path, ledger: Ledger) -> None:
        """Write the file anew from the ledger.

        Raises:
            IngestError: it cannot be written.
        """
        self.path = path
        self._ledger = ledger
        self.num_items = ledger.num_dead_items()
        self.write_anew()

    def write_anew(self) -> None:
        """The file from the ledger: what several requests have added for one item is one line then; blocks.

        Raises:
            IngestError: it cannot be written.
        """
        try:
            _replace(self.path, b"".join(_lines(self._ledger.dead())))
        except OSError as error:
            raise IngestError(f"--dead-letters {self.path}: {error.strerror}") from None

    def add(self, failures: Iterable[Failure]) -> None:
        """Bury failures in the ledger, then write their lines; blocks."""
        failures = list(failures)
        if not failures:
            return
        items = {failure.ask.item.id for failure in failures}
        self.num_items += len(items) - self._ledger.num_dead_items(items)
        self._ledger.bury(failures)
        lines = _lines((failure.ask.item.id, failure.ask.instruction, failure.reason) for failure in failures)
        with self.path.open("ab") as file:
            file.write(b"".join(lines))
            file.flush()
            os.fsync(file.fileno())


def _replace(path: Path, content: bytes) -> None:
    if not content:
        path.unlink(missing_ok=True)
        return
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(content)
    fresh.replace(path)


def _lines(entries: Iterable[Entry]) -> list[bytes]:
    """One line for each item and code, with all instructions that it holds for and the first message."""
    messages: dict[tuple[str, str], str] = {}
    instructions: dict[tuple[str, str], list[str]] = {}
    for item, instruction, reason in entries:
        messages.setdefault((item, reason.code), reason.message)
        instructions.setdefault((item, reason.code), []).extend([] if instruction is None else [instruction])
    lines = [
        {"id": item, "instructions": instructions[item, code], "code": code, "message": message}
        for (item, code), message in messages.items()
    ]
    return [msgspec.json.encode(line) + b"\n" for line in lines]
