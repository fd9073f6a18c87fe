"""Profiles with two roles: late interaction of texts, by sentence-transformers, PyLate or ColBERT; a table for queries.

In: the profile of its encoder, and what the files say of queries and documents. Out: the same with two roles.

Source: sentence-transformers 6.2 `Transformer.preprocess`, `MultiVectorMask.resolve_with_tokenizer`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from service.checkpoint.colbert_files import ColbertFiles, Expansion
from service.checkpoint.config_files import CheckpointFiles, token_text
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.sentence_files import SentenceFiles
from service.checkpoint.sparse_files import Router, read_table
from service.checkpoint.tokenizer_settings import refuse, tokenizer_settings
from service.prompt.piece import TokenPiece
from service.prompt.profile.profile import Profile, input_types
from service.prompt.roles import DOCUMENT, QUERY, PromptRole, QueryExpansion
from service.prompt.templates.plain_text import QueryOrDocument
from service.prompt.tokenizer.tokenizer_file import TokenizerFile, token_ids

ENCODERS = ("bert", "distilbert", "eurobert", "gte", "modernbert", "nomic_bert", "roberta", "xlm-roberta")
DECODERS = (*("gemma", "gemma3_text", "lfm2", "llama", "llama_bidirec", "ministral3", "mistral", "qwen2", "qwen3"),)
"""Model types of encoders, and of decoders, whose tokens may be hidden from each other: those that run packed."""
LEFT = ("Gemma", "Llama")
"""Beginnings of tokenizers' classes that pad at the left where their files do not say."""
MASKS = ("[MASK]", "<mask>")
"""Of tokenizers whose class in transformers has a mask that tokenizer_config.json does not name."""
NAMES = {QUERY: ("query",), DOCUMENT: ("document", "passage", "corpus")}
"""Names that checkpoints give the prefix of a role; the first that is there counts."""


def with_sides(profile: Profile, files: CheckpointFiles, found: ColbertFiles, max_positions: int) -> Profile:
    """The profile with a query's role and a document's.

    Args:
        profile: of the encoder, with the length of a token's vector.
        max_positions: most tokens that the encoder can number.
    """
    if files.model_type not in (*ENCODERS, *DECODERS):
        raise CheckpointError(
            f"config.json has model_type {files.model_type!r}, and the files beside it are of late interaction; its "
            f"encoders that are supported: {', '.join((*ENCODERS, *DECODERS))}"
        )
    tokenizer = files.read_object("tokenizer.json")
    ids, added = token_ids(tokenizer), tokenizer.get("added_tokens", [])
    markers = _markers(found.markers, ids, {token["content"] for token in added})
    specials = {token["content"]: token["id"] for token in added if token.get("special")}
    specials |= {marker: ids[marker] for marker in markers}
    fillings = {QUERY: QueryExpansion(), DOCUMENT: QueryExpansion()}
    if found.expansion is not None:
        fillings[QUERY] = _filling(found.expansion, files, ids, max_positions)
    sample = TokenizerFile.read(files.folder).load().encode("a") if found.inserts_markers else None
    is_second = sample is not None and not any(sample.special_tokens_mask[:1])
    roles: dict[str, PromptRole] = {}
    for index, (name, filling) in enumerate(fillings.items()):
        pieces, prefix = _split(found.prefixes[index], specials)
        longest = found.lengths[index] or profile.max_tokens
        roles[name] = PromptRole(
            markers=pieces,
            prefix=prefix,
            # a query may be as long as what it is filled up to, whatever else the files say
            max_tokens=min(max(longest, filling.num_tokens), max_positions),
            filling=filling,
            skipped_ids=frozenset(ids[word] for word in found.skiplists[index] if word in ids),
            is_second=is_second and bool(pieces),
        )
    return replace(
        profile,
        input_types=input_types(DOCUMENT, query=QUERY),
        takes_instructions=False,
        min_dimensions=profile.dimensions,
        matryoshka=(profile.dimensions,),
        max_tokens=max(role.max_tokens for role in roles.values()),
        protected=(*profile.protected, *(ids[marker] for marker in markers if ids[marker] not in profile.protected)),
        layout=QueryOrDocument(roles),
        roles=roles,
        markers=markers,
        similarity="mean_max_sim" if found.is_mean else "cosine",
    )


def _markers(wanted: Sequence[str], ids: Mapping[str, int], added: set[str]) -> tuple[str, ...]:
    """The beginnings of prefixes that become special tokens: the whole prefix, or its first word.

    A prefix that the tokenizer does not know stays text, and a word that it reads as one token anyway.
    """
    known = (next((one for one in (text, text.split()[0]) if one in ids), None) for text in wanted if text.split())
    found = (one for one in known if one is not None and (one in added or not one.isalnum()))
    return tuple(dict.fromkeys(found))


def _split(prefix: str, specials: Mapping[str, int]) -> tuple[tuple[TokenPiece, ...], str]:
    """A prefix as the special tokens that it begins with, and its text."""
    pieces: list[TokenPiece] = []
    while first := max((one for one in specials if prefix.startswith(one)), key=len, default=""):
        pieces.append(TokenPiece(specials[first]))
        prefix = prefix[len(first) :]
    if inner := next((one for one in specials if one in prefix), None):
        raise CheckpointError(f"the prefix {prefix!r} has the special token {inner!r} inside; supported: at once")
    return tuple(pieces), prefix


def _filling(
    expansion: Expansion, files: CheckpointFiles, ids: Mapping[str, int], max_positions: int
) -> QueryExpansion:
    """Return the filling of queries: the token that the files name, the mask, or the end of a text."""
    if expansion.length > max_positions:
        raise CheckpointError(
            f"query_expansion has length {expansion.length}; the encoder has {max_positions} positions"
        )
    config = tokenizer_settings(files)
    kind, is_decoder = str(config.get("tokenizer_class")), files.model_type in DECODERS
    key = "padding_side" if "padding_side" in config else "tokenizer_class"
    if config.get(key) == "left" or (key != "padding_side" and is_decoder and kind.startswith(LEFT)):
        refuse(files, key, config[key], "queries are expanded where they are padded; supported: padding_side 'right'")
    mask, end = (token_text(config.get(key)) for key in ("mask_token", "eos_token"))
    masks = MASKS if not is_decoder or kind.startswith("Gemma") else ()
    names = [one for one in (mask, *masks, end) if one] if expansion.token is None else [expansion.token]
    token_id = next((ids[name] for name in names if name in ids), None)
    if token_id is None:
        raise CheckpointError(f"queries are expanded by {names[0]!r}, which tokenizer.json does not have")
    return QueryExpansion(token_id, expansion.length, expansion.is_attended)


def with_looked_up_queries(profile: Profile, found: SentenceFiles, router: Router) -> Profile:
    """The profile of a sparse encoder, made of that of documents, whose queries are weighed by a table.

    Source: sentence-transformers 6.2 `SparseEncoder.encode_query` and `encode_document`.
    """
    longest = read_table(router, profile.dimensions) or profile.max_tokens
    prefixes = {
        role: next((found.prompts[name] for name in names if name in found.prompts), found.default_prompt)
        for role, names in NAMES.items()
    }
    roles = {
        QUERY: PromptRole(prefix=prefixes[QUERY], max_tokens=longest, uses_static_weights=True, has_ends=False),
        DOCUMENT: PromptRole(prefix=prefixes[DOCUMENT], max_tokens=profile.max_tokens),
    }
    return replace(
        profile,
        default_instruction=None,
        input_types=input_types(DOCUMENT, query=QUERY),
        takes_instructions=False,
        max_tokens=max(role.max_tokens for role in roles.values()),
        layout=QueryOrDocument(roles),
        roles=roles,
    )
