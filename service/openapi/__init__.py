"""The OpenAPI document, built from the wire types and the route table, and its SDK profile."""

from service.openapi.document import build, render
from service.openapi.sdk_profile import build_sdk, render_sdk

__all__ = ["build", "build_sdk", "render", "render_sdk"]
