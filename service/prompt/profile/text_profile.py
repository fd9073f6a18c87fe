"""The profile of a text model, from its own files; modules of text families call these helpers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.sentence_files import Pooling, read_sentence_files
from service.checkpoint.sentence_settings import Encodes
from service.prompt.profile.family import Difference, Family, always
from service.prompt.profile.profile import MULTI_VECTOR, SPLADE, Profile
from service.prompt.profile.role_profiles import with_looked_up_queries, with_sides
from service.prompt.templates.plain_text import PlainText
from service.prompt.tokenizer.tokenizer_file import TokenizerFile

ROLES: Mapping[str, Sequence[str]] = {
    "search_query": ("search_query", "query"),
    "search_document": ("search_document", "document", "passage", "corpus"),
    "classification": ("classification", "Classification"),
    "clustering": ("clustering", "Clustering"),
    "image": (),
}
"""Cohere's `input_type` to the names that checkpoints give such prompts; the first that is there counts.

Source: sentence-transformers 6.2, `encode_query` and `encode_document`; without one of them nothing is put in front.
"""

CODE: Mapping[Pooling, str] = {MULTI_VECTOR: "colbert", SPLADE: "splade"}
"""The engine's code by the pooling; what is not here runs as `text_encoder`."""
OUTPUTS: Mapping[Pooling, str] = {MULTI_VECTOR: "multi", SPLADE: "sparse"}
"""The kind of output by the pooling; what is not here is dense."""


def make_text_profile(
    files: CheckpointFiles,
    *,
    name: str,
    width: str = "hidden_size",
    first_position: int = 0,
    bound: int = 0,
    matryoshka: Sequence[int] = (),
    min_dimensions: int = 0,
    pooling: Pooling | None = None,
    prompts: Mapping[str, str] | None = None,
    model_class: str = "",
    encodes: Encodes = "pooled",
) -> Profile:
    """Join what config.json, tokenizer.json and the sentence-transformers files say.

    Shorter vectors are offered where config.json says so (`matryoshka_dimensions`, `is_matryoshka`), or else where the
    family's models were trained for it.

    Args:
        bound: longest prompt, where no table of positions bounds it; 0: config.json does.
        first_position: number of the first position; those before it are not for tokens.
        min_dimensions: shortest prefix, where they were trained for any from it on; else 0.
        prompts: prefixes by name, in place of the files'; `ROLES` says which name serves which `input_type`.
        model_class: class in transformers that loads the weights; empty: the one of config.json's `model_type`.
        encodes: texts alone, or also media that messages hold.
    """
    found = read_sentence_files(files, encodes)
    if pooling is not None and found.colbert is None:
        found = replace(found, pooling=pooling)
    if prompts is not None:
        found = replace(found, prompts=prompts, default_prompt="")
    tokenizer = TokenizerFile.read(files.folder).content
    full = found.dimensions or positive(files.config, width)
    offered = _offered(files, full, matryoshka, min_dimensions)
    dimensions = full if found.truncate_dim is None else min(full, found.truncate_dim)
    if offered:
        offered = tuple(sorted({length for length in offered if length < dimensions} | {dimensions}))
    own = found.prompts
    roles = {role: next((own[name] for name in names if name in own), "") for role, names in ROLES.items()}
    max_positions = bound or positive(files.config, "max_position_embeddings") - first_position
    profile = Profile(
        name=name,
        architecture=":".join(filter(None, (CODE.get(found.pooling, "text_encoder"), model_class))),
        default_instruction=found.default_prompt or None,
        input_types={**own, **roles},
        pooling=found.pooling,
        outputs=(OUTPUTS.get(found.pooling, "dense"),),
        normalize=found.normalize,
        dimensions=dimensions,
        min_dimensions=offered[0] if offered else min(min_dimensions or 1, dimensions),
        matryoshka=offered,
        max_tokens=min(found.max_tokens or max_positions, max_positions),
        modalities=("text",),
        images=None,
        protected=protected_tokens(tokenizer, may_be_none=files.is_static),
        layout=PlainText(own, found.default_prompt),
        lower_case=found.lower_case,
        similarity=found.similarity,
    )
    if found.colbert is not None:
        return with_sides(profile, files, found.colbert, max_positions)
    if found.splade is not None and found.splade.router is not None:
        return with_looked_up_queries(profile, found, found.splade.router)
    return profile


def text_family(
    model_types: tuple[str, ...],
    about: str,
    stock: str,
    make_profile: Callable[..., Profile] = make_text_profile,
    pooling: str = "mean or CLS, by its files",
    prompt: str = "prefix by its files",
    *,
    is_of: Callable[[CheckpointFiles], bool] = always,
    rank: int = 0,
    more_tests: tuple[str, ...] = (),
    differences: tuple[Difference, ...] = (),
    **options: Any,
) -> Family:
    """A family whose models are transformers' text models; see `Family`. `make_profile` is called with the options."""
    return Family(
        model_types=model_types,
        about=about,
        make_profile=partial(make_profile, **options) if options else make_profile,
        is_of=is_of,
        rank=rank,
        kind="text",
        stock=stock,
        pooling=pooling,
        prompt=prompt,
        tests=("tests/models/text/", *more_tests),
        differences=differences,
    )


def _offered(files: CheckpointFiles, full: int, matryoshka: Sequence[int], min_dimensions: int) -> tuple[int, ...]:
    declared = files.matryoshka(full) or ()
    if declared or files.config.get("is_matryoshka") is True or 0 < min_dimensions < full:
        return declared
    return tuple(sorted({*(length for length in matryoshka if length < full), full}))


def protected_tokens(tokenizer: Mapping[str, Any], *, may_be_none: bool = False) -> tuple[int, ...]:
    """Ids of all special tokens but the one of unknown words, which any text may come to."""
    model = tokenizer.get("model", {})
    unknown = model.get("unk_token")
    if model.get("type") == "Unigram" and isinstance(model.get("unk_id"), int):
        unknown = model["vocab"][model["unk_id"]][0]
    specials = [token for token in tokenizer.get("added_tokens", []) if token.get("special")]
    if not specials and not may_be_none:
        raise CheckpointError("tokenizer.json has no special tokens; supported: at least one")
    return tuple(token["id"] for token in specials if token["content"] != unknown)
