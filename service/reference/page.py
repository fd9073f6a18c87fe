"""The reference as one page, `GET /docs`: HTML that needs no script, no other file and no other host.

In: the model. Out: the page, and the Content-Security-Policy under which it is complete: nothing may be loaded, and the
one style sheet is allowed by its hash. How a type or an operation looks is in `blocks`.
"""

import base64
import hashlib
import html
from functools import cache
from importlib import resources

from service.reference.blocks import inline, method, operation_block, table, type_block
from service.reference.model import Group, Operation, Reference
from service.reference.read import read


@cache
def _style() -> str:
    return (resources.files("service.reference") / "page.css").read_text("utf-8")


def policy() -> str:
    """The Content-Security-Policy of the page."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@cache
def render_page() -> str:
    """The page of the reference."""
    reference = read()
    sections = "".join(_group(group) for group in reference.groups)
    types = "".join(type_block(named) for named in reference.types)
    main = (
        f"<h1>{html.escape(reference.title)} API reference</h1>{_lead(reference)}{sections}"
        f"<section id=types><h2>Types</h2><p class=soft>Objects, lists and names that the tables link to.</p>{types}"
        f"</section>{_tables(reference)}"
    )
    return _frame(f"{reference.title} API reference", f"{_navigation(reference)}<main id=content>{main}</main>")


def _frame(title: str, body: str) -> str:
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{_style()}</style></head>"
        f"<body><a class=skip href=#content>Skip to the content</a><div class=frame>{body}</div></body></html>"
    )


def _lead(reference: Reference) -> str:
    files = "<a href=/openapi.json>openapi.json</a><a href=/openapi-sdk.json>openapi-sdk.json</a>"
    return f"<p class=lead>{inline(reference.description)}</p><p class=files>{files}</p>"


def _navigation(reference: Reference) -> str:
    groups = "".join(
        f"<h2>{html.escape(group.name)}</h2><ul>{''.join(map(_entry, group.operations))}</ul>"
        for group in reference.groups
    )
    types = "".join(f"<li><a href=#type-{t.name}>{t.name}</a></li>" for t in reference.types)
    tables = "<li><a href=#codes>Error codes</a></li><li><a href=#limits>Limits</a></li>"
    return (
        f"<nav aria-label=Contents><a class=brand href=/docs>{reference.title}<small>{reference.version}</small></a>"
        "<input type=checkbox id=menu aria-label='Show the contents'><label class=menu for=menu>Contents</label>"
        f"<div class=pages>{groups}<h2>Tables</h2><ul>{tables}</ul><h2>Types</h2><ul>{types}</ul></div></nav>"
    )


def _entry(operation: Operation) -> str:
    return f"<li><a href=#{operation.id}>{method(operation)}<span>{html.escape(operation.path)}</span></a></li>"


def _group(group: Group) -> str:
    operations = "".join(operation_block(operation) for operation in group.operations)
    name = html.escape(group.name)
    return (
        f"<section id={name.lower()}><h2>{name}</h2><p class=soft>{inline(group.description)}</p>{operations}</section>"
    )


def _tables(reference: Reference) -> str:
    codes = [
        (f"<code id=code-{code.name}>{code.name}</code>", str(code.status), inline(code.meaning))
        for code in reference.codes
    ]
    limits = [(f"<code>{x.name}</code>", f"{x.value:,}", inline(x.meaning)) for x in reference.limits]
    return (
        "<section id=codes><h2>Error codes</h2><p>The <code>code</code> of an error is one of these. Codes are added, "
        f"never changed.</p>{table(('Code', 'Status', 'Meaning'), ('name', 'short', ''), codes)}</section>"
        "<section id=limits><h2>Limits</h2><p>What depends on the model is in <a href=#listModels>"
        "<code>GET /v1/models</code></a>; what depends on the server is in <code>cenote serve --help</code>.</p>"
        f"{table(('Limit', 'Value', 'Meaning'), ('name', 'short', ''), limits)}</section>"
    )
