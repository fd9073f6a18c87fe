"""The service: HTTP in front, one engine process behind."""

VERSION = "0.1.0"
"""Of the package and of the OpenAPI document."""
