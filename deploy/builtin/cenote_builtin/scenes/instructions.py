"""The instructions of the built-in model: one canonical string per aspect, and other wordings of it.

An instruction is the system turn of the prompt and says what an image's vector is about.
"""

from typing import Final

from cenote_builtin.scenes.scenes import Aspect

DEFAULT: Final = "Represent the user's input."
"""Instruction of documents and captions. Source: Qwen3-VL-Embedding's default instruction."""
QUERY: Final = "Retrieve images or text relevant to the user's query."
"""Instruction of search queries."""

CANONICAL: Final[dict[Aspect, str]] = {
    "whole": DEFAULT,
    "colors": "Represent the colors of the image.",
    "shapes": "Represent the shapes of the image.",
    "count": "Represent the number of objects in the image.",
    "positions": "Represent the positions of the objects in the image.",
}

PARAPHRASES: Final[dict[Aspect, tuple[str, ...]]] = {
    "whole": (
        "Represent the image.",
        "Represent the scene.",
        "Describe the whole picture.",
        "Represent everything in the image.",
        "Describe the image.",
        "Represent the image in full detail.",
        "Embed this picture.",
        "Find images matching this description.",
    ),
    "colors": (
        "Describe the colors of the picture.",
        "Represent the colors in the image.",
        "Represent the color of the objects.",
        "Which colors are in the image?",
        "What colors does the picture show?",
        "Represent only the colors.",
        "Embed the colors of this image.",
        "the colors of the image",
    ),
    "shapes": (
        "Describe the shapes of the picture.",
        "Represent the shapes in the image.",
        "Represent the shape of the objects.",
        "Which shapes are in the image?",
        "What shapes does the picture show?",
        "Represent only the shapes.",
        "Embed the shapes of this image.",
        "the shapes of the image",
    ),
    "count": (
        "Represent the count of objects.",
        "How many objects are in the image?",
        "Count the objects in the picture.",
        "Represent how many things there are.",
        "Represent the number of things in the image.",
        "Describe the number of objects.",
        "Represent only the number of objects.",
        "the number of objects in the image",
    ),
    "positions": (
        "Represent where things are in the image.",
        "Where are the objects in the picture?",
        "Describe the positions of the objects.",
        "Represent the layout of the image.",
        "Represent the places of the objects.",
        "Represent the location of the things in the image.",
        "Represent only the positions.",
        "the positions of the objects in the image",
    ),
}
"""Wordings used in training beside the canonical one."""

UNSEEN: Final[dict[Aspect, tuple[str, ...]]] = {
    "whole": ("Represent the whole scene.", "Describe everything in the picture."),
    "colors": ("Describe which colors the objects have.", "Represent the colors of this picture."),
    "shapes": ("Describe which shapes the objects have.", "Represent the shapes of this picture."),
    "count": ("Describe how many objects there are.", "Represent the count of things in the picture."),
    "positions": ("Describe where the objects are.", "Represent the locations of things in the picture."),
}
"""Wordings never used in training; the score card measures free wording with them."""


def render(instruction: str, text: str = "", num_image_tokens: int = 0) -> str:
    """The rendered prompt of one item: an image of `num_image_tokens` visual tokens, or none, and then the text.

    Source: QwenLM/Qwen3-VL-Embedding, `src/models/qwen3_vl_embedding.py`.
    """
    media = f"<|vision_start|>{'<|image_pad|>' * num_image_tokens}<|vision_end|>" if num_image_tokens else ""
    return (
        f"<|im_start|>system\n{instruction}<|im_end|>\n<|im_start|>user\n{media}{text}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
