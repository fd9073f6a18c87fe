"""The added tokens of a tokenizer: those of tokenizer.json, and what the files beside it add or say of them.

In: tokenizer.json and the arguments of its class. Out: `added_tokens` as transformers has them once it is loaded,
without those that the model has no embedding for: texts that spell them are read as the characters they are.
EmbeddingGemma has one, `<image_soft_token>`.

Source: transformers 5.24 `PreTrainedTokenizerBase._from_pretrained`, `TokenizersBackend.__init__`; tokenizers 0.23
`AddedVocabulary::add_tokens`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from service.checkpoint.config_files import token_text
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.tokenizer_settings import LISTED

Json = dict[str, Any]

NAMES = tuple(f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))
MORE = ("additional_special_tokens", "extra_special_tokens")
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False}


def added_tokens(named: Mapping[str, Any], content: Json, older: Mapping[str, Any], *, is_rebuilt: bool) -> list[Json]:
    """The added tokens by their ids.

    A class that builds its tokenizer anew takes the words that tokenizer_config.json lists, and those of tokenizer.json
    only where it lists none. Special tokens of tokenizer.json stay: no text becomes one.

    Args:
        named: arguments of the class.
        older: added_tokens.json, ids by token, which counts where tokenizer_config.json lists none.
    """
    own = content.get("added_tokens", [])
    listed = named.get(LISTED)
    specials = dict.fromkeys(_specials(named))
    found = {one["content"]: one for one in own if listed is None or not is_rebuilt or one.get("special")}
    if listed is None:
        place, more = "added_tokens.json", {i: _token(text, text in specials) for text, i in older.items()}
        more = {i: one for i, one in more.items() if one["content"] not in found}
    else:
        place, more = "tokenizer_config.json", {int(i): _listed(one, specials) for i, one in listed.items()}
    vocab = content["model"].get("vocab") or {}
    ids = dict(vocab) if isinstance(vocab, dict) else {piece[0]: i for i, piece in enumerate(vocab)}
    next_id = max(len(ids), *(one["id"] + 1 for one in found.values()), 0)
    for wanted, token in sorted(more.items()):
        text = token["content"]
        token_id = found[text]["id"] if text in found else ids.get(text, next_id)
        if token_id != wanted:
            raise CheckpointError(
                f"{place} gives the added token {text!r} the id {wanted}, and tokenizer.json {token_id}"
                f"{'' if text in ids or text in found else ', the first behind its own'}: they have to agree"
            )
        found[text] = token | {"id": token_id}
        next_id = max(next_id, token_id + 1)
    for text in specials:
        if text not in found and text not in ids:
            found[text] = _token(text, True) | {"id": next_id}
            next_id += 1
    return sorted(found.values(), key=lambda one: one["id"])


def _specials(named: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts that the arguments call special tokens."""
    for value in (*(named.get(name) for name in NAMES), *(one for key in MORE for one in _list(named.get(key)))):
        if text := token_text(value):
            yield text


def _list(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _token(text: str, special: bool) -> Json:
    return {"id": 0, "content": text, **FLAGS, "normalized": not special, "special": special}


def _listed(entry: object, specials: Mapping[str, None]) -> Json:
    text = token_text(entry)
    if not isinstance(entry, dict) or text is None:
        raise CheckpointError(f"tokenizer_config.json has {entry!r} in {LISTED}; an object with content is needed")
    special = bool(entry.get("special")) or text in specials
    flags = {key: bool(entry.get(key, default)) for key, default in FLAGS.items()}
    return {"content": text, **flags, "normalized": bool(entry.get("normalized", not special)), "special": special}


class Embedded(NamedTuple):
    """A tokenizer.json whose tokens all have an embedding, and what those that have none are written as."""

    content: dict[str, Any]
    dropped: tuple[str, ...]


def with_embeddings(content: dict[str, Any], num_rows: int, path: Path) -> Embedded:
    """Leave added tokens out that have none of the `num_rows` of the embedding; an error names the `path`."""
    added, model = content.get("added_tokens", []), content["model"]
    beyond = {one["content"]: one["id"] for one in added if one["id"] >= num_rows}
    vocab = model.get("vocab") or {}
    ids = vocab.values() if isinstance(vocab, dict) else range(len(vocab))
    if not beyond and len(vocab) <= num_rows and max(ids, default=0) < num_rows:
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
