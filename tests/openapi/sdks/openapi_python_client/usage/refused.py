"""Requests that are wrong, and that mypy must refuse."""

from cenote_client.models import (
    CohereEmbedRequest,
    DetokenizeRequest,
    EmbeddingRequest,
    ImageEmbedsRequest,
    ImageUrl,
    ImageUrlPart,
    InputItem,
    Message,
    RerankRequest,
    ScoreRequest,
    TextPart,
    TextPartType,
    TokenizeRequest,
)


def wrong_requests_do_not_pass_mypy(image: str) -> None:
    """Never run: each line is an error, or the `type: ignore` on it is."""
    InputItem(content=["a bare text"])  # type: ignore[list-item]
    InputItem(content=[ImageUrl(url=image)])  # type: ignore[list-item]
    ImageUrlPart(type_="audio", image_url=image)  # type: ignore[arg-type]
    Message(role="robot", content=[])  # type: ignore[arg-type]
    EmbeddingRequest(encoding_format="float16")  # type: ignore[arg-type]
    EmbeddingRequest(dimension=64)  # type: ignore[call-arg]
    EmbeddingRequest(input_=[[1, 2]])  # type: ignore[list-item]
    CohereEmbedRequest(embedding_types=["float64"])  # type: ignore[list-item]
    EmbeddingRequest(on_error="per_batch")  # type: ignore[arg-type]
    ImageEmbedsRequest(images=[TextPart(type_=TextPartType.TEXT, text="x")])  # type: ignore[list-item]
    ImageEmbedsRequest(images=[], features_format="pt")  # type: ignore[arg-type]
    TokenizeRequest(input_=[[1, 2]])  # type: ignore[list-item]
    DetokenizeRequest(tokens=["a", "b"])  # type: ignore[list-item]
    RerankRequest(documents=["x"])  # type: ignore[call-arg]
    ScoreRequest(queries=["x"], documents=[["x"]])  # type: ignore[list-item]
