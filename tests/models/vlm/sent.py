"""Cases as requests."""

from typing import Any

import numpy as np
from PIL import Image

from tests.builders import image_bytes
from tests.conftest import LiveServer, data_uri, image_part, text_part
from tests.models.vlm.served import Case


def part(image: Image.Image) -> dict[str, Any]:
    """An image in a request."""
    return image_part(data_uri(image_bytes(image)))


def body(case: Case) -> dict[str, Any]:
    """One input of both routes."""
    text, images, instruction = case
    content = [*map(part, images), *([text_part(text)] if text else [])]
    return {"inputs": [{"content": content}], **({"instruction": instruction} if instruction else {})}


def v2(server: LiveServer, asked: dict[str, Any], input_type: str = "search_document") -> np.ndarray:
    """The first vector of Cohere's route."""
    answer = server.ask("/v2/embed", asked | {"input_type": input_type, "embedding_types": ["float"]})
    return np.array(answer.json()["embeddings"]["float"][0], "<f4")
