"""The reference for people: from the OpenAPI document to Markdown (`make docs`) and the page `/docs`."""

from service.reference.markdown import render_markdown
from service.reference.page import base_url, own_llms_txt, own_page, policy, render_page
from service.reference.snippets import typescript_snippets

__all__ = [
    "base_url",
    "own_llms_txt",
    "own_page",
    "policy",
    "render_markdown",
    "render_page",
    "typescript_snippets",
]
