"""The dead-letter file: one line for each item without a vector, with the reason.

The ledger is authoritative: each run rewrites the file from it at its start, so a kill between the two loses nothing.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from service.ingest.errors import file_error
from service.ingest.item import FailedAsk
from service.ingest.ledger.ledger import DeadLetter, Ledger


class DeadLetters:
    """JSONL of `id`, `instructions`, `code`, `message`; absent while nothing has failed.

    Attributes:
        num_items: failed items; an item has one line for each code, and during a run for each request.
    """

    def __init__(self, path: Path, ledger: Ledger) -> None:
        """Rewrite the file from the ledger."""
        self.path = path
        self._ledger = ledger
        self.num_items = ledger.num_dead_items()
        self.rewrite()

    def rewrite(self) -> None:
        """Rewrite the file from the ledger, which merges the lines of an item. Blocks."""
        try:
            _replace(self.path, b"".join(_lines(self._ledger.dead())))
        except OSError as error:
            raise file_error("--dead-letters", self.path, error) from None

    def add(self, failures: Iterable[FailedAsk]) -> None:
        """Record failures in the ledger, then append their lines. Blocks."""
        failures = list(failures)
        if not failures:
            return
        items = {failure.ask.item.id for failure in failures}
        self.num_items += len(items) - self._ledger.num_dead_among(items)
        self._ledger.record_failures(failures)
        lines = _lines((failure.ask.item.id, failure.ask.instruction, failure.reason) for failure in failures)
        try:
            with self.path.open("ab") as file:
                file.write(b"".join(lines))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise file_error("--dead-letters", self.path, error) from None


def _replace(path: Path, content: bytes) -> None:
    if not content:
        path.unlink(missing_ok=True)
        return
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(content)
    fresh.replace(path)


def _lines(letters: Iterable[DeadLetter]) -> list[bytes]:
    """One line for each item and code, with all its instructions and the first message."""
    messages: dict[tuple[str, str], str] = {}
    instructions: dict[tuple[str, str], list[str]] = {}
    for item, instruction, reason in letters:
        messages.setdefault((item, reason.code), reason.message)
        instructions.setdefault((item, reason.code), []).extend([] if instruction is None else [instruction])
    lines = [
        {"id": item, "instructions": instructions[item, code], "code": code, "message": message}
        for (item, code), message in messages.items()
    ]
    return [msgspec.json.encode(line) + b"\n" for line in lines]
