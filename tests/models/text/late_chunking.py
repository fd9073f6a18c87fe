"""Late chunking as its paper has it, by transformers alone: one plain forward of a window, and the mean of each chunk.

Windows are put together here by their definition, without the service's code.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

CONTEXT_TOKENS = 256

Place = tuple[int, int]


def windows(stock: SentenceTransformer, chunks: Sequence[str], prefix: str = "") -> list[tuple[list[int], list[Place]]]:
    """Ids of each window, and the tokens of each of its chunks; `prefix` ends where a token does."""
    tokenizer = stock.tokenizer
    own = [tokenizer(chunk, add_special_tokens=False)["input_ids"] for chunk in chunks]
    whole, bare = tokenizer("a")["input_ids"], tokenizer("a", add_special_tokens=False)["input_ids"]
    start = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
    before = [*whole[:start], *tokenizer(prefix, add_special_tokens=False)["input_ids"]]
    after = whole[start + len(bare) :]
    room = int(stock.max_seq_length or 0) - len(before) - len(after)
    assert max(map(len, own)) <= room
    found: list[tuple[list[int], list[Place]]] = []
    todo, seen = list(enumerate(own)), list[int]()
    while todo:
        context = seen[max(0, len(seen) - min(CONTEXT_TOKENS, room // 2, room - len(todo[0][1]))) :]
        context = context if len(todo[0][1]) < room else []
        ids, places = [*before, *context], list[Place]()
        while todo and len(ids) + len(todo[0][1]) + len(after) <= room + len(before) + len(after):
            number, chunk = todo.pop(0)
            places.append((0 if number == 0 else len(ids), len(ids) + len(chunk) + (0 if todo else len(after))))
            ids += chunk
            seen += chunk
        found.append(([*ids, *after], places))
    return found


@torch.inference_mode()
def late_vectors(stock: SentenceTransformer, chunks: Sequence[str], prefix: str = "") -> np.ndarray:
    """`[num_chunks, dimensions]`, float32: what stands behind the pooling is applied to each mean."""
    means = []
    for ids, places in windows(stock, chunks, prefix):
        states = stock[0].auto_model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        means += [states[start:stop].mean(0) for start, stop in places]
    features: Any = {"sentence_embedding": torch.stack(means)}
    modules: Any = stock.children()
    for module in modules:
        features = features if isinstance(module, Transformer | Pooling) else module(features)
    return features["sentence_embedding"].numpy()
