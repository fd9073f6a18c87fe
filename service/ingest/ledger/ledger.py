"""The record of what is done: one SQLite file beside the sink, always written after the sink.

Holds the points in the sink, failures, and the sink's position. A run that is killed between the sink's write and the
ledger's writes those points again, which replaces them. Other processes may read the file at any time.
"""

import fcntl
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from service.ingest.errors import FailureReason, IngestError, file_error
from service.ingest.item import FailedAsk, Point
from service.ingest.plan import Plan, differences

SCHEMA = """
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS done (point BLOB PRIMARY KEY, version BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dead (point BLOB PRIMARY KEY, item TEXT NOT NULL, instruction TEXT, code TEXT NOT NULL,
                                 message TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS dead_item ON dead (item);
"""
ADD_RUN = "ALTER TABLE done ADD COLUMN run INTEGER NOT NULL DEFAULT 0"
"""Ledgers of older versions lack the column."""
MAX_VARIABLES = 500
"""Per query; older versions of SQLite allow 999."""
BUSY_S = 30.0
"""Wait for the lock of another process, such as a backup."""

DeadLetter = tuple[str, str | None, FailureReason]
"""A failure as it is stored: item, instruction, reason."""


@dataclass(frozen=True, slots=True)
class KnownPoint:
    """A point in the sink, or on its way there: the version of its content, and whether it is this run's."""

    version: bytes
    is_new: bool


class Ledger:
    """The ledger file. Thread-safe; one process writes, any may read.

    With `synchronous=NORMAL` a power failure may lose the last marks; those points are then written again.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the file, which no other run may have open."""
        self.path = path
        self._lock = threading.Lock()
        with self._checked("not a ledger that can be written"):
            self._only_run = path.with_name(f"{path.name}.lock").open("wb")
            try:
                fcntl.flock(
                    self._only_run, fcntl.LOCK_EX | fcntl.LOCK_NB
                )  # released when the process ends, however it ends
            except BlockingIOError:
                raise IngestError(f"--ledger {path}: another run has it open") from None
            self._db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
                self._db.execute(f"PRAGMA {pragma}")
            self._db.executescript(SCHEMA)
            if not any(name == "run" for _, name, *_ in self._db.execute("PRAGMA table_info(done)")):
                self._db.execute(ADD_RUN)
        self._run = self._number("runs") + 1

    def close(self) -> None:
        """Close the file and release the lock."""
        self._db.close()
        self._only_run.close()

    def agree(self, plan: Plan, sink: str, fingerprint: str) -> None:
        """Check that this run continues the one that made the ledger; a new ledger passes."""
        made_by = self.fact("plan")
        if made_by is None:
            return
        with self._checked():
            others = differences(made_by, plan)
        before = {"sink": self.fact("sink"), "fingerprint": self.fact("fingerprint")}
        if before["sink"] != sink.encode():
            others.append(f"the sink was {(before['sink'] or b'').decode(errors='replace')} and is {sink}")
        if (former := before["fingerprint"]) not in (None, fingerprint.encode()):
            others.append(f"the model's fingerprint was {former.decode(errors='replace')} and is {fingerprint}")
        if others:
            raise IngestError(
                f"--ledger {self.path}: vectors of this run would not match those in the sink: "
                f"{'; '.join(others)}. "
                "Give another --ledger and another --to, or the former model, settings and sink"
            )

    def fact(self, name: str) -> bytes | None:
        """A stored value, or None."""
        rows = self._rows("SELECT value FROM fact WHERE name = ?", (name,))
        with self._checked():
            return bytes(rows[0][0]) if rows else None

    def made_by(self, plan: Plan, sink: str, fingerprint: str) -> None:
        """Store plan, sink and fingerprint of this run, and count the run."""
        position = b"%d" % (self.position or 0)
        facts = {"plan": msgspec.json.encode(plan), "sink": sink.encode(), "fingerprint": fingerprint.encode()}
        rows = (facts | {"position": position, "runs": b"%d" % self._run}).items()
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO fact VALUES (?, ?)", rows)

    @property
    def position(self) -> int | None:
        """Position that the sink's last recorded `write` returned; None in a new ledger."""
        return None if self.fact("position") is None else self._number("position")

    def known(self, points: Sequence[UUID]) -> dict[UUID, KnownPoint | None]:
        """Those of `points` that are done, or failed (None)."""
        found: dict[UUID, KnownPoint | None] = {}
        for start in range(0, len(points), MAX_VARIABLES):
            keys = [point.bytes for point in points[start : start + MAX_VARIABLES]]
            marks = ",".join("?" * len(keys))
            dead = self._rows(f"SELECT point FROM dead WHERE point IN ({marks})", keys)  # noqa: S608  # ours
            done = self._rows(f"SELECT point, version, run FROM done WHERE point IN ({marks})", keys)  # noqa: S608
            found |= {UUID(bytes=point): None for (point,) in dead}
            found |= {UUID(bytes=point): KnownPoint(version, run == self._run) for point, version, run in done}
        return found

    def mark(self, points: Iterable[Point], position: int) -> None:
        """Record that the sink holds `points` and ends at `position`."""
        rows = [(point.ask.point.bytes, point.version, self._run) for point in points]
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO done VALUES (?, ?, ?)", rows)
            self._db.execute("INSERT OR REPLACE INTO fact VALUES ('position', ?)", (b"%d" % position,))

    def record_failures(self, failures: Iterable[FailedAsk]) -> None:
        """Record failures."""
        rows = [
            (f.ask.point.bytes, f.ask.item.id, f.ask.instruction, f.reason.code, f.reason.message) for f in failures
        ]
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO dead VALUES (?, ?, ?, ?, ?)", rows)

    def dead(self) -> Iterator[DeadLetter]:
        """Yield item, instruction and reason of every failure, in the order of recording."""
        for item, instruction, code, message in self._rows(
            "SELECT item, instruction, code, message FROM dead ORDER BY rowid"
        ):
            yield item, instruction, FailureReason(code, message)

    def num_dead_items(self) -> int:
        """Number of items that have failures."""
        return int(self._rows("SELECT count(DISTINCT item) FROM dead")[0][0])

    def num_dead_among(self, items: Iterable[str]) -> int:
        """Number of `items` that have failures."""
        return sum(bool(self._rows("SELECT 1 FROM dead WHERE item = ? LIMIT 1", (item,))) for item in items)

    def forget_failures(self) -> None:
        """Delete every failure, so that this run retries them."""
        self._rows("DELETE FROM dead")

    def num_done(self) -> int:
        """Number of points in the sink."""
        return int(self._rows("SELECT count(*) FROM done")[0][0])

    def _number(self, name: str) -> int:
        with self._checked():
            return int(self.fact(name) or b"0")

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._checked(), self._lock:
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _checked(self, what: str = "it is damaged, or cannot be read or written") -> Iterator[None]:
        """Raise errors of the file as IngestError."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise file_error("--ledger", self.path, error, what) from None
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise IngestError(f"--ledger {self.path}: {what} ({error})") from None
