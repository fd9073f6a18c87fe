"""The parts of the page: an operation, a type, a table, a set of snippets, each as HTML.

In: parts of the model. Out: escaped HTML; nothing of the model reaches the page unescaped.
"""

import html
import re
from collections.abc import Iterable, Sequence

from service.reference.highlight import highlight
from service.reference.literal import json_literal
from service.reference.model import Body, Example, Failure, Field, NamedType, Operation, Phrase, TypeLink
from service.reference.snippets import Snippet, examples_of, snippets

_REQUIRED = " <span class=required>required</span>"


def inline(text: str) -> str:
    """A sentence of the document: escaped, with what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def method(operation: Operation) -> str:
    """The method as a badge."""
    return f"<span class='method {operation.method.lower()}'>{operation.method}</span>"


def table(head: tuple[str, ...], kinds: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table whose rows become cards on a narrow screen.

    Args:
        head: title of each column.
        kinds: class of each column; empty for none.
        rows: cells, already HTML.
    """
    titles = "".join(f"<th scope=col>{title}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(_cell(*cell) for cell in zip(head, kinds, row, strict=True)) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _cell(title: str, kind: str, content: str) -> str:
    return f"<td{f' class={kind}' if kind else ''} data-label='{title}'>{content}</td>"


def operation_block(operation: Operation) -> str:
    """All of an operation: what it does, its body, its calls, its answers, its errors."""
    parts = [
        f"<h3><a class=anchor href=#{operation.id}>{html.escape(operation.summary)}</a></h3>",
        f"<div class=call>{method(operation)}<b>{html.escape(operation.path)}</b>",
        f"<span class=soft>{operation.id}</span></div><p>{inline(operation.description)}</p>",
        "".join(_calls(operation, example, i) for i, example in enumerate(examples_of(operation))),
    ]
    if operation.parameters:
        parts.append(f"<h4>Parameters</h4>{_fields(operation.parameters, is_request=True)}")
    if operation.request and operation.request.type:
        parts.append(f"<h4>Body: {operation.request.type.name}</h4>{_type_body(operation.request.type)}")
    parts += [_answer(body) for body in operation.answers]
    headers = [(f"<code>{header.name}</code>", inline(header.description)) for header in operation.headers]
    parts.append(table(("Header", "What it says"), ("name", ""), headers))
    if operation.failures:
        parts.append(f"<h4>Errors</h4>{_failures(operation.failures)}")
    return f"<article id={operation.id}>{''.join(parts)}</article>"


def type_block(named: NamedType) -> str:
    """A named type with its table."""
    title = f"<h3><a class=anchor href=#type-{named.name}>{named.name}</a></h3>"
    return f"<article class=type id=type-{named.name}>{title}{_type_body(named)}</article>"


def _calls(operation: Operation, example: Example | None, place: int) -> str:
    """The calls of one example behind tabs; radio buttons choose, so no script is needed."""
    group = f"{operation.id}-{place}"
    tabs = "".join(_tab(group, i, snippet) for i, snippet in enumerate(snippets(operation, example)))
    title = inline(example.summary) if example else "Call"
    return f"<details{' open' if place == 0 else ''}><summary>{title}</summary><div class=tabs>{tabs}</div></details>"


def _tab(group: str, place: int, snippet: Snippet) -> str:
    name = f"{group}-{place}"
    chosen = " checked" if place == 0 else ""
    return (
        f"<input type=radio name={group} id={name}{chosen}><label for={name}>{snippet.title}</label>"
        f"<pre tabindex=0><code>{highlight(snippet.code, snippet.language)}</code></pre>"
    )


def _answer(body: Body) -> str:
    title = body.type.name if body.type else f"<code>{html.escape(body.media_type)}</code>"
    fields = _type_body(body.type) if body.type else ""
    return f"<h4>Answer: {title}</h4>{fields}{''.join(map(_example, body.examples))}"


def _example(example: Example) -> str:
    code = highlight(json_literal(example.value), "json")
    title = f"<summary>Example: {inline(example.summary)}</summary>"
    return f"<details>{title}<pre tabindex=0><code>{code}</code></pre></details>"


def _type_body(named: NamedType) -> str:
    about = f"<p>{inline(named.description)}</p>"
    if named.fields:
        return about + _fields(named.fields, is_request=named.sent_by_clients)
    if named.values:
        title = "One of" if len(named.values) > 1 else "Always"
        return f"{about}<p>{title} {', '.join(f'<code>{html.escape(value)}</code>' for value in named.values)}.</p>"
    title = "One of: " if len(named.forms) > 1 else "On the wire: "
    bound = f", {named.bounds}" if named.bounds else ""
    return f"{about}<p>{title}{'; '.join(map(_phrase, named.forms))}{bound}.</p>"


def _fields(fields: Iterable[Field], *, is_request: bool) -> str:
    rows = [
        (
            f"<code>{field.name}</code>" + (_REQUIRED if is_request and field.required else ""),
            f"{_phrase(field.type)}{f'<small>{inline(field.bounds)}</small>' if field.bounds else ''}",
            inline(field.absent) if is_request else "always" if field.required else "sometimes",
            inline(field.description),
        )
        for field in fields
    ]
    third = "Absent means" if is_request else "There"
    return table(
        ("Field", "Type", third, "Description"), ("name", "kind", "absent" if is_request else "short", ""), rows
    )


def _failures(failures: Sequence[Failure]) -> str:
    rows = []
    for failure in failures:
        codes = ", ".join(f"<a href=#code-{code}><code>{code}</code></a>" for code in failure.codes)
        named = failure.body.type.name if failure.body.type else ""
        when = f"{inline(failure.reason)} {codes}"
        rows.append((f"<code>{failure.status}</code>", when, f"<a href=#type-{named}>{named}</a>" if named else ""))
    examples = [example for failure in failures for example in failure.body.examples][:1]
    shown = "".join(map(_example, examples))
    return table(("Status", "When, and with which code", "Body"), ("short", "", "kind"), rows) + shown


def _phrase(phrase: Phrase) -> str:
    return "".join(
        f"<a href=#type-{word.name}>{word.name}</a>" if isinstance(word, TypeLink) else inline(word) for word in phrase
    )
