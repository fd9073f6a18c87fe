"""The profile of a sparse encoder whose queries are weighed by a table: two sides of one tokenizer.

Source: sentence-transformers 6.2 `SparseEncoder.encode_query` and `encode_document`.
"""

from dataclasses import replace

from service.checkpoint.sentence_files import SentenceFiles
from service.checkpoint.sparse.router_files import Router, read_table
from service.prompt.profile.profile import Profile, input_types
from service.prompt.templates.query_or_document import QueryOrDocument
from service.prompt.text_side import DOCUMENT, QUERY, TextSide

NAMES = {QUERY: ("query",), DOCUMENT: ("document", "passage", "corpus")}
"""Names that checkpoints give the prefix of a side; the first that is there counts."""


def with_looked_up_queries(profile: Profile, found: SentenceFiles, router: Router) -> Profile:
    """The profile with both sides.

    Args:
        profile: of the documents' encoder.

    Raises:
        CheckpointError: the table does not fit the vocabulary or the tokenizer.
    """
    longest = read_table(router, profile.dimensions) or profile.max_tokens
    prefixes = {
        side: next((found.prompts[name] for name in names if name in found.prompts), found.default_prompt)
        for side, names in NAMES.items()
    }
    sides = {
        QUERY: TextSide(prefix=prefixes[QUERY], max_tokens=longest, uses_static_weights=True),
        DOCUMENT: TextSide(prefix=prefixes[DOCUMENT], max_tokens=profile.max_tokens),
    }
    return replace(
        profile,
        architecture="splade_router",
        default_instruction=None,
        input_types=input_types(DOCUMENT, query=QUERY),
        takes_instructions=False,
        max_tokens=max(side.max_tokens for side in sides.values()),
        layout=QueryOrDocument(sides),
        sides=sides,
    )
