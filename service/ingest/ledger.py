"""What is done: one SQLite file beside the sink, written after the sink and never before it.

In: points that the sink holds, failures, the sink's position. Out: whether an item's points are done, and where the
sink ended. A run that is killed between the sink's write and the mark writes those points again, over themselves.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from uuid import UUID

import msgspec

from service.ingest.errors import IngestError, Reason
from service.ingest.item import Failure, Point
from service.ingest.plan import Plan, differences

SCHEMA = """
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS done (point BLOB PRIMARY KEY, version BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dead (point BLOB PRIMARY KEY, item TEXT NOT NULL, instruction TEXT, code TEXT NOT NULL,
                                 message TEXT NOT NULL);
"""
MAX_VARIABLES = 500
"""Of one query; SQLite's own limit was 999 for long."""


class Ledger:
    """Safe to use from any thread; one process at a time.

    `synchronous=NORMAL` loses the last marks when the machine (not the process) dies: they are then written again.
    """

    def __init__(self, path: Path) -> None:
        """Open or make it.

        Raises:
            IngestError: it is no ledger, cannot be written, or another run has it open.
        """
        self.path = path
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(path, timeout=0.5, isolation_level=None, check_same_thread=False)
            for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=NORMAL"):
                self._db.execute(f"PRAGMA {pragma}")
            self._db.executescript(SCHEMA)
        except sqlite3.Error as error:
            busy = "locked" in str(error)
            why = "another run has it open" if busy else f"not a ledger that can be written ({error})"
            raise IngestError(f"--ledger {path}: {why}") from None

    def close(self) -> None:
        """Let another run have it."""
        self._db.close()

    def agree(self, plan: Plan, sink: str) -> None:
        """Hold this run against the one that the ledger was made by; nothing where it is new.

        Raises:
            IngestError: model, revision, a setting or the sink is another; the message says which.
        """
        made_by = self.fact("plan")
        if made_by is None:
            return
        others = differences(made_by, plan)
        if (self.fact("sink") or b"").decode() != sink:
            others.append(f"the sink was {(self.fact('sink') or b'').decode()} and is {sink}")
        if others:
            raise IngestError(
                f"--ledger {self.path}: vectors of this run would not go with those that are there: "
                f"{'; '.join(others)}. "
                "Give another --ledger and another --to, or what was there before"
            )

    def fact(self, name: str) -> bytes | None:
        """A value that was set; None when it was not."""
        with self._lock:
            row = self._db.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def made_by(self, plan: Plan, sink: str, probe: bytes) -> None:
        """Remember what makes this ledger, and with it the sink, from now on."""
        facts = {"plan": msgspec.json.encode(plan), "sink": sink.encode(), "probe": probe, "position": b"0"}
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO fact VALUES (?, ?)", facts.items())

    @property
    def position(self) -> int | None:
        """Where the sink ended at the last mark: bytes of a file, parts of a folder; None in a new ledger."""
        position = self.fact("position")
        return None if position is None else int(position)

    def known(self, points: Sequence[UUID]) -> dict[UUID, bytes | None]:
        """Those of `points` that are done, with the version they were made of, or dead, with None."""
        found: dict[UUID, bytes | None] = {}
        with self._lock:
            for start in range(0, len(points), MAX_VARIABLES):
                keys = [point.bytes for point in points[start : start + MAX_VARIABLES]]
                marks = ",".join("?" * len(keys))
                for table, version in (("dead", "NULL"), ("done", "version")):
                    query = f"SELECT point, {version} FROM {table} WHERE point IN ({marks})"  # noqa: S608  # ours
                    found |= {UUID(bytes=point): value for point, value in self._db.execute(query, keys)}
        return found

    def mark(self, points: Iterable[Point], position: int) -> None:
        """Say that the sink holds `points`, and ends at `position`."""
        rows = [(point.ask.point.bytes, point.ask.item.version) for point in points]
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO done VALUES (?, ?)", rows)
            self._db.execute("INSERT OR REPLACE INTO fact VALUES ('position', ?)", (str(position).encode(),))

    def bury(self, failures: Iterable[Failure]) -> None:
        """Say that these will have no vector."""
        rows = [
            (f.ask.point.bytes, f.ask.item.id, f.ask.instruction, f.reason.code, f.reason.message) for f in failures
        ]
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO dead VALUES (?, ?, ?, ?, ?)", rows)

    def dead(self) -> Iterator[tuple[str, str | None, Reason]]:
        """Every item, instruction and reason that was buried, in that order."""
        query = "SELECT item, instruction, code, message FROM dead ORDER BY rowid"
        with self._lock:
            rows = self._db.execute(query).fetchall()
        for item, instruction, code, message in rows:
            yield item, instruction, Reason(code, message)

    def raise_the_dead(self) -> None:
        """Forget every failure, so that this run tries them again."""
        with self._lock:
            self._db.execute("DELETE FROM dead")

    def num_done(self) -> int:
        """How many points the sink holds."""
        with self._lock:
            return int(self._db.execute("SELECT count(*) FROM done").fetchone()[0])
