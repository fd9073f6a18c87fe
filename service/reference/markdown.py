"""Writes the reference as Markdown: what the pages below `/docs` hold, a file, and the index `/llms.txt`."""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from schemas import limits as protocol
from service.reference.document import (
    Node,
    bounds,
    branches,
    document,
    groups,
    link,
    listed_types,
    request_of,
    schemas,
    type_of,
    words,
)
from service.reference.snippets import BASE_URL, Snippet, json_literal, snippets
from service.statuses import CODES, REASONS

HEAD = (
    "<!-- Generated from the wire types and the route table: `make docs`. Do not edit. -->\n\n"
    "The same as a page: `GET /docs` of a running server. For programs: [openapi.json](../openapi.json), and "
    "[openapi-sdk.json](../openapi-sdk.json) for client generators that do not support unions."
)

_ABSENT = re.compile(r"\s*\bAbsent means (?:that )?(.+?)\.(?=\s|$)")


def render_markdown() -> str:
    """Return the page `docs/reference.md`, ending with a newline."""
    info = document()["info"]
    rows = [
        (f"[`{o['method']} {o['path']}`](#{o['operationId'].lower()})", o["summary"])
        for *_, some in groups()
        for o in some
    ]
    contents = table(("Operation", "What it does"), rows)
    rest = "[Types](#types), [error codes](#error-codes), [limits](#limits)"
    title = f"# {info['title']} {info['version']}: the reference"
    return "\n\n".join([title, HEAD, info["description"], contents, rest, *sections()]) + "\n"


def render_llms_txt() -> str:
    """The text of `/llms.txt`: an index of the API for language models, as llmstxt.org describes it."""
    info = document()["info"]
    links = (
        f"- [Reference]({BASE_URL}/docs): every operation, field, error and limit, with calls to copy\n"
        f"- [OpenAPI document]({BASE_URL}/openapi.json): OpenAPI 3.1, complete\n"
        f"- [OpenAPI document for client generators]({BASE_URL}/openapi-sdk.json): OpenAPI 3.0.3, without unions"
    )
    parts = [f"# {info['title']}", f"> {info['description']}", f"Base URL: {BASE_URL}", f"## Documents\n\n{links}"]
    for name, description, some in groups():
        parts += [f"## {name}", description, "\n".join(f"- `{o['method']} {o['path']}`: {o['summary']}" for o in some)]
    return "\n\n".join(parts) + "\n"


def sections() -> Iterator[str]:
    """The reference without its head, paragraph by paragraph: operations by group, types, error codes, limits."""
    for name, description, some in groups():
        yield f"## {name}"
        yield description
        for operation in some:
            yield from _operation(operation)
    yield "## Types"
    yield from type_sections()
    yield from codes("## ")
    yield from limits("## ")


def type_sections() -> Iterator[str]:
    """Each type that is not the body or the answer of one operation, by name."""
    for name in listed_types():
        yield f"### {name}"
        yield from _type_body(name)


def codes(level: str) -> Iterator[str]:
    """The error codes; `level` begins the heading."""
    yield f"{level}Error codes"
    yield "`code` of an error is one of these. Codes are added, never changed."
    rows = ((f"`{code}`", str(status), text) for status, codes in CODES.items() for code, text in codes.items())
    yield table(("Code", "Status", "Meaning"), rows)


def limits(level: str) -> Iterator[str]:
    """The limits of the protocol."""
    yield f"{level}Limits"
    yield "What depends on the model is in `GET /v1/models`; what depends on the server is in `cenote serve --help`."
    yield table(("Limit", "Value", "Meaning"), _limits())


def _limits() -> Iterator[tuple[str, str, str]]:
    """The numbers of `schemas.limits` with the docstring under each, which exists in the source alone."""
    for statement, about in pairwise(ast.parse(inspect.getsource(protocol)).body):
        if isinstance(statement, ast.Assign) and isinstance(about, ast.Expr):
            name = ast.unparse(statement.targets[0])
            yield f"`{name}`", f"{getattr(protocol, name):,}", inspect.cleandoc(ast.literal_eval(about.value))


def _operation(operation: Node) -> Iterator[str]:
    yield f"### {operation['operationId']}"
    yield f"`{operation['method']} {operation['path']}`"
    yield f"{operation['summary']}. {operation['description']}".replace("?.", "?")
    yield from operation_body(operation, _written_calls(operation))


def _written_calls(operation: Node) -> Iterator[str]:
    for _, title, code in calls(operation):
        if title:
            yield f"**{title}**"
        yield from (folded(one.title, one.language, one.code, is_open=i == 0) for i, one in enumerate(code))


def calls(operation: Node) -> Iterator[tuple[str, str, list[Snippet]]]:
    """Each example of the request by name, with its title and its code; one without either where there is no body."""
    for key, example in (request_of(operation).get("examples") or {"": {}}).items():
        yield key, example.get("summary", ""), snippets(operation, example)


def operation_body(operation: Node, written: Iterable[str]) -> Iterator[str]:
    """What there is to say of an operation below its head; `written` are its calls."""
    answer = operation["responses"]["200"]
    if parameters := operation.get("parameters"):
        yield "#### Parameters"
        rows = (_field(p["name"], {**p["schema"], **p}, is_required=p["required"]) for p in parameters)
        yield table(("Field", "Type", "Absent means", "Description"), rows)
    if request := request_of(operation):
        yield f"#### Body: {type_of(request)}"
        yield from _type_body(type_of(request))
    yield "#### Calls"
    yield from written
    for media_type, content in answer["content"].items():
        name = type_of(content)
        yield f"#### Answer: {name or f'`{media_type}`'}"
        if name:
            yield from _type_body(name)
        yield from map(_example, content.get("examples", {}).values())
    headers = document()["components"]["headers"]
    yield table(("Header", "What it says"), [(f"`{name}`", headers[name]["description"]) for name in answer["headers"]])
    failures = {int(status): one for status, one in operation["responses"].items() if status != "200"}
    if failures:
        yield "#### Errors"
        contents = {status: next(iter(one["content"].values())) for status, one in failures.items()}
        rows = (failure_row(status, type_of(content)) for status, content in contents.items())
        yield table(("Status", "When", "Codes", "Body"), rows)
        examples = [example for one in contents.values() for example in one.get("examples", {}).values()]
        yield from map(_example, examples[:1])


def failure_row(status: int, name: str) -> tuple[str, str, str, str]:
    """Status, reason, codes and body of a failure; probes fail without a code."""
    codes = CODES[status] if name and "error" in schemas()[name].get("properties", ()) else ()
    shown = ", ".join(f"[`{code}`](#error-codes)" for code in codes)
    return str(status), REASONS[status], shown or "—", link(name) if name else "—"


def _example(example: Node) -> str:
    return folded(f"Example: {example['summary']}", "json", json_literal(example["value"]))


def folded(title: str, language: str, code: str, *, is_open: bool = False) -> str:
    """A block of code below its title, which opens and closes it."""
    return (
        f"<details{' open' if is_open else ''}><summary>{title}</summary>\n\n```{language}\n{code}\n```\n\n</details>"
    )


def _type_body(name: str) -> Iterator[str]:
    schema = schemas()[name]
    yield schema["description"]
    if fields := schema.get("properties"):
        yield _fields(fields, schema)
    elif "enum" in schema:
        title = "One of " if len(schema["enum"]) > 1 else "Always "
        yield title + ", ".join(f"`{value}`" for value in schema["enum"]) + "."
    elif "properties" not in schema:
        forms = branches(schema) or [schema]
        title = "One of: " if len(forms) > 1 else "On the wire: "
        yield title + "; ".join(words(form) for form in forms) + _bound(schema) + "."


def _fields(fields: dict[str, Node], schema: Node) -> str:
    required = schema.get("required", ())
    if schema.get("additionalProperties") is False:  # sent by clients
        rows = [_field(name, node, is_required=name in required) for name, node in fields.items()]
        return table(("Field", "Type", "Absent means", "Description"), rows)
    always = {name: "yes" if name in required else "no" for name in fields}
    rows = [(*_field(name, node)[:2], always[name], _field(name, node)[3]) for name, node in fields.items()]
    return table(("Field", "Type", "Always there", "Description"), rows)


def _field(name: str, schema: Node, *, is_required: bool = False) -> tuple[str, str, str, str]:
    """Name, type, what its absence means, and the description without that."""
    description = schema["description"]
    absent = "required" if is_required else "".join(_ABSENT.findall(description)[:1])
    return f"`{name}`", words(schema) + _bound(schema), absent, _ABSENT.sub("", description).strip()


def _bound(schema: Node) -> str:
    return f", {found}" if (found := bounds(schema)) else ""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown, without a line feed at its end."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
