"""The record of what is done: one SQLite file beside the sink, always written after the sink.

Holds the points in the sink, failures, and the sink's position. A run that is killed between the sink's write and the
ledger's writes those points again, which replaces them. In a sink that can be changed points are in `arriving` while
they are written, and in `leaving` while they are taken out: so the next run knows what a killed one may have done, also
of rows that the source has no more. Other processes may read the file at any time.
"""

import fcntl
import hashlib
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
from service.ingest.item import Ask, FailedAsk, Point, Relabelled, SourceItem
from service.ingest.plan import Plan, differences

SCHEMA = """
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS done (point BLOB PRIMARY KEY, version BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dead (point BLOB PRIMARY KEY, item TEXT NOT NULL, instruction TEXT, code TEXT NOT NULL,
                                 message TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS arriving (point BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leaving (point BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS dead_item ON dead (item);
"""
COLUMNS = {
    "done": {
        "run": "INTEGER NOT NULL DEFAULT 0",
        "item": "BLOB",
        "root": "BLOB",
        "content": "BLOB",
        "metadata": "BLOB",
        "seen": "INTEGER NOT NULL DEFAULT 0",
    },
    "dead": {"version": "BLOB", "seen": "INTEGER NOT NULL DEFAULT 0"},
}
"""Columns that ledgers of older versions lack: digests of the item, of its root, its content and its metadata, and the
last run that saw the item in the source.
"""
INDEXES = """
CREATE INDEX IF NOT EXISTS done_item ON done (item);
CREATE INDEX IF NOT EXISTS done_root ON done (root);
"""
GONE = "item IS NOT NULL AND seen < ?"
SHRUNK = "item IS NOT NULL AND seen < ? AND root IN (SELECT root FROM done WHERE seen = ?)"
"""Of an item whose root is still there: a text that has fewer chunks now, a file that has fewer pages."""
MAX_VARIABLES = 500
"""Per query; older versions of SQLite allow 999."""
BUSY_S = 30.0
"""Wait for the lock of another process, such as a backup."""

DeadLetter = tuple[str, str | None, FailureReason]
"""A failure as it is stored: item, instruction, reason."""


@dataclass(frozen=True, slots=True)
class KnownPoint:
    """A point in the sink, or on its way there.

    Attributes:
        version: of its item.
        is_new: it is this run's.
        content: digest of what its vectors depend on; empty where that is not known.
        metadata: digest of its metadata; likewise.
        is_seen: this run has seen its item before.
    """

    version: bytes
    is_new: bool
    content: bytes = b""
    metadata: bytes = b""
    is_seen: bool = False


def digest(text: str) -> bytes:
    """The key of an item or a root."""
    return hashlib.blake2b(text.encode(errors="backslashreplace"), digest_size=16).digest()


def metadata_digest(item: SourceItem) -> bytes:
    """Changes with the metadata that are stored."""
    return hashlib.blake2b(msgspec.json.encode(item.metadata), digest_size=8).digest()


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
            self._add_columns()
            self._db.executescript(INDEXES)
        self._run = self._number("runs") + 1
        self._is_old = bool(self._rows("SELECT 1 FROM done WHERE item IS NULL LIMIT 1"))

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
        """Store plan, sink and fingerprint of this run, count it, and forget what a killed run may have replaced."""
        position = b"%d" % (self.position or 0)
        facts = {"plan": msgspec.json.encode(plan), "sink": sink.encode(), "fingerprint": fingerprint.encode()}
        rows = (facts | {"position": position, "runs": b"%d" % self._run}).items()
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO fact VALUES (?, ?)", rows)
            self._db.execute("DELETE FROM done WHERE point IN (SELECT point FROM arriving)")

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
            done = self._rows(
                f"SELECT point, version, run, content, metadata, seen FROM done WHERE point IN ({marks})",  # noqa: S608
                keys,
            )
            found |= {UUID(bytes=point): None for (point,) in dead}
            found |= {
                UUID(bytes=point): KnownPoint(
                    version, run == self._run, content or b"", metadata or b"", seen == self._run
                )
                for point, version, run, content, metadata, seen in done
            }
        return found

    def failed_versions(self, points: Sequence[UUID]) -> dict[UUID, bytes]:
        """Versions of the items of those of `points` that have failed; empty where a ledger of before has none."""
        rows = ((point, self._rows("SELECT version FROM dead WHERE point = ?", (point.bytes,))) for point in points)
        return {point: found[0][0] or b"" for point, found in rows if found}

    def has_chunks(self, item: str) -> bool:
        """True if there are points of the parts of an item, and none of the item as a whole."""
        key = digest(item)
        parts = self._rows("SELECT 1 FROM done WHERE root = ? AND item <> ? LIMIT 1", (key, key))
        return bool(parts) and not self._rows("SELECT 1 FROM done WHERE item = ? LIMIT 1", (key,))

    def arrive(self, points: Iterable[Point | Relabelled]) -> None:
        """Note that `points` are about to be written, or replaced."""
        rows = [(point.ask.point.bytes,) for point in points]
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO arriving VALUES (?)", rows)

    def mark(self, points: Iterable[Point | Relabelled], position: int) -> int:
        """Record that the sink holds `points` and ends at `position`; return how many of them had failed before."""
        rows = [
            (
                *(point.ask.point.bytes, point.version, self._run, digest(item.id), digest(item.root or item.id)),
                *(item.content, metadata_digest(item), self._run),
            )
            for point in points
            for item in (point.ask.item,)
        ]
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany(
                "INSERT OR REPLACE INTO done (point, version, run, item, root, content, metadata, seen) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            self._db.execute("INSERT OR REPLACE INTO fact VALUES ('position', ?)", (b"%d" % position,))
            keys = [(row[0],) for row in rows]
            self._db.executemany("DELETE FROM arriving WHERE point = ?", keys)
            return self._db.executemany("DELETE FROM dead WHERE point = ?", keys).rowcount

    def see(self, asks: Iterable[Ask], roots: Iterable[str]) -> None:
        """Note that the source has the items of `asks`, and all that there is of `roots`."""
        points = [(ask.point.bytes, digest(ask.item.id), digest(ask.item.root or ask.item.id)) for ask in asks]
        items = {(self._run, item) for _, item, _ in points}
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            if self._is_old:
                rows = [(item, root, point) for point, item, root in points]
                self._db.executemany("UPDATE done SET item = ?, root = ? WHERE point = ? AND item IS NULL", rows)
            self._db.executemany("UPDATE done SET seen = ? WHERE item = ?", items)
            self._db.executemany("UPDATE done SET seen = ? WHERE root = ?", [(self._run, digest(one)) for one in roots])
            self._db.executemany("UPDATE dead SET seen = ? WHERE point = ?", [(self._run, one[0]) for one in points])

    def has_seen_some(self) -> bool:
        """True if the source has anything of what is done."""
        return bool(self._rows("SELECT 1 FROM done WHERE seen = ? LIMIT 1", (self._run,)))

    def leave_unseen(self, num_points: int, *, all_gone: bool) -> int:
        """Move points that the source has no more from what is done to what is leaving, at most `num_points`.

        Args:
            all_gone: those of rows and files that are gone, too, and not just parts of those that are there.
        """
        which, values = (GONE, [self._run]) if all_gone else (SHRUNK, [self._run] * 2)
        points = self._rows(f"SELECT point FROM done WHERE {which} LIMIT {num_points:d}", values)  # noqa: S608  # ours
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO leaving VALUES (?)", points)
            self._db.executemany("DELETE FROM done WHERE point = ?", points)
        return len(points)

    def leave_arriving(self) -> None:
        """Move what killed runs may have written, and this one has not, to what is leaving."""
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.execute("INSERT OR REPLACE INTO leaving SELECT point FROM arriving")
            self._db.execute("DELETE FROM arriving")

    def leaving(self, num_points: int) -> list[UUID]:
        """Points that the sink may still hold and must not, at most `num_points`."""
        rows = self._rows("SELECT point FROM leaving LIMIT ?", (num_points,))
        return [UUID(bytes=point) for (point,) in rows]

    def left(self, points: Iterable[UUID]) -> None:
        """Record that the sink does not hold `points` any more."""
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("DELETE FROM leaving WHERE point = ?", [(point.bytes,) for point in points])

    def record_failures(self, failures: Iterable[FailedAsk]) -> None:
        """Record failures."""
        rows = [
            (
                *(f.ask.point.bytes, f.ask.item.id, f.ask.instruction, f.reason.code, f.reason.message),
                *(f.ask.item.version, self._run),
            )
            for f in failures
        ]
        with self._checked(), self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany(
                "INSERT OR REPLACE INTO dead (point, item, instruction, code, message, version, seen) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

    def dead(self) -> Iterator[DeadLetter]:
        """Yield item, instruction and reason of every failure, in the order of recording."""
        for item, instruction, code, message in self._rows(
            "SELECT item, instruction, code, message FROM dead ORDER BY rowid"
        ):
            yield item, instruction, FailureReason(code, message)

    def num_dead_items(self) -> int:
        """Number of items that have failures."""
        return int(self._rows("SELECT count(DISTINCT item) FROM dead")[0][0])

    def dead_by_code(self) -> dict[str, int]:
        """Number of items that have failures, by their code."""
        return dict(self._rows("SELECT code, count(DISTINCT item) FROM dead GROUP BY code ORDER BY 2 DESC, 1"))

    def num_dead_among(self, items: Iterable[str]) -> int:
        """Number of `items` that have failures."""
        return sum(bool(self._rows("SELECT 1 FROM dead WHERE item = ? LIMIT 1", (item,))) for item in items)

    def forget_failures(self) -> None:
        """Delete every failure, so that this run retries them."""
        self._rows("DELETE FROM dead")

    def forget_changed(self) -> None:
        """Delete failures of items that came with other content: a run that updates replaces them."""
        self._rows("DELETE FROM dead WHERE code = 'content_changed'")

    def forget_unseen_failures(self) -> None:
        """Delete failures of what the source has no more."""
        self._rows("DELETE FROM dead WHERE seen < ?", (self._run,))

    def num_done(self) -> int:
        """Number of points in the sink."""
        return int(self._rows("SELECT count(*) FROM done")[0][0])

    def _add_columns(self) -> None:
        for table, columns in COLUMNS.items():
            there = {name for _, name, *_ in self._db.execute(f"PRAGMA table_info({table})")}
            for name in columns.keys() - there:
                self._db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {columns[name]}")

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
