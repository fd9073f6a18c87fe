"""The service itself, as users start it: `cenote serve` in processes of its own, asked over HTTP."""

from pathlib import Path

from tests.bench.sides.over_http import OverHttp
from tests.conftest import LiveServer

UNCACHED = ("--result-cache-bytes", "0", "--prefix-cache-bytes", "64MiB")
"""Nothing is answered from memory: the bench asks the same question many times to measure its cost. What prompts begin
with is kept, by default and here, and by the bare forward as well."""


class Service(OverHttp):
    """A live server.

    Attributes:
        server: for its metrics and its processes.
    """

    def __init__(self, model: str, num_threads: int, log: Path, *flags: str) -> None:
        self.server = LiveServer(log, "--model", model, "--threads", str(num_threads), *UNCACHED, *flags)
        self.server.wait_until_ready()
        super().__init__(self.server.url)

    def close(self) -> None:
        super().close()
        self.server.stop()
