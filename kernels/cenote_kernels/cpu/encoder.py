"""BERT's layers for one prompt of few tokens, in one call: `encoder.c`, in float32.

A lone short query reads every weight once. By a call for each product and what stands between, the calls take as long
as the reading does; here two threads go through all layers together.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch

from cenote_kernels.cpu.library import columns, kernel, parallel_region, runs_on, team_functions

MAX_TOKENS: Final = 64
"""Of a prompt, as in encoder.c."""


@dataclass(frozen=True, slots=True)
class NormWeights:
    """A layer norm: weights and biases, `[width]`, float32, and epsilon."""

    weight: torch.Tensor
    bias: torch.Tensor
    epsilon: float


@dataclass(frozen=True, slots=True)
class ProductWeights:
    """A projection: `[outputs, inputs]` and `[outputs]`, float32."""

    weight: torch.Tensor
    bias: torch.Tensor


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """``x = norm(x + out(attention(qkv x))); x = norm(x + narrow(gelu(widen(x))))``, in the order in which they run."""

    query_key_value: ProductWeights
    out: ProductWeights
    attention_norm: NormWeights
    widen: ProductWeights
    narrow: ProductWeights
    output_norm: NormWeights


class _Layer(ctypes.Structure):
    """A mirror of `Layer` in encoder.c."""

    _fields_ = (
        *((f"pointer_{number}", ctypes.c_void_p) for number in range(12)),
        ("attention_epsilon", ctypes.c_float),
        ("output_epsilon", ctypes.c_float),
    )


class _Forward(ctypes.Structure):
    """A mirror of `Forward` in encoder.c."""

    _fields_ = (
        ("words", ctypes.c_void_p),
        ("positions", ctypes.c_void_p),
        ("norm", ctypes.c_void_p),
        ("norm_bias", ctypes.c_void_p),
        ("layers", ctypes.c_void_p),
        ("num_words", ctypes.c_int64),
        ("num_positions", ctypes.c_int64),
        ("num_layers", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("intermediate", ctypes.c_int64),
        ("num_heads", ctypes.c_int64),
        ("token_ids", ctypes.c_void_p),
        ("places", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("memory", ctypes.c_void_p),
        ("num_tokens", ctypes.c_int64),
        ("num_keys", ctypes.c_int64),
        ("num_threads", ctypes.c_int64),
        ("parallel", ctypes.c_void_p),
        ("thread_number", ctypes.c_void_p),
        ("team_size", ctypes.c_void_p),
        ("epsilon", ctypes.c_float),
    )


class ShortEncoder:
    """All layers of an encoder, packed for prompts of up to `MAX_TOKENS` tokens. It holds a copy of the matrices."""

    def __init__(
        self,
        words: torch.Tensor,
        positions: torch.Tensor,
        norm: NormWeights,
        layers: Sequence[LayerWeights],
        num_heads: int,
    ) -> None:
        """Pack the layers' weights; see `can_be_made`.

        Args:
            words: `[vocabulary, width]`, float32.
            positions: `[positions, width]`, float32.
            norm: of their sum.
            layers: in order.
            num_heads: of attention.
        """
        self._kept: list[torch.Tensor] = []
        described = (_Layer * len(layers))(*(self._described(layer) for layer in layers))
        self._layers, self._width = described, words.shape[1]
        self._intermediate = layers[0].widen.weight.shape[0]
        starts, end = team_functions()
        self._fixed = (
            *(self._kept_at(one) for one in (words, positions, norm.weight, norm.bias)),
            ctypes.addressof(described),
            len(words),
            len(positions),
            len(layers),
            self._width,
            self._intermediate,
            num_heads,
        )
        self._team, self._epsilon = (parallel_region(), starts, end), norm.epsilon
        self._run = kernel("encoder", torch.float32)

    @staticmethod
    def can_be_made(width: int, intermediate: int, num_heads: int, device: torch.device) -> bool:
        """True if there is a kernel for an encoder of these widths."""
        if not runs_on(torch.float32, device):
            return False
        block, lanes = columns("block"), columns("lanes")
        return width % block == 0 and intermediate % block == 0 and width % (num_heads * lanes) == 0

    def forward(self, token_ids: torch.Tensor, places: torch.Tensor, num_keys: int, num_threads: int) -> torch.Tensor:
        """Hidden states of all tokens, `[num_tokens, width]`, float32.

        Args:
            token_ids: `[num_tokens]`, int64, contiguous, at most `MAX_TOKENS`.
            places: `[num_tokens]`, int64, contiguous, rows of the table of positions.
            num_keys: tokens that are attended to, from the first on.
            num_threads: that share the work; each needs a core of its own.

        Raises:
            IndexError: a token or a place has no row in its table, or there are more tokens or keys than can be.
        """
        num_tokens = len(token_ids)
        num_threads = num_threads if all(self._team) else 1
        out = token_ids.new_empty(num_tokens, self._width, dtype=torch.float32)
        memory = out.new_empty(num_tokens * ((5 + 2 * num_threads) * self._width + self._intermediate))
        arguments = _Forward(
            *self._fixed,
            token_ids.data_ptr(),
            places.data_ptr(),
            out.data_ptr(),
            memory.data_ptr(),
            num_tokens,
            num_keys,
            num_threads,
            *self._team,
            self._epsilon,
        )
        if self._run(ctypes.byref(arguments)):
            raise IndexError(f"a token or position has no row, or {num_keys} keys of {num_tokens} tokens are too many")
        return out

    def _described(self, layer: LayerWeights) -> _Layer:
        attention, output = layer.attention_norm, layer.output_norm
        addresses: list[int] = []
        for part in (layer.query_key_value, layer.out, attention, layer.widen, layer.narrow, output):
            weight = part.weight if isinstance(part, NormWeights) else packed(part.weight)
            addresses += [self._kept_at(weight), self._kept_at(part.bias)]
        return _Layer(*addresses, attention.epsilon, output.epsilon)

    def _kept_at(self, tensor: torch.Tensor) -> int:
        """The address of a tensor that lives as long as this."""
        self._kept.append(tensor.detach().contiguous())
        return self._kept[-1].data_ptr()


def packed(weight: torch.Tensor) -> torch.Tensor:
    """`[outputs, inputs]` as `[outputs / block, inputs, block]`."""
    num_inputs = weight.shape[1]
    return weight.detach().view(-1, columns("block"), num_inputs).transpose(1, 2).contiguous()
