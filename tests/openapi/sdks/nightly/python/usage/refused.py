"""Requests that are wrong, and that mypy must refuse."""

from cenote_client import (
    CohereEmbedRequest,
    DetokenizeRequest,
    EmbeddingRequest,
    ImageEmbedsRequest,
    ImageUrlPart,
    InputItem,
    Message,
    TextPart,
    TokenizeRequest,
)


def wrong_requests_do_not_pass_mypy(image: str) -> None:
    """Never run: each line is an error, or the `type: ignore` on it is."""
    InputItem(content=[TextPart(type="text", text="x")])  # type: ignore[list-item]
    ImageUrlPart(type="image_url", image_url=image)  # type: ignore[arg-type]
    Message(role="robot", content=[])  # type: ignore[arg-type]
    EmbeddingRequest(input=[[1, 2]])  # type: ignore[list-item]
    CohereEmbedRequest(embedding_types=["float64"])  # type: ignore[list-item]
    EmbeddingRequest(input=["x"], on_error="per_batch")  # type: ignore[arg-type]
    ImageEmbedsRequest(images=[TextPart(type="text", text="x")])  # type: ignore[list-item]
    TokenizeRequest(input=[[1, 2]])  # type: ignore[list-item]
    DetokenizeRequest(tokens=["a", "b"])  # type: ignore[list-item]
