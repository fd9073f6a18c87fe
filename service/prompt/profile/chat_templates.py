"""Compares a folder's own chat template with the prompt of its family: one that writes another is of another model.

Embedders, rerankers that judge by `yes` and `no`, and language models of an architecture have the same files, but for
this text: names and cards do not count.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from service.checkpoint.chat_template import DEFAULT, FILE, ChatTemplate, read_chat_templates
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.pair_frame import MARKS, Format, fill, read_pair_frame
from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.templates.chatml import TOKEN_NAMES, ChatML
from service.prompt.templates.judged_pair import JudgedPair, Marks
from service.prompt.templates.media_text import TurnFrame

LEGACY = "chat_template.json"
"""Where older processors have their template."""
INSTRUCTION = "Say what it is."
IMAGE: Any = object()
PARTS = ("a\n", IMAGE, " b ", "c", IMAGE, IMAGE, "\nd")
FORMS: tuple[Format, ...] = ("flat", "structured")
WITH_ANSWER: Mapping[str, bool] = {"add_generation_prompt": True}
TURNS = ("<|im_start|>", "<|im_end|>")


def check_chat_template(files: CheckpointFiles, layout: ChatML, last: str = "") -> None:
    """Refuse a folder none of whose templates joins instruction, texts and images as its family; it may have none.

    Args:
        last: text of the layout's closing; a line end before it is passed over.
    """
    templates = [*read_chat_templates(files).values()] or _legacy(files)
    user = [_part("text", one) if isinstance(one, str) else {"type": "image"} for one in PARTS]
    system = {"role": "system", "content": [_part("text", INSTRUCTION)]}
    instruction = INSTRUCTION if layout.default_instruction else None
    messages = [*([system] if instruction else []), {"role": "user", "content": user}]
    written = [template.render(messages, {"add_generation_prompt": layout.answers}) for template in templates]
    names = {token_id: TOKEN_NAMES[field] for field, token_id in asdict(layout.tokens).items()}
    names |= dict.fromkeys(layout.closing, last)
    wanted = "".join(_render(piece, names) for piece in layout(Conversation(instruction, (Turn("user", PARTS),))))
    if written and wanted not in [text.replace(f">{last}", f">\n{last}") if last else text for text in written]:
        raise CheckpointError(f"{templates[0].path} writes {written[0]!r}; supported of this architecture: {wanted!r}")


def is_judging(files: CheckpointFiles, marks: Marks, instruction: str) -> bool:
    """True where a template of the folder writes what the family does, white space left out of account.

    Args:
        instruction: the family's, of a pair without any.
    """
    return any(
        writes_as(template, form, variables, marks, instruction)
        for template in (*read_chat_templates(files).values(), *_legacy(files))
        for form in FORMS
        for variables in ({}, WITH_ANSWER)
    )


def writes_as(
    template: ChatTemplate, form: Format, variables: Mapping[str, object], marks: Marks, instruction: str
) -> bool:
    """True where one template does, with messages of this form."""
    try:
        frame = read_pair_frame(template, form, variables)
    except CheckpointError:
        return False
    sides = Turn("query", (MARKS["query"],)), Turn("document", (MARKS["document"],))
    pieces = JudgedPair(0, 1, instruction, marks)(Conversation(None, sides))
    expected = "".join(
        TURNS[piece.token_id] if isinstance(piece, TokenPiece) else piece.text
        for piece in pieces
        if isinstance(piece, TextPiece | TokenPiece)
    )
    return "".join(fill(frame, MARKS).split()) == "".join(expected.split())


def read_turn_frame(
    files: CheckpointFiles,
    variables: Mapping[str, Any],
    marks: Mapping[str, str],
    closing: Callable[[Sequence[str]], str] = lambda _: "",
) -> TurnFrame:
    """What the folder's template writes around a user's parts, which it has to write as they are, in one frame.

    Args:
        variables: of the template; `chat_template` among them names it.
        marks: what it writes for a medium of each kind.
        closing: the text that the model's script puts after the parts, by their kinds.

    Source: transformers 5.24 `ProcessorMixin.get_processor_dict` and `apply_chat_template`.
    """
    given, templates = dict(variables), read_chat_templates(files)
    if not (files.folder / FILE).is_file():
        templates.update((DEFAULT, one) for one in _legacy(files))
    if (template := templates.get(name := given.pop("chat_template", DEFAULT))) is None:
        raise CheckpointError(f"{files.folder} has no chat template {name!r}; it has {', '.join(templates) or 'none'}")
    words, found = {"text": PARTS[0] + PARTS[2], **marks}, dict[object, str]()
    for kinds in (some for size in range(1, len(words) + 1) for some in combinations(words, size)):
        order, last = (*kinds, *reversed(kinds)), closing(kinds)
        user = [_part(kind, words[kind]) for kind in order] + ([_part("text", last)] if last else [])
        for system in ((), ({"role": "system", "content": [_part("text", INSTRUCTION)]},)):
            written = template.render([*system, {"role": "user", "content": user}], given)
            head, body, tail = written.partition("".join(words[kind] for kind in order))
            is_same = found.setdefault(bool(system), head) == head and found.setdefault(kinds, tail) == tail
            if not (body and is_same and tail.startswith(last)):
                raise CheckpointError(
                    f"{template.path} writes {written!r}; supported: {', '.join(kinds)} as they are and one after the "
                    "other, and the same before them whatever they are"
                )
    added = files.read_object("tokenizer.json").get("added_tokens", [])
    ids = {token["content"]: token["id"] for token in added if token.get("special")}
    before, told, after = found.pop(True).partition(INSTRUCTION)
    plain = _elements(found.pop(False), ids)
    return TurnFrame(
        plain=plain,
        told=(*_elements(before, ids), None, *_elements(after, ids)) if told else plain,
        tails={frozenset(kinds): _elements(tail, ids) for kinds, tail in found.items() if isinstance(kinds, tuple)},
    )


def _part(kind: str, text: str) -> Mapping[str, str]:
    return {"type": kind, kind: text if kind == "text" else kind}


def _elements(text: str, ids: Mapping[str, int]) -> tuple[str | int, ...]:
    """A text as what is between its special tokens, and their ids."""
    parts = re.split(f"({'|'.join(map(re.escape, sorted(ids, key=len, reverse=True)))})", text)
    return tuple(ids.get(part, part) for part in parts if part)


def _legacy(files: CheckpointFiles) -> list[ChatTemplate]:
    text = files.optional(LEGACY).get("chat_template")
    return [ChatTemplate(files.folder / LEGACY, text, {})] if isinstance(text, str) else []


def _render(piece: Piece, names: dict[int, str]) -> str:
    if isinstance(piece, TextPiece):
        return piece.text
    return TOKEN_NAMES["image_pad"] if isinstance(piece, ImagePiece) else names[piece.token_id]
