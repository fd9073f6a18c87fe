"""CUDA graphs by what they were captured for. Knows neither models nor batches: it is given forwards.

A key is captured when it comes a second time, and held against the plain forward then. What cannot be captured, or
differs, runs as it did. All graphs share their memory, since only one runs at a time.

Source: torch 2.13 `torch.cuda.CUDAGraph`.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import cosine_similarity

logger = logging.getLogger("cenote.model")

MAX_GRAPHS = 64
MAX_BYTES = 512 << 20
"""Of what graphs read and write; what lies between is there once for all of them."""
MIN_COSINE = 0.99
"""Of each row with the plain forward's, as in the known-answer check in half precision."""

Forward = Callable[[torch.Tensor], torch.Tensor]
"""Of what lies on the device; must not wait for it, nor read other memory that may be given back."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A captured forward, what it reads and what it writes."""

    graph: torch.cuda.CUDAGraph
    forward: Forward
    buffer: torch.Tensor
    out: torch.Tensor

    @property
    def num_bytes(self) -> int:
        """Of memory that no other graph has."""
        return self.buffer.nbytes + self.out.nbytes


class GraphCache:
    """The graphs of a device; those least recently used go first.

    Attributes:
        is_off: something could not be captured, and nothing is any more.
    """

    def __init__(self, device: torch.device) -> None:
        self.is_off = False
        self._device = device
        self._seen: OrderedDict[Hashable, None] = OrderedDict()
        self._graphs: dict[Hashable, Graph] = {}
        self._pool: Any = None  # torch's opaque handle

    def run(
        self,
        key: Hashable,
        read: Callable[[], torch.Tensor],
        forward: Forward,
        plain: Callable[[], torch.Tensor],
        *,
        num_rows: int,
    ) -> torch.Tensor:
        """``forward(read())[:num_rows]`` by a graph, or ``plain()``, which is the same.

        Args:
            key: of all that decides which kernels run over which shapes.
            read: gives what the forward reads, on the host.
        """
        if self.is_off or key not in self._seen:
            self._seen[key] = None
            self._forget_oldest()
            return plain()
        self._seen.move_to_end(key)
        if key in self._graphs:
            return _replay(self._graphs[key], read(), num_rows)
        wanted = plain()
        try:
            graph = self._capture(read(), forward)
            made = _replay(graph, read(), num_rows)
            cosine = float(cosine_similarity(made.float(), wanted.float()).min())
        except Exception as error:  # noqa: BLE001 - whatever a stock module does that no graph can hold
            self._give_up(f"{type(error).__name__}: {error}")
            return wanted
        if cosine >= MIN_COSINE:
            self._graphs[key] = graph
            self._forget_oldest()
        else:
            self._give_up(f"its least cosine with the plain forward is {cosine:.4f}")
        return wanted

    def _forget_oldest(self) -> None:
        while len(self._seen) > MAX_GRAPHS or sum(one.num_bytes for one in self._graphs.values()) > MAX_BYTES:
            self._graphs.pop(self._seen.popitem(last=False)[0], None)

    def _give_up(self, reason: str) -> None:
        logger.warning("runs without CUDA graphs, small batches take longer: %s", reason.splitlines()[0])
        self.is_off = True
        self._graphs.clear()

    def _capture(self, read: torch.Tensor, forward: Forward) -> Graph:
        buffer = read.to(self._device)
        own = torch.cuda.current_stream(self._device)
        beside = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        beside.wait_stream(own)
        with torch.cuda.stream(beside):  # libraries take their memory and kernels are loaded before they are captured
            forward(buffer)
        own.wait_stream(beside)
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=beside, capture_error_mode="thread_local"):
            out = forward(buffer)
        return Graph(graph, forward, buffer, out)


def _replay(graph: Graph, read: torch.Tensor, num_rows: int) -> torch.Tensor:
    graph.buffer.copy_(read)
    graph.graph.replay()
    return graph.out[:num_rows].clone()  # the next replay writes over it
