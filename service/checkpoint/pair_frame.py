"""The text that a chat template puts around the query and the document of a pair.

In: a template. Out: its words, with places for the texts. A template that does more with a text than to write it, or to
strip it of white space, is refused: its prompts would not follow from these places.

Source: sentence-transformers 6.2, `InputFormatter.pair_to_messages` and `prepend_prompt_to_messages`.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

from service.checkpoint.chat_template import ChatTemplate
from service.checkpoint.json_files import CheckpointError

Role = Literal["system", "query", "document"]
Format = Literal["flat", "structured"]
"""Content of a message: a text, or a list of parts."""

PAIR: tuple[Role, ...] = ("query", "document")
INSTRUCTED: tuple[Role, ...] = ("system", *PAIR)
"""With an instruction, which is a system turn."""
OF_PARTS = ("content[0]", ".type", "'type'", '"type"', "item.type", "message.content[")
"""In a template that wants parts."""
MARKS: Mapping[Role, str] = {"system": "K7instruction2Q", "query": "K7query2Q", "document": "K7document2Q"}
FIND = re.compile("|".join(map(re.escape, MARKS.values())))
PROBES = (
    ("Is it?", "Yes.", "No."),
    (" \n a  B\t", "\r\n c <b> & {{ d }}\u00a0", "\n\n'e' \"F\" \u1e9e {% if g %} \n"),
    ("h" * 3000, "i j\n" * 3000, "k, l. " * 3000),
    ("m", "", ""),
)
"""Texts of each role with which a template is tried."""


class Slot(NamedTuple):
    """The place of a text; where it `strips`, white space at both ends is left out."""

    role: Role
    strips: bool = False

    def fill(self, text: str) -> str:
        """Return the text of this place."""
        return text.strip() if self.strips else text


PairFrame = tuple[str | Slot, ...]
"""Words of the template and places, in order."""


def infer_format(template: ChatTemplate) -> Format:
    """Infer the format that a template expects, where the files do not state it.

    Source: sentence-transformers 6.2, `InputFormatter._infer_format`.
    """
    is_structured = not template.is_only or any(part in template.text for part in OF_PARTS)
    return "structured" if is_structured else "flat"


def read_pair_frame(
    template: ChatTemplate, form: Format, variables: Mapping[str, Any], roles: Sequence[Role] = PAIR
) -> PairFrame:
    """The frame of one message for each role, in their order."""

    def render(texts: Mapping[Role, str]) -> str:
        return template.render([_message(role, texts[role], form) for role in roles], variables)

    rendered = render(MARKS)
    named = {mark: role for role, mark in MARKS.items()}
    words, found = FIND.split(rendered), [named[mark] for mark in FIND.findall(rendered)]
    if missing := [role for role in PAIR if role not in found]:
        raise CheckpointError(
            f"{template.path} leaves out the {missing[0]} of a pair (a message with that role): a reranker's template "
            "writes both"
        )
    probes = [dict(zip(INSTRUCTED, texts, strict=True)) for texts in PROBES]
    expected = [render(texts) for texts in probes]
    for strips in product((False, True), repeat=len(roles)):
        slots = {role: Slot(role, does) for role, does in zip(roles, strips, strict=True)}
        frame = _frame(words, [slots[role] for role in found])
        if [fill(frame, texts) for texts in probes] == expected:
            return frame
    raise CheckpointError(
        f"{template.path} changes the texts of a pair otherwise than by stripping white space, or writes other words "
        "beside other texts; supported: templates that write query and document as they are"
    )


def fill(frame: PairFrame, texts: Mapping[Role, str]) -> str:
    """The prompt of these texts."""
    return "".join(part if isinstance(part, str) else part.fill(texts[part.role]) for part in frame)


def _message(role: Role, text: str, form: Format) -> dict[str, Any]:
    return {"role": role, "content": text if form == "flat" else [{"type": "text", "text": text}]}


def _frame(words: Sequence[str], slots: Sequence[Slot]) -> PairFrame:
    parts: list[str | Slot] = [words[0]]
    for slot, word in zip(slots, words[1:], strict=True):
        parts += [slot, word]
    return tuple(part for part in parts if part != "")
