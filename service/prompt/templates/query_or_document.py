"""The template of ColBERT's text models: an item is one text, a query or a document, with the marker of its role."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from service.errors import InputError
from service.prompt.conversation import Conversation
from service.prompt.piece import Piece, TextPiece
from service.prompt.roles import DOCUMENT, PromptRole
from service.prompt.templates.single_item import single_turn


@dataclass(frozen=True, slots=True)
class QueryOrDocument:
    """A `Profile.layout`.

    Attributes:
        roles: by name.
    """

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    roles: Mapping[str, PromptRole]

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """The role's special tokens, then `{prefix}{text}`; only the text is cuttable.

        Args:
            conversation: one user turn, with a role's name for an instruction.

        Raises:
            InputError: `invalid_request` for other instructions or turns, without the field, which the caller adds.

        Source: sentence-transformers 6.2 `MultiVectorEncoder.encode_query` and `encode_document`.
        """
        turn, name = single_turn(conversation), conversation.instruction or DOCUMENT
        if name not in self.roles:
            message = (
                "The conversation has a system message; this model was trained without instructions. `input_type` says "
                "whether a text is a query or a document."
            )
            raise InputError("invalid_request", message)
        role = self.roles[name]
        return [*role.markers, TextPiece(role.prefix + turn.text, user_start=len(role.prefix), cuttable=True)]
