"""What contains a failure: its answer to the client, the test for lack of memory, and the quarantine of bad content."""

from collections import OrderedDict
from typing import Literal

from service.ipc.messages import Failure, Request

Code = Literal["non_finite_embedding", "out_of_memory", "internal_error"]

INTERNAL = "the engine failed on this input"
NOT_VALID = "the vector of this input is not finite and of unit length in the number format that was asked for"
NO_MEMORY = "the device has no memory for this input now; send it again, or send less"
NO_FIT = "the features of this image hold numbers that {dtype} cannot; ask for float32"

CPU_WORDS = ("can't allocate memory", "not enough memory")
"""From torch's `DefaultCPUAllocator`, which raises a plain RuntimeError."""

QUARANTINE_S = 60.0
MAX_ENTRIES = 1024


def failed(request: Request, message: str = INTERNAL, code: Code = "internal_error") -> Failure:
    """The answer to a request that failed; a library's own message never goes into it."""
    return Failure(id=request.id, code=code, message=message)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether memory was short: `torch.OutOfMemoryError`, `MemoryError`, or the CPU allocator's RuntimeError."""
    import torch  # here, after a failure: the loop can be imported without it

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in CPU_WORDS)


class Quarantine:
    """Digests of content that failed by itself, each refused for a while. Bounded; has no clock of its own.

    The same content gets the same answer at once and costs other requests nothing. The time runs from the failure and
    is not extended by asking again: afterwards the content gets another chance.

    Attributes:
        until_s: when each digest's time ends; nearly always empty.
    """

    def __init__(self, *, quarantine_s: float = QUARANTINE_S, max_entries: int = MAX_ENTRIES) -> None:
        self._quarantine_s = quarantine_s
        self._max_entries = max_entries
        self.until_s: OrderedDict[bytes, float] = OrderedDict()

    def add(self, digest: bytes, now_s: float) -> None:
        """Refuse this content from now on; the oldest entry makes room."""
        self.until_s.pop(digest, None)
        self.until_s[digest] = now_s + self._quarantine_s
        while len(self.until_s) > self._max_entries:
            self.until_s.popitem(last=False)

    def holds(self, digest: bytes, now_s: float) -> bool:
        """Return whether this content is refused; drops expired entries."""
        while self.until_s and next(iter(self.until_s.values())) <= now_s:
            self.until_s.popitem(last=False)
        return digest in self.until_s
