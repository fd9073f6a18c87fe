"""Translates msgspec's error text into a `RuleError`: a stable code, a path, and a sentence about what is allowed.

The name of an unknown field and the value of an enumeration are the only words of the client's that a sentence repeats,
and only if they are short and plain.
"""

import re

from msgspec import inspect

from schemas.errors import ErrorCode, RuleError
from schemas.parsing.hints import meant_by, meant_value, shown
from schemas.parsing.paths import choices, expectation, field_names, types_at

# A client can write a field name that looks like msgspec's own ending. The narrow pattern keeps such a path harmless.
_AT = r"(?: - at `\$(?P<path>(?:\.[a-z][a-z0-9_]{0,31}|\[\d{1,9}\]){0,16})`)?\Z"
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*?)`" + _AT, re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]*)`" + _AT)
_LENGTH = re.compile(r"Expected `array` of length (?P<op>>=|<=) (?P<bound>\d+)" + _AT)
_BOUND = re.compile(r"Expected `[^`]*` (?P<op>>=|<=) \S+" + _AT)
_WRONG = re.compile(r"Expected `[^`]*`, got `(?P<got>[^`]*)`" + _AT)
_CHOICE = re.compile(r"Invalid (?:enum )?value '(?P<value>[^'`\s]{1,64})'" + _AT)
_ANY = re.compile(r".*?" + _AT, re.DOTALL)

_LONE_TYPE = re.compile(r"\.images\[\d+\]\.type")
"""`type` of a part of `/v1/image_embeds`, which is always an image's."""

_GOT = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_SIDES = ("queries", "documents", "passages", "text_1", "text_2", "data_1", "data_2")
_SOURCES = ("input", "inputs", "messages", "content", "texts", "images", "query", *_SIDES)
_ITEM = re.compile(rf"(?:input|inputs|texts|images|{'|'.join(_SIDES)})\[(\d+)\]|messages\[(\d+)\]\[")
_MAX_NAME_CHARS = 64
_MAX_TEXT_CHARS = 2000


def explain(text: str, type_: object) -> RuleError:
    """The error to answer with, from what msgspec said of a body of `type_`.

    Source: msgspec 0.22's messages; `tests/schemas` pins every form, so that an upgrade which rewords them is noticed.
    """
    if len(text) > _MAX_TEXT_CHARS:  # it may hold a name or a value of the client's as long as the body
        text = text[: _MAX_TEXT_CHARS // 2] + text[-_MAX_TEXT_CHARS // 2 :]
    if found := _UNKNOWN.match(text):
        return _unknown_field(found["name"], found["path"] or "", type_)
    if found := _MISSING.match(text):
        param = f"{found['path'] or ''}.{found['name']}".removeprefix(".")
        return RuleError("invalid_request", f"`{param}`: required, got nothing", param=param, index=item_index(param))
    if found := _LENGTH.match(text):
        return _wrong_length(found["op"], int(found["bound"]), found["path"] or "")
    if found := _BOUND.match(text):
        return _wrong_value(found["path"] or "", type_, "a smaller one" if found["op"] == ">=" else "a larger one")
    if found := _WRONG.match(text):
        parent, _, name = (found["path"] or "").rpartition(".")
        if name and not types_at(type_, found["path"]):  # a field that `lenient` has only in order to refuse it
            return _unknown_field(name, parent, type_)
        return _wrong_value(found["path"] or "", type_, _GOT.get(found["got"], "another type"))
    if found := _CHOICE.match(text):
        return _wrong_choice(found["path"] or "", type_, found["value"])
    found = _ANY.match(text)
    return _wrong_value((found and found["path"]) or "", type_, "another value")


def is_unknown_field(text: str) -> bool:
    """True where msgspec refused a field that its type does not have."""
    return _UNKNOWN.match(text) is not None


def missing_field(text: str) -> str | None:
    """The name of a required field that msgspec missed, or None where it said something else."""
    found = _MISSING.match(text)
    return found["name"] if found else None


def _unknown_field(name: str, path: str, type_: object) -> RuleError:
    known = field_names(types_at(type_, path))
    meant = meant_by(name, known)
    shown = name if len(name) <= _MAX_NAME_CHARS and name.isprintable() and "`" not in name else "…"
    param = f"{path}.{shown}".removeprefix(".")
    hint = f"did you mean `{meant}`?" if meant else f"known here: {', '.join(known)}"
    if name in known:  # several kinds of object may stand there
        hint = "objects of this `type` do not have it"
    return RuleError("unknown_field", f"`{param}`: unknown field; {hint}", param=param, index=item_index(param))


def _wrong_length(op: str, bound: int, path: str) -> RuleError:
    param = path.removeprefix(".")
    least = op == ">="
    code: ErrorCode = "invalid_request"
    if re.split(r"[.\[]", param)[0] in _SOURCES:
        code = "empty_input" if least else "too_many_inputs"
    wanted = f"at least {bound} item, got none" if least else f"at most {bound} items, got more"
    # An empty entry of `messages` is a conversation, so the request is a batch.
    index = item_index(param + "[" if least else param)
    return RuleError(code, f"`{param}`: expected {wanted}", param=param, index=index)


def _wrong_choice(path: str, type_: object, value: str) -> RuleError:
    got = shown(value)
    meant = meant_value(value, choices(types_at(type_, path))) if got else None
    return _wrong_value(path, type_, f"{got or 'another value'}{f'; did you mean `{meant}`?' if meant else ''}")


def _wrong_value(path: str, type_: object, got: str) -> RuleError:
    if re.match(r"\.input\b", path) and _takes_texts(type_):
        return _wrong_text(path, type_, got)
    if _LONE_TYPE.fullmatch(path):
        got += "; features are answered for images, not for videos: send videos in `inputs` to get vectors"
    param = path.removeprefix(".") or None
    subject = f"`{param}`" if param else "the body"
    wanted = expectation(types_at(type_, path))
    return RuleError(
        "invalid_request", f"{subject}: expected {wanted}, got {got}", param=param, index=item_index(param or "")
    )


def _takes_texts(type_: object) -> bool:
    """True where `input` is of texts: the type lets token ids through, too. Other servers' forms have items there."""
    entries = types_at(type_, ".input[0]")
    return not entries or any(isinstance(one, inspect.IntType) for one in entries)


def _wrong_text(path: str, type_: object, got: str) -> RuleError:
    # The type of `input` lets token ids through, only so that they are refused with a better sentence than this.
    steps = re.findall(r"\[\d+\]", path)
    takes_several = bool(types_at(type_, ".input[0]"))
    param = "input" + "".join(steps[:1])
    got = "an array" if len(steps) > 1 else got
    wanted = "a string or an array of strings" if takes_several and not steps else "a string"
    hint = f"; items with images go into `{'inputs' if takes_several else 'content'}`" if got == "an object" else ""
    message = f"`{param}`: expected {wanted}, got {got}{hint}"
    return RuleError("invalid_request", message, param=param, index=item_index(param))


def item_index(param: str) -> int | None:
    """Index of the batch's item that a path lies in; None outside of one. One conversation's messages are no batch."""
    found = _ITEM.match(param)
    return int(found[1] or found[2]) if found else None
