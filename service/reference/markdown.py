"""The reference as Markdown, for readers of the repository: `docs/reference.md`.

In: the model. Out: one text with a heading for each operation and each type, and links between them.
"""

from collections.abc import Iterable, Iterator

from service.reference.literal import json_literal
from service.reference.model import Body, Example, Field, NamedType, Operation, Phrase, Reference, TypeLink
from service.reference.read import read
from service.reference.snippets import examples_of, snippets

HEAD = (
    "<!-- Generated from the wire types and the route table: `make reference`. Do not edit. -->\n\n"
    "The same as a page: `GET /docs` of a running server. For programs: [openapi.json](../openapi.json), and "
    "[openapi-sdk.json](../openapi-sdk.json) for client generators that cannot do unions."
)


def render_markdown() -> str:
    """The reference of this release, ending with a newline."""
    reference = read()
    parts = [
        f"# {reference.title} {reference.version}: the reference",
        HEAD,
        reference.description,
        _contents(reference),
    ]
    for group in reference.groups:
        parts += [f"## {group.name}", group.description]
        parts += [text for operation in group.operations for text in _operation(operation)]
    parts += ["## Types", *(text for named in reference.types for text in _type(named))]
    parts += _tables(reference)
    return "\n\n".join(parts) + "\n"


def _contents(reference: Reference) -> str:
    rows = [
        (f"[`{o.method} {o.path}`](#{o.id.lower()})", o.summary) for group in reference.groups for o in group.operations
    ]
    rest = "[Types](#types), [error codes](#error-codes), [limits](#limits)"
    return _table(("Operation", "What it does"), rows) + "\n\n" + rest


def _operation(operation: Operation) -> Iterator[str]:
    yield f"### {operation.id}"
    yield f"`{operation.method} {operation.path}`"
    yield f"{operation.summary}. {operation.description}".replace("?.", "?")
    if operation.parameters:
        yield "#### Parameters"
        yield _fields(operation.parameters, is_request=True)
    if operation.request and operation.request.type:
        yield f"#### Body: {operation.request.type.name}"
        yield from _type_body(operation.request.type)
    yield "#### Calls"
    for example in examples_of(operation):
        yield from _calls(operation, example)
    for body in operation.answers:
        yield from _answer(body)
    yield _table(("Header", "What it says"), [(f"`{header.name}`", header.description) for header in operation.headers])
    if operation.failures:
        yield "#### Errors"
        yield _failures(operation)
        yield from [_example(example) for f in operation.failures for example in f.body.examples][:1]


def _calls(operation: Operation, example: Example | None) -> Iterator[str]:
    if example:
        yield f"**{example.summary}**"
    for snippet in snippets(operation, example):
        yield f"{snippet.title}:\n\n```{snippet.language}\n{snippet.code}\n```"


def _answer(body: Body) -> Iterator[str]:
    yield f"#### Answer: {body.type.name if body.type else f'`{body.media_type}`'}"
    if body.type:
        yield from _type_body(body.type)
    yield from map(_example, body.examples)


def _example(example: Example) -> str:
    return f"Example: {example.summary}\n\n```json\n{json_literal(example.value)}\n```"


def _failures(operation: Operation) -> str:
    rows = [
        (
            str(failure.status),
            failure.reason,
            ", ".join(f"[`{code}`](#error-codes)" for code in failure.codes) or "—",
            _link(failure.body.type.name) if failure.body.type else "—",
        )
        for failure in operation.failures
    ]
    return _table(("Status", "When", "Codes", "Body"), rows)


def _type(named: NamedType) -> Iterator[str]:
    yield f"### {named.name}"
    yield from _type_body(named)


def _type_body(named: NamedType) -> Iterator[str]:
    yield named.description
    if named.fields:
        yield _fields(named.fields, is_request=named.sent_by_clients)
    if named.values:
        title = "One of " if len(named.values) > 1 else "Always "
        yield title + ", ".join(f"`{value}`" for value in named.values) + "."
    if named.forms:
        title = "One of: " if len(named.forms) > 1 else "On the wire: "
        bound = f", {named.bounds}" if named.bounds else ""
        yield title + "; ".join(_phrase(form) for form in named.forms) + f"{bound}."


def _fields(fields: Iterable[Field], *, is_request: bool) -> str:
    rows = [
        (f"`{f.name}`", _phrase(f.type), f.bounds, "required" if f.required else f.absent, f.description)
        for f in fields
    ]
    if is_request:
        return _table(("Field", "Type", "Bounds", "Absent means", "Description"), rows)
    sent = [
        (name, type_, bounds, "yes" if rule == "required" else "no", about) for name, type_, bounds, rule, about in rows
    ]
    return _table(("Field", "Type", "Bounds", "Always there", "Description"), sent)


def _tables(reference: Reference) -> Iterator[str]:
    yield "## Error codes"
    yield "`code` of an error is one of these. Codes are added, never changed."
    yield _table(("Code", "Status", "Meaning"), [(f"`{c.name}`", str(c.status), c.meaning) for c in reference.codes])
    yield "## Limits"
    yield "What depends on the model is in `GET /v1/models`; what depends on the server is in `cenote serve --help`."
    yield _table(("Limit", "Value", "Meaning"), [(f"`{x.name}`", f"{x.value:,}", x.meaning) for x in reference.limits])


def _phrase(phrase: Phrase) -> str:
    return "".join(_link(word.name) if isinstance(word, TypeLink) else word for word in phrase)


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
