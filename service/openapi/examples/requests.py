"""Request bodies for the examples of the document."""

from typing import Any

from schemas.content.examples import EXAMPLE_FEATURES, EXAMPLE_IMAGE, EXAMPLE_UUID
from schemas.endpoints.stream import EXAMPLE_ID

Examples = dict[str, dict[str, Any]]

QUERY = "Retrieve images or text relevant to the user's query."
COLORS = "Represent the colors of the image."

IMAGE_PART = {"type": "image_url", "image_url": {"url": EXAMPLE_IMAGE}}
TEXT_PART = {"type": "text", "text": "a red bicycle"}
FEATURES_PART = {
    "type": "image_embeds",
    "image_embeds": {"image_embeds": EXAMPLE_FEATURES, "image_grid_thw": [1, 2, 2]},
}


def body(summary: str, **fields: Any) -> dict[str, Any]:
    """A request to the built-in model."""
    return {"summary": summary, "value": {"model": "builtin", **fields}}


def _user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


EMBEDDINGS: Examples = {
    "text": body("One text", input="a red bicycle against a wall"),
    "texts": body("Many texts, short vectors", input=["a red bicycle", "a green door", ""], dimensions=64),
    "base64": body("A vector as base64", input=["a red bicycle"], encoding_format="base64"),
    "half": body(
        "Many texts, in half the bytes",
        input=["a red bicycle", "a green door"],
        encoding_format="base64",
        embed_dtype="float16",
        endianness="little",
        normalize=True,
    ),
    "query": body("A search query, by its instruction", input="something to ride", instruction=QUERY),
    "passages": body(
        "Passages for a search index, as Voyage's and NVIDIA's clients name them",
        input=["a red bicycle"],
        input_type="passage",
        truncate="END",
    ),
    "fused": body(
        "An image and a text in one vector, and the image alone",
        instruction=COLORS,
        inputs=[{"content": [IMAGE_PART, TEXT_PART]}, {"content": [IMAGE_PART]}],
    ),
    "precomputed": body("An image sent as features, and a text", inputs=[{"content": [FEATURES_PART, TEXT_PART]}]),
    "conversation": body(
        "One conversation, one vector",
        messages=[
            {"role": "system", "content": [{"type": "text", "text": QUERY}]},
            _user(IMAGE_PART, TEXT_PART),
        ],
    ),
    "conversations": body("Two conversations, two vectors", messages=[[_user(TEXT_PART)], [_user(IMAGE_PART)]]),
}

STREAM_LINES: Examples = {
    "text": {"summary": "A text", "value": {"id": EXAMPLE_ID, "input": "a red bicycle against a wall"}},
    "fused": {
        "summary": "An image and a text in one vector, under an instruction of its own",
        "value": {"id": EXAMPLE_ID, "content": [IMAGE_PART, TEXT_PART], "instruction": COLORS},
    },
    "conversation": {"summary": "A conversation", "value": {"messages": [_user(TEXT_PART)]}},
}

EMBED: Examples = {
    "texts": body(
        "Documents for a search index",
        input_type="search_document",
        texts=["a red bicycle", "a green door"],
        embedding_types=["float", "ubinary"],
        output_dimension=64,
        truncate="END",
    ),
    "images": body("Images", input_type="image", images=[EXAMPLE_IMAGE]),
    "fused": body(
        "An image and a text in one vector",
        input_type="search_document",
        inputs=[{"content": [IMAGE_PART, TEXT_PART]}],
    ),
}

EMBED_V1: Examples = {
    "texts": body("Queries", input_type="search_query", texts=["something to ride", "a way in"]),
    "types": body(
        "Documents, in two number formats",
        input_type="search_document",
        texts=["a red bicycle"],
        embedding_types=["float", "ubinary"],
        truncate="END",
    ),
    "images": body("An image", input_type="image", images=[EXAMPLE_IMAGE]),
}

IMAGE_EMBEDS: Examples = {
    "image": body("One image", images=[IMAGE_PART]),
    "named": body(
        "An image with a name, as npy",
        images=[IMAGE_PART | {"uuid": EXAMPLE_UUID}],
        features_format="npy",
        embed_dtype="float16",
        on_error="per_item",
    ),
}

TOKENIZE: Examples = {
    "prompt": body("One text, with the text of each token", prompt="a red bicycle", return_token_strs=True),
    "texts": body("Two texts", input=["a red bicycle", "a green door"]),
    "fused": body("How many tokens is this image?", inputs=[{"content": [IMAGE_PART, TEXT_PART]}]),
    "conversation": body("A conversation, cut to 24 tokens", messages=[_user(TEXT_PART)], truncate_prompt_tokens=24),
}

DETOKENIZE: Examples = {"tokens": body("Six tokens", tokens=[64, 392, 268, 582, 88, 415])}

COHERE_TOKENIZE: Examples = {"text": body("A text", text="a red bicycle")}
