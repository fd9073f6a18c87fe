"""A folder of files that several processes share under one cap in bytes. Knows names and bytes, not what they mean.

Every change is made under a lock file, which also holds how many bytes and files there are; so the cap holds however
many processes write. What counts is first reserved there and then written: a process that dies in between leaves a
number that is too high, never too low, and the next look at the folder puts it right. Reading needs no lock: a file
appears under its name in one step, whole. A lock that another process does not give back is waited for so long and no
longer: then nothing is changed, and what is there is still read.
"""

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

logger = logging.getLogger("cenote.engine")

LOCK = "lock"
SUFFIX = ".safetensors"
FOREIGN = (errno.ELOOP, errno.ENXIO)
"""Errors of opening a link, and a socket."""
ROOM_LEFT = 0.1
"""An eviction makes this part of the cap free, so that the folder is not looked through for every file."""
RETRY_S = 0.01


class DiskFolder:
    """Files by name, least recently used out first.

    Attributes:
        max_bytes: the cap, of what the files hold.
        num_bytes: what they held when this process last looked.
        num_files: how many there were.
        is_counted: this process could look when it opened the folder.
    """

    def __init__(self, path: Path, max_bytes: int, lock_s: float) -> None:
        """Open or make a folder of this user's alone; `lock_s` is how long to wait for the lock each time.

        Raises:
            OSError: it cannot be made, is no folder, or is not ours alone.
        """
        self._path = path
        self.max_bytes = max_bytes
        self._lock_s = lock_s
        self.num_bytes = self.num_files = 0
        self._make()
        self.is_counted = True
        try:
            with self._locked() as lock:
                self._look(lock)
        except TimeoutError:
            self.is_counted = False

    def read(self, name: str) -> bytes | None:
        """A file's bytes, now the most recently used; None when there is no such file. One that is not ours is removed.

        Raises:
            OSError: the disk is broken.
        """
        try:
            descriptor = os.open(self._file(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in FOREIGN:
                raise
            self.remove(name)
            return None
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_size <= self.max_bytes:
                os.utime(descriptor)
                return file.read(found.st_size)
        self.remove(name)
        return None

    def write(self, name: str, data: bytes) -> int | None:
        """Write a new file; how many others had to go for it, None when it is too large for the folder.

        Raises:
            OSError: the disk is full or broken.
            TimeoutError: another process keeps the lock.
        """
        if len(data) > self.max_bytes:
            return None
        with self._locked() as lock:
            self._recall(lock)
            if self._file(name).exists():
                return 0
            num_evicted = 0
            if self.num_bytes + len(data) > self.max_bytes:
                self._look(lock)
                num_evicted = self._evict(len(data))
            before = (self.num_bytes, self.num_files)
            self._note(lock, self.num_bytes + len(data), self.num_files + 1)
            try:
                self._write_whole(name, data)
            except OSError:
                self._note(lock, *before)
                raise
            return num_evicted

    def remove(self, name: str) -> None:
        """Remove what stands under a name, whatever it is. TimeoutError: another process keeps the lock."""
        with self._locked() as lock:
            with suppress(OSError):
                self._file(name).unlink()
            self._look(lock)  # it may never have been counted

    def _make(self) -> None:
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self._path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError(f"{self._path} must be a directory of this user's with mode 0700")

    def _file(self, name: str) -> Path:
        return self._path / (name + SUFFIX)

    def _write_whole(self, name: str, data: bytes) -> None:
        partial = self._path / (name + ".part")
        with suppress(FileNotFoundError):
            partial.unlink()
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            partial.replace(self._file(name))
        except OSError:
            with suppress(OSError):
                partial.unlink()
            raise

    def _evict(self, num_bytes: int) -> int:
        """Remove the oldest files until so many bytes fit, and some more."""
        most = min(self.max_bytes - num_bytes, int(self.max_bytes * (1 - ROOM_LEFT)))
        num_evicted = 0
        for _, size, path in sorted(self._files()):
            if self.num_bytes <= most:
                break
            with suppress(FileNotFoundError):
                path.unlink()
            self.num_bytes -= size
            self.num_files -= 1
            num_evicted += 1
        return num_evicted

    def _files(self) -> Iterator[tuple[int, int, Path]]:
        with os.scandir(self._path) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    yield found.st_mtime_ns, found.st_size, Path(entry.path)

    def _look(self, lock: int) -> None:
        """Count what is there, and remove what a process that died has left half written."""
        for path in self._path.glob("*.part"):
            path.unlink(missing_ok=True)
        sizes = [size for _, size, _ in self._files()]
        self._note(lock, sum(sizes), len(sizes))
        if self.num_bytes > self.max_bytes:  # the cap was larger once
            self._evict(0)
            self._note(lock, self.num_bytes, self.num_files)

    def _recall(self, lock: int) -> None:
        """Read what the processes together have noted last."""
        try:
            self.num_bytes, self.num_files = map(int, os.pread(lock, 64, 0).split())
        except ValueError:
            self._look(lock)

    def _note(self, lock: int, num_bytes: int, num_files: int) -> None:
        self.num_bytes, self.num_files = num_bytes, num_files
        os.pwrite(lock, f"{num_bytes:20d} {num_files:20d}\n".encode(), 0)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            lock = os.open(self._path / LOCK, flags, 0o600)
        except FileNotFoundError:  # the folder was deleted
            self._make()
            logger.warning("the folder of the disk cache was gone; it has been made again")
            lock = os.open(self._path / LOCK, flags, 0o600)
        try:
            self._wait_for(lock)
            yield lock
        finally:
            os.close(lock)  # which also unlocks it

    def _wait_for(self, lock: int) -> None:
        until_s = time.monotonic() + self._lock_s
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until_s:
                    raise TimeoutError(errno.ETIMEDOUT, f"the lock was not free for {self._lock_s:g} s") from None
                time.sleep(RETRY_S)
            else:
                return
