"""The templates of models that take one text: a prefix and the text, with the marker of its role where it has one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from service.errors import InputError
from service.prompt.conversation import Conversation
from service.prompt.piece import Piece, TextPiece
from service.prompt.roles import DOCUMENT, PromptRole
from service.prompt.templates.single_item import single_turn

TASK_FORM = re.compile(r"(Instruct: ?)(.*)(\n *Query: ?)", re.DOTALL)
"""Query prompts with a task, as in Qwen3-Embedding and the E5-instruct models."""

PREFIXED = ", and at most a system message, which is put in front of its text: this model reads one plain text"


@dataclass(frozen=True, slots=True)
class PlainText:
    """A `Profile.layout`."""

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prefix: str = ""

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """One piece: `{prefix}{text}`, tokenized together; only the text is cuttable.

        Source: sentence-transformers 6.2, `encode(prompt=...)`.
        """
        turn, prefix = single_turn(conversation, PREFIXED), self.prefix(conversation.instruction)
        return [TextPiece(prefix + turn.text, user_start=len(prefix), cuttable=True)]

    def prefix(self, instruction: str | None) -> str:
        r"""The prefix of the text.

        An instruction is used as given: no punctuation or space is added. Where the checkpoint's query prompt has the
        form `Instruct: {task}\nQuery:`, an instruction is such a task, unless it has that form itself or is one of the
        checkpoint's prompts.

        Args:
            instruction: the request's; None for the default, empty for nothing.
        """
        if instruction is None:
            return self.default_prefix
        form = TASK_FORM.fullmatch(self.prompts.get("query", ""))
        if not instruction or form is None or instruction in self.prompts.values() or instruction.startswith(form[1]):
            return instruction
        return form[1] + instruction.strip() + form[3]


@dataclass(frozen=True, slots=True)
class QueryOrDocument:
    """A `Profile.layout` of ColBERT's text models: one text, a query or a document."""

    is_uniform: ClassVar[bool] = True
    """See `frame_pieces`."""
    roles: Mapping[str, PromptRole]
    """By name."""

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """The role's special tokens, then `{prefix}{text}`; only the text is cuttable.

        Args:
            conversation: one user turn, with a role's name for an instruction.

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
