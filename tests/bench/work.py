"""The work that is measured: request bodies as clients send them. Every side makes of them what it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["embed", "tower"]
"""For sides without HTTP: vectors, of images too; or images' features and no vectors."""


@dataclass(frozen=True, slots=True)
class Work:
    """One thing to time.

    Attributes:
        bodies: of requests.
        concurrency: requests under way at once; a side without HTTP packs so many together.
        kind: what a side without HTTP does in its time; the service does whatever it does.
        path: of the route; sides without HTTP know `/v1/embeddings` alone.
    """

    bodies: Sequence[dict[str, Any]]
    concurrency: int = 1
    kind: Kind = "embed"
    path: str = "/v1/embeddings"


def text_body(texts: Sequence[str], encoding_format: str = "base64") -> dict[str, Any]:
    """A request for the vectors of texts."""
    return {"input": list(texts), "encoding_format": encoding_format}


def image_body(images: Sequence[str]) -> dict[str, Any]:
    """A request for the vectors of images, given as data URIs."""
    inputs = [{"content": [_image_part(url)]} for url in images]
    return {"inputs": inputs, "encoding_format": "base64"}


def instructed_body(images: Sequence[str], instructions: Sequence[str]) -> dict[str, Any]:
    """A request for a vector of each image, every one under its own instruction."""
    conversations = [
        [{"role": "system", "content": instruction}, {"role": "user", "content": [_image_part(url)]}]
        for url, instruction in zip(images, instructions, strict=True)
    ]
    return {"messages": conversations, "encoding_format": "base64"}


def ids_body(prompts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """A request for the vectors of whole prompts, given as token ids."""
    return {"input": [list(ids) for ids in prompts], "encoding_format": "base64"}


def chat_body(url: str, instruction: str) -> dict[str, Any]:
    """A request for the vector of an image under an instruction, with what vLLM has to be told to add."""
    turns = [
        {"role": "system", "content": [{"type": "text", "text": instruction}]},
        {"role": "user", "content": [_image_part(url)]},
    ]
    added = {"add_generation_prompt": True, "add_special_tokens": True}
    return {"messages": turns, "encoding_format": "base64"} | added


def _image_part(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}
