"""The reference for people: read from the OpenAPI document, written as Markdown (`docs/reference.md`) and as a page."""

from service.reference.markdown import render_markdown
from service.reference.own_page import base_url, own_page
from service.reference.page import policy, render_page
from service.reference.snippets import typescript_snippets

__all__ = ["base_url", "own_page", "policy", "render_markdown", "render_page", "typescript_snippets"]
