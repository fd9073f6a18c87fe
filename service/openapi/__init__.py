"""The OpenAPI document, built from the wire types and the route table."""

from service.openapi.document import build, render

__all__ = ["build", "render"]
