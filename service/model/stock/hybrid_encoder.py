"""BGE-M3 as the engine runs it: dense, sparse and token vectors of a text from one forward.

A raw vector of a prompt whose tokens are wanted has a row for each token, one number wider than the model: first the
dense vector, then the token vectors of all tokens but the first, and in the last column each token's weight. Of other
prompts it is one row, and the heads for tokens do not run.

Source: FlagEmbedding `M3Embedder`.
"""

from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file
from torch.nn import functional
from transformers import PreTrainedModel

from cenote_kernels import PoolingMode
from service.checkpoint.token_heads import HeadKind, find_heads, unused_ids
from service.errors import ModelError
from service.model.packed.packed_batch import PackedBatch
from service.model.stock.dense_head import Head
from service.model.stock.text_encoder import TextEncoder
from service.outputs.ask import needs

Linear = tuple[torch.Tensor, torch.Tensor]
"""Weight `[out, width]` and bias `[out]`."""


class HybridEncoder(TextEncoder):
    """An `EmbeddingModel` with heads for tokens.

    Attributes:
        unused_ids: tokens without a place in sparse vectors.
    """

    def __init__(
        self,
        stock: PreTrainedModel,
        pooling: PoolingMode,
        head: Head,
        heads: dict[HeadKind, Linear],
        unused: frozenset[int],
    ) -> None:
        super().__init__(stock, pooling, head)
        self.unused_ids = unused
        self._heads = heads
        self.num_parameters += sum(one.numel() for linear in heads.values() for one in linear)

    @classmethod
    def load(  # type: ignore[override]  # its class is no choice
        cls, folder: Path, device: torch.device, dtype: torch.dtype | None, pooling: PoolingMode
    ) -> "HybridEncoder":
        """From a checkpoint's folder; see `TextEncoder.load`.

        Raises:
            ModelError: a head is damaged, or has other tensors than a linear layer of the model's width.
        """
        plain = TextEncoder.load(folder, device, dtype, pooling)
        width = int(cast(Any, plain.stock.config).hidden_size)
        sizes: dict[HeadKind, int] = {"sparse": 1, "multi": width}
        heads: dict[HeadKind, Linear] = {}
        for kind, path in find_heads(folder).items():
            weight, bias = read_head(path, sizes[kind], width)
            heads[kind] = weight.to(device, plain.dtype), bias.to(device, plain.dtype)
        return cls(plain.stock, pooling, cls.load_head(folder, plain.stock), heads, unused_ids(folder))

    @torch.inference_mode()
    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """Dense vectors, `[num_requests, width]`; where tokens are wanted, `[num_rows, width + 1]`."""
        wants_tokens = [needs(asks) == "all" for asks in batch.asks]
        if not any(wants_tokens):
            return super().embed(batch)
        packed, plan = self._ordered(batch)
        states = packed[torch.from_numpy(plan.row).to(self.device)]
        starts = [0, *accumulate(batch.segment_lengths)]
        dense = self._pooled(states, torch.tensor(starts, device=self.device))
        rows = []
        for index, (start, stop) in enumerate(pairwise(starts)):
            one = functional.pad(dense[index : index + 1], (0, 1))
            if wants_tokens[index]:
                one = torch.cat([one, self._tokens(states[start:stop])])
                one[0, -1] = one[1, -1]  # weight of the first token; its token vector is not used
                one = torch.cat([one[:1], one[2:]])
            rows.append(one)
        return torch.cat(rows)

    def _tokens(self, states: torch.Tensor) -> torch.Tensor:
        """Token vectors and weights, `[num_tokens, width + 1]`, float32; zeros where there is no head."""
        found = states.new_zeros((len(states), self.hidden_size + 1), dtype=torch.float32)
        if "multi" in self._heads:
            found[:, :-1] = functional.linear(states, *self._heads["multi"]).float()
        if "sparse" in self._heads:
            found[:, -1:] = functional.linear(states, *self._heads["sparse"]).relu().float()
        return found


def read_head(path: Path, num_out: int, width: int) -> Linear:
    """A linear layer from a state dictionary; nothing but tensors is unpickled.

    Raises:
        ModelError: the file is damaged, holds something else, or has other shapes or number formats.
    """
    try:
        tensors = load_file(path) if path.suffix == ".safetensors" else torch.load(path, "cpu", weights_only=True)
    except Exception as error:  # of pickle, zipfile, safetensors and torch
        reason = str(error).strip().partition("\n")[0]
        raise ModelError("internal_error", f"{path.name} cannot be read as tensors: {reason}") from error
    shapes = {"weight": (num_out, width), "bias": (num_out,)}
    is_tensors = isinstance(tensors, dict) and all(isinstance(one, torch.Tensor) for one in tensors.values())
    found = {name: tuple(one.shape) for name, one in tensors.items()} if is_tensors else {}
    if found != shapes or not all(one.is_floating_point() for one in tensors.values()):
        raise ModelError("internal_error", f"{path.name} has {found or 'no tensors'}, expected {shapes} of floats")
    return tensors["weight"], tensors["bias"]
