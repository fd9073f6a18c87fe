"""A tokenizer without the tokens that the model has no embedding for: no text may come to one of them.

In: tokenizer.json and the number of the embedding's rows. Out: the same without them; texts that spell them are read as
the characters they are. EmbeddingGemma has one, `<image_soft_token>`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from service.checkpoint.json_files import CheckpointError


class Embedded(NamedTuple):
    """A tokenizer.json whose tokens all have an embedding.

    Attributes:
        content: the file.
        dropped: what the tokens that have none are written as.
    """

    content: dict[str, Any]
    dropped: tuple[str, ...]


def with_embeddings(content: dict[str, Any], num_rows: int | None, path: Path) -> Embedded:
    """Leave added tokens out that have no embedding.

    Args:
        num_rows: of the embedding; None: not known.
        path: the file, for the error.

    Raises:
        CheckpointError: a token that is not added has none, and any text may come to it.
    """
    added, model = content.get("added_tokens", []), content["model"]
    beyond = {one["content"]: one["id"] for one in added if num_rows is not None and one["id"] >= num_rows}
    vocab = model.get("vocab") or {}
    if num_rows is None or (not beyond and len(vocab) <= num_rows and max(_ids(vocab), default=0) < num_rows):
        return Embedded(content, ())
    entries = vocab.items() if isinstance(vocab, dict) else ((piece[0], i) for i, piece in enumerate(vocab))
    for text, token_id in entries:
        if token_id >= num_rows and text not in beyond:
            raise CheckpointError(
                f"{path} has the token {text!r} with the id {token_id}, and config.json vocab_size {num_rows}: it has "
                "no embedding"
            )
    kept = [one for one in added if one["content"] not in beyond]
    if isinstance(vocab, dict):
        vocab = {text: token_id for text, token_id in vocab.items() if text not in beyond}
    else:
        vocab = vocab[:num_rows]
    return Embedded(content | {"added_tokens": kept, "model": model | {"vocab": vocab}}, tuple(beyond))


def _ids(vocab: Mapping[str, int] | list[Any]) -> Any:
    return vocab.values() if isinstance(vocab, dict) else range(len(vocab))
