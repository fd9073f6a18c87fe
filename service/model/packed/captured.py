"""Short batches of text on CUDA as graphs: one launch for a forward instead of some hundreds.

Each launch costs the host about as much as a short batch's kernel takes the device.

A graph runs over memory of its own and for one shape: batches are filled up to it with tokens that belong to no prompt,
and with empty prompts. A shape is captured when it comes a second time, and held against the plain forward then; what
cannot be captured, or differs, runs as it did. Knows no model: it is given a forward.

Source: torch 2.13 `torch.cuda.CUDAGraph`; padding to captured sizes as in nano-vllm's `model_runner.capture_cudagraph`.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import cosine_similarity

from service.model.packed.packed_batch import PackedBatch
from service.model.packed.varlen_attention import SegmentBounds

logger = logging.getLogger("cenote.model")

MAX_PRODUCTS = 1 << 35
"""Tokens times numbers of a layer's matrices up to which the host is slower than the device: about 140 us a layer on an
H100's host, 400 TFLOP/s. 680 tokens of Qwen3-VL's 2B, 19,000 of MiniLM."""
MAX_GRAPHS = 64
LEAST_TOKENS = 16
LEAST_LONGEST = 32
MIN_COSINE = 0.99
"""Of each row with the plain forward's, as in the known-answer check in half precision."""


class Shape(NamedTuple):
    """What a graph is captured for: at most so many tokens and prompts, none longer than `longest`."""

    num_tokens: int
    num_prompts: int
    longest: int
    num_positions: int

    @classmethod
    def of(cls, lengths: list[int], num_positions: int) -> "Shape":
        """The least one that a batch fits in: tokens by sixteenths of a power of two, the others by powers of two.

        Args:
            lengths: tokens of each prompt.
            num_positions: rows of position ids.
        """
        num_tokens = sum(lengths)
        step = max(LEAST_TOKENS, 1 << (num_tokens - 1).bit_length() >> 4)
        prompts, longest = (1 << (number - 1).bit_length() for number in (len(lengths), max(lengths)))
        return cls(-(-num_tokens // step) * step, prompts, max(LEAST_LONGEST, longest), num_positions)

    def lay(self, batch: PackedBatch) -> np.ndarray:
        """A batch as `Inputs` reads it, int64: tokens that fill it up are of no prompt, prompts that do are empty."""
        lengths, (tokens, prompts, _, rows) = batch.segment_lengths, self
        numbers = np.zeros(tokens * (1 + rows) + 3 * prompts + 2, np.int64)
        by_token, last, cumulative, lasts = np.split(numbers, np.cumsum([tokens * (1 + rows), prompts, prompts + 1]))
        by_token = by_token.reshape(1 + rows, tokens)
        by_token[0, : len(batch.token_ids)] = batch.token_ids.numpy()
        by_token[1:, : len(batch.token_ids)] = batch.position_ids.numpy()
        ends = np.cumsum(lengths)
        last[: len(lengths)] = ends - 1
        cumulative[1 : 1 + len(lengths)], cumulative[1 + len(lengths) :] = ends, ends[-1]
        lasts[:] = np.minimum(np.arange(prompts + 1), len(lengths))
        return numbers


class Inputs(NamedTuple):
    """Of a forward, on the device.

    Attributes:
        token_ids: `[num_tokens]`, int64.
        position_ids: `[rows, num_tokens]`, int64.
        last: `[num_prompts]`, int64, each prompt's last token.
        bounds: where prompts lie.
    """

    token_ids: torch.Tensor
    position_ids: torch.Tensor
    last: torch.Tensor
    bounds: SegmentBounds

    @classmethod
    def of(cls, shape: Shape, numbers: torch.Tensor) -> "Inputs":
        """Views of what `Shape.lay` laid, but for the bounds, which the kernel wants in int32."""
        tokens, prompts, longest, rows = shape
        by_token, last, cumulative, lasts = torch.split(
            numbers, [tokens * (1 + rows), prompts, prompts + 1, prompts + 1]
        )
        by_token = by_token.view(1 + rows, tokens)
        return cls(by_token[0], by_token[1:], last, SegmentBounds(cumulative.int(), lasts.int(), longest))


Forward = Callable[[Inputs], torch.Tensor]
"""Gives `[num_tokens, width]`, or `[num_prompts, width]`; must not wait for the device."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A captured forward, what it reads and what it writes."""

    graph: torch.cuda.CUDAGraph
    numbers: torch.Tensor
    out: torch.Tensor


class CapturedForwards:
    """The graphs of one forward.

    Attributes:
        max_tokens: of a batch that may have one; 0 where none has.

    Args:
        forward: what is captured.
        device: where it runs.
        layer_numbers: of the matrices of one layer; 0 where nothing can be captured.
        gives_prompts: it gives a row for each prompt, not for each token.
    """

    def __init__(self, forward: Forward, device: torch.device, layer_numbers: int, *, gives_prompts: bool) -> None:
        self._forward = forward
        self._device = device
        self.max_tokens = MAX_PRODUCTS // layer_numbers if layer_numbers else 0
        self._gives_prompts = gives_prompts
        self._seen: OrderedDict[Shape, None] = OrderedDict()
        self._graphs: dict[Shape, Graph] = {}
        self._pool: Any = None  # torch's opaque handle: graphs share memory, as only one runs at a time

    def run(self, batch: PackedBatch, plain: Callable[[], torch.Tensor]) -> torch.Tensor:
        """The rows of a batch of text, by its graph or by `plain`, which gives the same in the same order."""
        if len(batch.token_ids) > self.max_tokens:
            return plain()
        shape = Shape.of(batch.segment_lengths, len(batch.position_ids))
        if shape not in self._seen:
            self._seen[shape] = None
            if len(self._seen) > MAX_GRAPHS:
                self._graphs.pop(self._seen.popitem(last=False)[0], None)
            return plain()
        self._seen.move_to_end(shape)
        if shape in self._graphs:
            return self._replay(self._graphs[shape], shape, batch)
        wanted = plain()
        try:
            graph = self._capture(shape, batch)
            cosine = float(cosine_similarity(self._replay(graph, shape, batch).float(), wanted.float()).min())
        except Exception as error:  # noqa: BLE001 - whatever a stock module does that no graph can hold
            self._give_up(f"{type(error).__name__}: {error}")
            return wanted
        if not cosine >= MIN_COSINE:
            self._give_up(f"its least cosine with the plain forward is {cosine:.4f}")
        else:
            self._graphs[shape] = graph
        return wanted

    def _give_up(self, reason: str) -> None:
        logger.warning("the forward runs without CUDA graphs, short batches take longer: %s", reason.splitlines()[0])
        self.max_tokens = 0
        self._graphs.clear()

    def _replay(self, graph: Graph, shape: Shape, batch: PackedBatch) -> torch.Tensor:
        graph.numbers.copy_(torch.from_numpy(shape.lay(batch)))
        graph.graph.replay()
        num_rows = len(batch.segment_lengths) if self._gives_prompts else len(batch.token_ids)
        return graph.out[:num_rows].clone()  # the next replay writes over it

    def _capture(self, shape: Shape, batch: PackedBatch) -> Graph:
        numbers = torch.from_numpy(shape.lay(batch)).to(self._device)
        own = torch.cuda.current_stream(self._device)
        beside = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        beside.wait_stream(own)
        with torch.cuda.stream(beside):  # libraries take their memory and kernels are loaded before they are captured
            self._forward(Inputs.of(shape, numbers))
        own.wait_stream(beside)
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=beside, capture_error_mode="thread_local"):
            out = self._forward(Inputs.of(shape, numbers))
        return Graph(graph, numbers, out)
