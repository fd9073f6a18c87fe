"""Short batches of text on CUDA as graphs: one launch for a forward instead of some hundreds.

Each launch costs the host about as much as a short batch's kernel takes the device.

A graph runs over memory of its own and for one shape: batches are filled up to it with tokens that belong to no prompt,
and with empty prompts. Knows no model: it is given a forward.

Source: padding to captured sizes as in nano-vllm's `model_runner.capture_cudagraph`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from service.model.packed.graph_cache import GraphCache
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.varlen_attention import SegmentBounds

MAX_PRODUCTS = 1 << 35
"""Tokens times numbers of a layer's matrices up to which the host is slower than the device: about 140 us a layer on an
H100's host, 400 TFLOP/s. 680 tokens of Qwen3-VL's 2B, 19,000 of MiniLM."""
LEAST_TOKENS = 16
LEAST_LONGEST = 32


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


class CapturedForwards:
    """The graphs of one forward of texts.

    Args:
        forward: what is captured.
        graphs: where they are kept.
        layer_numbers: of the matrices of one layer; 0 where nothing can be captured.
        gives_prompts: it gives a row for each prompt, not for each token.
    """

    def __init__(self, forward: Forward, graphs: GraphCache, layer_numbers: int, *, gives_prompts: bool) -> None:
        self._forward, self._graphs, self._gives_prompts = forward, graphs, gives_prompts
        self._max_tokens = MAX_PRODUCTS // layer_numbers if layer_numbers else 0

    @property
    def max_tokens(self) -> int:
        """Of a batch that may have a graph; 0 where none has."""
        return 0 if self._graphs.is_off else self._max_tokens

    def run(self, batch: PackedBatch, plain: Callable[[], torch.Tensor]) -> torch.Tensor:
        """The rows of a batch of text, by its graph or by `plain`, which gives the same in the same order."""
        if len(batch.token_ids) > self.max_tokens:
            return plain()
        shape = Shape.of(batch.segment_lengths, len(batch.position_ids))
        return self._graphs.run(
            shape,
            lambda: torch.from_numpy(shape.lay(batch)),
            lambda numbers: self._forward(Inputs.of(shape, numbers)),
            plain,
            num_rows=len(batch.segment_lengths) if self._gives_prompts else len(batch.token_ids),
        )
