"""Writes the reference as Markdown: the body of the page `/docs`, a file, and the index `/llms.txt`."""

from collections.abc import Iterable, Iterator

from service.reference.literal import json_literal
from service.reference.model import Body, Example, Field, NamedType, Operation, Phrase, ReferenceDocument, TypeLink
from service.reference.read import read
from service.reference.snippets import BASE_URL, examples_of, snippets

HEAD = (
    "<!-- Generated from the wire types and the route table: `make docs`. Do not edit. -->\n\n"
    "The same as a page: `GET /docs` of a running server. For programs: [openapi.json](../openapi.json), and "
    "[openapi-sdk.json](../openapi-sdk.json) for client generators that do not support unions."
)


def render_markdown() -> str:
    """Return the page `docs/reference.md`, ending with a newline."""
    reference = read()
    title = f"# {reference.title} {reference.version}: the reference"
    return "\n\n".join([title, HEAD, reference.description, _contents(reference), *sections(reference)]) + "\n"


def render_llms_txt() -> str:
    """The text of `/llms.txt`: an index of the API for language models, as llmstxt.org describes it."""
    reference = read()
    links = (
        f"- [Reference]({BASE_URL}/docs): every operation, field, error and limit, with calls to copy\n"
        f"- [OpenAPI document]({BASE_URL}/openapi.json): OpenAPI 3.1, complete\n"
        f"- [OpenAPI document for client generators]({BASE_URL}/openapi-sdk.json): OpenAPI 3.0.3, without unions"
    )
    parts = [f"# {reference.title}", f"> {reference.description}", f"Base URL: {BASE_URL}", f"## Documents\n\n{links}"]
    for group in reference.groups:
        lines = [f"- `{o.method} {o.path}`: {o.summary}" for o in group.operations]
        parts += [f"## {group.name}", group.description, "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def sections(reference: ReferenceDocument) -> Iterator[str]:
    """The reference without its head, paragraph by paragraph: operations by group, types, error codes, limits."""
    for group in reference.groups:
        yield f"## {group.name}"
        yield group.description
        for operation in group.operations:
            yield from _operation(operation)
    yield "## Types"
    for named in reference.types:
        yield f"### {named.name}"
        yield from _type_body(named)
    yield "## Error codes"
    yield "`code` of an error is one of these. Codes are added, never changed."
    yield _table(("Code", "Status", "Meaning"), [(f"`{c.name}`", str(c.status), c.meaning) for c in reference.codes])
    yield "## Limits"
    yield "What depends on the model is in `GET /v1/models`; what depends on the server is in `cenote serve --help`."
    yield _table(("Limit", "Value", "Meaning"), [(f"`{x.name}`", f"{x.value:,}", x.meaning) for x in reference.limits])


def _contents(reference: ReferenceDocument) -> str:
    rows = [(f"[`{o.method} {o.path}`](#{o.id.lower()})", o.summary) for o in reference.operations]
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
    yield _table(("Header", "What it says"), [(f"`{name}`", about) for name, about in operation.headers.items()])
    if operation.failures:
        yield "#### Errors"
        yield _failures(operation)
        yield from [_example(example) for f in operation.failures for example in f.body.examples][:1]


def _calls(operation: Operation, example: Example | None) -> Iterator[str]:
    if example:
        yield f"**{example.summary}**"
    for i, snippet in enumerate(snippets(operation, example)):
        yield _folded(snippet.title, snippet.language, snippet.code, is_open=i == 0)


def _answer(body: Body) -> Iterator[str]:
    yield f"#### Answer: {body.type.name if body.type else f'`{body.media_type}`'}"
    if body.type:
        yield from _type_body(body.type)
    yield from map(_example, body.examples)


def _example(example: Example) -> str:
    return _folded(f"Example: {example.summary}", "json", json_literal(example.value))


def _folded(title: str, language: str, code: str, *, is_open: bool = False) -> str:
    return (
        f"<details{' open' if is_open else ''}><summary>{title}</summary>\n\n```{language}\n{code}\n```\n\n</details>"
    )


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
    third = "Absent means" if is_request else "Always there"
    rows = [
        (f"`{f.name}`", _phrase((*f.type, f", {f.bounds}" if f.bounds else "")), _absence(f, is_request), f.description)
        for f in fields
    ]
    return _table(("Field", "Type", third, "Description"), rows)


def _absence(field: Field, is_request: bool) -> str:
    if is_request:
        return "required" if field.required else field.absent
    return "yes" if field.required else "no"


def _phrase(phrase: Phrase) -> str:
    return "".join(_link(word.name) if isinstance(word, TypeLink) else word for word in phrase)


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
