"""The reference for people: read from the OpenAPI document, written as Markdown (`docs/reference.md`) and as a page."""

from service.reference.markdown import render_markdown
from service.reference.page import policy, render_page
from service.reference.snippets import typescript_snippets

__all__ = ["policy", "render_markdown", "render_page", "typescript_snippets"]
