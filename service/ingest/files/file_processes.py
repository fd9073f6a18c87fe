"""Files in processes that can be killed, for threads that read them at the same time: PDFs and videos alike."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Generic, NoReturn, TypeVar

from service.ingest.errors import FileError, IngestError, not_installed
from service.ingest.files.source_file import SourceFile
from service.workers.worker_process import (
    WorkerKilledError,
    WorkerLostError,
    WorkerProcess,
    WorkerSlot,
    WorkerStartError,
)

NUM_PROCESSES = max(2, os.cpu_count() or 2)
MAX_MEMORY_BYTES = 1 << 30
"""Of a process."""

T = TypeVar("T")


class FileProcess:
    """Base of processes that keep the file of their last task open; each is for one thread at a time.

    Attributes:
        file: the one that is open, or was to be opened last.
        digest: SHA-256 of its content.
    """

    command: ClassVar[Sequence[str]]
    """The program."""
    what: ClassVar[str]
    """The kind of file, as errors name it."""
    unreadable: ClassVar[str]
    """The error of a file that is damaged."""

    def __init__(self, deadline_s: float) -> None:
        """`deadline_s` bounds the processor time of a task."""
        self._slot = WorkerSlot(self.command, max_memory_bytes=MAX_MEMORY_BYTES, deadline_s=deadline_s)
        self._holder: WorkerProcess | None = None
        self.file: SourceFile | None = None
        self.digest = b""

    def close(self) -> None:
        """End the process."""
        self._slot.close()

    def ask(self, file: SourceFile, name: str, deadline_s: float, task: Callable[[WorkerProcess], T]) -> T:
        """Return the result of `task` on a process that has the file open.

        Args:
            name: of the file's part, in errors.
            deadline_s: what `task` waits for, in errors.

        Raises:
            FileError: the file's fault.
            IngestError: processes do not start.
        """

        def exchange(worker: WorkerProcess) -> T:
            if worker is not self._holder or self.file != file:
                self._holder, self.file = None, file  # until the process has said so, it has no file
                self.digest = self.open(worker, file)
                self._holder = worker
            return task(worker)

        try:
            return self._slot.run(exchange)
        except TimeoutError:
            self.refuse(name, f"The {self.what} cannot be read within {deadline_s:g} s.")
        except OSError as error:
            raise FileError("unreadable_file", f"{file.name}: {error.strerror}") from None
        except WorkerLostError:
            self.refuse(name, self.unreadable)
        except WorkerKilledError:
            raise FileError(
                "overloaded", f"{name}: the process that read it was ended from outside, twice: memory may be short"
            ) from None
        except WorkerStartError:
            raise IngestError(f"{self.what} files: the process that reads them does not start") from None

    def open(self, worker: WorkerProcess, file: SourceFile) -> bytes:
        """Have a process open a file; return the digest of its content.

        Raises:
            FileError: the file's fault.
        """
        raise NotImplementedError

    def refuse(self, name: str, message: str) -> NoReturn:
        """Raise the error of a file that is damaged.

        Raises:
            FileError: always.
        """
        raise FileError("media_undecodable", f"{name}: {message}") from None


P = TypeVar("P", bound=FileProcess)


class FileProcesses(Generic[P]):
    """Lends each thread a process, one that has its file open if there is one; they start when needed."""

    def __init__(self, make: Callable[[], P], has_library: Callable[[], bool], library: tuple[str, str]) -> None:
        """Lend what `make` makes, if the `library` (its name, and the extra that installs it) is there."""
        self._has_library = has_library
        self._library = library
        self._free = threading.Condition()
        self._idle = [make() for _ in range(NUM_PROCESSES)]

    @property
    def missing(self) -> str | None:
        """The message that says how to install what is missing, if anything is."""
        return None if self._has_library() else not_installed(*self._library)

    @contextmanager
    def process(self, file: SourceFile) -> Iterator[P]:
        """A process for tasks on `file`; blocks until one is free.

        Raises:
            FileError: the library is not installed.
        """
        if (missing := self.missing) is not None:
            raise FileError("unreadable_file", f"{file.name}: {missing}")
        with self._free:
            self._free.wait_for(lambda: self._idle)
            process = next((one for one in self._idle if one.file == file), self._idle[0])  # the longest idle
            self._idle.remove(process)
        try:
            yield process
        finally:
            with self._free:
                self._idle.append(process)
                self._free.notify()

    def close(self) -> None:
        """End the processes that are idle; the others end with the program."""
        with self._free:
            for process in self._idle:
                process.close()
