"""Checks the two properties of a tokenizer that piece-by-piece prompts rely on. Runs once, at start.

Knows no request. What it refuses would otherwise show as wrong vectors without any error.
"""

from collections.abc import Callable
from itertools import product

from service.checkpoint.json_files import CheckpointError
from service.prompt.conversation import Conversation
from service.prompt.piece import ImagePiece, Piece, TokenPiece
from service.prompt.profile.profile import Profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer

_PROBES = ("", " a\n ", "\n\n b<", "e\u0301\r\n")
"""Texts whose ends would merge with, or be swallowed by, a badly configured special token."""


def check_tokenizer(profile: Profile, tokenizer: PromptTokenizer, build: Callable[[Conversation], list[int]]) -> None:
    """Refuse a tokenizer that lets text become special tokens, or joins text across them.

    Args:
        build: the token ids of a conversation, piece by piece.

    Raises:
        CheckpointError: text became a special token, or the pieces differ from tokenizing all at once.
    """
    if "text" not in profile.modalities:
        return
    named = {token_id: tokenizer.id_to_token(token_id) for token_id in profile.protected}
    specials = [token_id for token_id, name in named.items() if name is not None]  # others have no embedding
    for token_id in specials:
        name = named[token_id] or ""
        if not set(specials).isdisjoint(tokenizer.encode(name).ids):
            raise CheckpointError(f"tokenizer.json does not treat token {token_id}, {name!r}, as special")
    roles = [name for name, role in profile.roles.items() if role.has_ends]  # these are text alone
    for instruction, text in product(roles or (None,), _PROBES):
        probe = Conversation(instruction, profile.turns_about(text))
        rendered = "".join(_render(piece, tokenizer) for piece in profile.layout(probe))
        rendered_ids = tokenizer.encode_rendered(rendered, add_special_tokens=profile.add_special_tokens)
        rendered_ids = [one for one in rendered_ids if one != tokenizer.unread_id]
        expected = profile.role(probe).plan(profile.padding.fill(rendered_ids)).ids
        if beyond := [one for one in expected if one >= tokenizer.num_ids]:
            raise CheckpointError(f"a prompt of this model has the token {beyond[0]}, which has no embedding")
        if expected and build(probe) != expected:  # nothing at all is a prompt of no model
            raise CheckpointError("tokenizer.json joins text across special tokens; that is not supported")


def _render(piece: Piece, tokenizer: PromptTokenizer) -> str:
    if isinstance(piece, TokenPiece):
        return tokenizer.id_to_token(piece.token_id) or ""
    return "" if isinstance(piece, ImagePiece) else piece.text
