"""The profile of a sparse encoder whose queries are weighed by a table: two roles of one tokenizer.

Source: sentence-transformers 6.2 `SparseEncoder.encode_query` and `encode_document`.
"""

from dataclasses import replace

from service.checkpoint.sentence_files import SentenceFiles
from service.checkpoint.sparse.router_files import Router, read_table
from service.prompt.profile.profile import Profile, input_types
from service.prompt.roles import DOCUMENT, QUERY, PromptRole
from service.prompt.templates.query_or_document import QueryOrDocument

NAMES = {QUERY: ("query",), DOCUMENT: ("document", "passage", "corpus")}
"""Names that checkpoints give the prefix of a role; the first that is there counts."""


def with_looked_up_queries(profile: Profile, found: SentenceFiles, router: Router) -> Profile:
    """The profile with both roles.

    Args:
        profile: of the documents' encoder.

    Raises:
        CheckpointError: the table does not fit the vocabulary or the tokenizer.
    """
    longest = read_table(router, profile.dimensions) or profile.max_tokens
    prefixes = {
        role: next((found.prompts[name] for name in names if name in found.prompts), found.default_prompt)
        for role, names in NAMES.items()
    }
    roles = {
        QUERY: PromptRole(prefix=prefixes[QUERY], max_tokens=longest, uses_static_weights=True),
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
