"""The query of `POST /openai/deployments/{deployment}/embeddings`; its body is that of `/v1/embeddings`.

Source: Azure OpenAI's reference; openai 3.54's `AzureOpenAI`.
"""

from typing import Annotated

from msgspec import Meta, field

from schemas.base import Wire


class AzureQuery(Wire, frozen=True, kw_only=True):
    """The query parameters of the route."""

    api_version: Annotated[
        str | None, Meta(description="Accepted and ignored: there is one version.", examples=["2024-10-21"])
    ] = field(default=None, name="api-version")
