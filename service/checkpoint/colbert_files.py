"""ColBERT's files: what a late-interaction model of texts does with queries and documents. Imports no torch.

Three forms are read: sentence-transformers 6's, PyLate's, and ColBERT's own. In: a folder's files. Out: values that do
not depend on the form. What is a query's and what a document's comes in pairs, in this order.

Source: sentence-transformers 6.2 `MultiVectorEncoder._parse_model_config`, `_maybe_load_stanford_metadata`.
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from service.checkpoint.colbert_modules import COLBERT_METADATA, TokenModules, read_token_modules, stanford_projection
from service.checkpoint.config_files import NAMES, CheckpointFiles
from service.checkpoint.json_files import CheckpointError

Form = Literal["MultiVectorEncoder", "PyLate", "HF_ColBERT"]
"""Whose files they are."""
MULTI_VECTOR_ENCODER, PYLATE, STANFORD = "MultiVectorEncoder", "ColBERT", "HF_ColBERT"
LENGTHS = ("query_length", "document_length", "query_expansion")
"""Keys of the Transformer's file, or of PyLate's."""
OF_PYLATE = (
    *("query_prefix", "document_prefix", "query_length", "document_length", "do_query_expansion"),
    *("attend_to_expansion_tokens", "attend_to_mask_tokens", "skiplist_words", "query_expansion"),
)
"""Keys of config_sentence_transformers.json that only PyLate's models have."""
KNOWN = (
    *("__version__", "model_type", "prompts", "default_prompt_name", "similarity_fn_name", "requirements"),
    *("truncate_dim", *OF_PYLATE),
)
CANONICAL_LENGTH = 32
"""Of an expanded query where the files do not say."""
PREFIXES = ("[unused0]", "[unused1]")
"""ColBERT's own, where artifact.metadata does not say."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """Tokens after a short query, each of which gets a vector too.

    Attributes:
        length: tokens that a query is brought to.
        is_fixed: a longer query is cut to it.
        is_attended: the query's own tokens attend to them, and they to each other.
        token: what they are; None: the mask, or the end of a text where there is none.
    """

    length: int
    is_fixed: bool
    is_attended: bool
    token: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColbertFiles(TokenModules):
    """Contents of the files.

    Attributes:
        prefixes: in front of a query and of a document.
        markers: beginnings of them that are one token each, whatever tokenizer.json makes of them.
        lengths: longest query and document, tokens; None where only the model's own limit holds.
        expansion: of queries; None: none.
        is_mean: scores are divided by the number of the query's vectors.
        inserts_markers: they are put behind a prompt's first token, whatever that is, as PyLate does.
    """

    prefixes: tuple[str, str]
    markers: tuple[str, ...]
    lengths: tuple[int | None, int | None]
    expansion: Expansion | None
    is_mean: bool
    inserts_markers: bool


def colbert_form(files: CheckpointFiles) -> Form | None:
    """Whose form the files have; None where they are of no late-interaction model that is served."""
    names, has_modules = files.optional(NAMES), (files.folder / "modules.json").is_file()
    kind = names.get("model_type")
    if STANFORD in (files.config.get("architectures") or ()) and not has_modules:
        return "HF_ColBERT"
    if not has_modules:
        return None
    if kind == MULTI_VECTOR_ENCODER:
        return "MultiVectorEncoder"
    is_pylates = kind == PYLATE or (kind in (None, "SentenceTransformer") and any(key in names for key in OF_PYLATE))
    return "PyLate" if is_pylates else None


def read_colbert(files: CheckpointFiles, form: Form, settings: Mapping[str, Any]) -> ColbertFiles:
    """Read all of them."""
    names = files.optional(NAMES)
    if unknown := sorted({*names} - {*KNOWN}):
        raise CheckpointError(
            f"{NAMES} of a late-interaction model has {unknown[0]} {names[unknown[0]]!r}; known: {', '.join(KNOWN)}"
        )
    metadata: Mapping[str, Any] = {}
    if form == "HF_ColBERT":
        metadata = files.optional(COLBERT_METADATA)
        skiplist = list(string.punctuation) if metadata.get("mask_punctuation", True) else []
        modules = TokenModules((stanford_projection(files.folder),), True, ((), skiplist))
    else:
        modules = read_token_modules(files.folder, is_pylates=form == "PyLate")
    said = {**_legacy(names, metadata, form), **{key: settings[key] for key in LENGTHS if key in settings}}
    expansion = _expansion(said.get("query_expansion"))
    markers = _markers(names, metadata, form)
    if form == "PyLate":
        words = _pylate_skiplist(names)
        modules = modules if any(modules.skiplists) else replace(modules, skiplists=((), words))
    return ColbertFiles(
        prefixes=_prefixes(files.prompts(), markers),
        markers=tuple(marker for marker in markers if marker),
        lengths=(_query_length(said, expansion), _count(said, "document_length")),
        expansion=expansion,
        skiplists=modules.skiplists,
        dense=modules.dense,
        normalize=modules.normalize,
        is_mean=names.get("similarity_fn_name") == "meanmaxsim",
        inserts_markers=form == "PyLate",
    )


def _legacy(names: Mapping[str, Any], metadata: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """Lengths and expansion by the keys of PyLate or of ColBERT."""
    if form == "HF_ColBERT":
        length = metadata.get("query_maxlen") or CANONICAL_LENGTH
        attend = bool(metadata.get("attend_to_mask_tokens"))
        return {
            "document_length": metadata.get("doc_maxlen"),
            "query_expansion": {"strategy": "fixed", "attend": attend, "length": length},
        }
    said = {key: names[key] for key in LENGTHS if names.get(key) is not None or (key in names and key == LENGTHS[2])}
    if "query_expansion" in said or not any(key in names for key in OF_PYLATE):
        return said
    if names.get("do_query_expansion") is False:
        return said
    attend = names.get("attend_to_expansion_tokens", names.get("attend_to_mask_tokens"))
    length = said.pop("query_length", None) or CANONICAL_LENGTH
    return said | {"query_expansion": {"strategy": "fixed", "attend": bool(attend), "length": length}}


def _expansion(said: object) -> Expansion | None:
    if said is None:
        return None
    if not isinstance(said, dict) or {*said} - {"strategy", "attend", "token", "length"}:
        raise CheckpointError(f"query_expansion is {said!r}; an object of strategy, attend, token and length is needed")
    strategy, token, attend = said.get("strategy"), said.get("token"), said.get("attend", False)
    if strategy not in ("fixed", "min") or type(attend) is not bool or not isinstance(token, str | None):
        raise CheckpointError(
            f"query_expansion is {said!r}; needed are strategy 'fixed' or 'min', attend true or false, and token a "
            "string or null"
        )
    length = _count(said, "length")
    if length is None:
        raise CheckpointError(f"query_expansion is {said!r}; a length is needed")
    return Expansion(length, strategy == "fixed", attend, token)


def _query_length(said: Mapping[str, Any], expansion: Expansion | None) -> int | None:
    length = _count(said, "query_length")
    if expansion is None:
        return length
    if length is not None and length < expansion.length:
        raise CheckpointError(
            f"query_length is {length}, and query_expansion's length {expansion.length}: a query cannot be cut to the "
            "one and brought to the other"
        )
    return expansion.length if expansion.is_fixed else length


def _markers(names: Mapping[str, Any], metadata: Mapping[str, Any], form: Form) -> tuple[str, str]:
    """PyLate's and ColBERT's prefixes, which are tokens by themselves; empty where there are none."""
    if form == "HF_ColBERT":
        ids = (metadata.get("query_token_id"), metadata.get("doc_token_id"))
        query, document = (f"{own or default} " for own, default in zip(ids, PREFIXES, strict=True))
        return query, document
    query, document = (names.get(key) or "" for key in ("query_prefix", "document_prefix"))
    if not isinstance(query, str) or not isinstance(document, str):
        raise CheckpointError(f"{NAMES} has query_prefix {query!r} and document_prefix {document!r}; not strings")
    return query, document


def _prefixes(prompts: Mapping[str, str], markers: tuple[str, str]) -> tuple[str, str]:
    """A marker goes ahead of the prompt that the files have beside it, but never twice."""
    query, document = (
        marker + (prompts.get(side) or "").removeprefix(marker)
        for side, marker in zip(("query", "document"), markers, strict=True)
    )
    return query, document


def _pylate_skiplist(names: Mapping[str, Any]) -> Sequence[str]:
    words = names.get("skiplist_words")
    if words is not None and not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        raise CheckpointError(f"{NAMES} has skiplist_words {words!r}; a list of strings is needed")
    is_pylates = names.get("model_type") == PYLATE or any(key in names for key in ("query_prefix", "document_prefix"))
    return words if words is not None else list(string.punctuation) if is_pylates else ()


def _count(said: Mapping[str, Any], key: str) -> int | None:
    value = said.get(key)
    if value is not None and (type(value) is not int or value < 1):
        raise CheckpointError(f"{key} of a late-interaction model is {value!r}; a positive integer is needed")
    return value
