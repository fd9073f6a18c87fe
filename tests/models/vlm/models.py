"""Every family of vision-language embedders, each with its own script: a row is its test."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from tests.models.vlm.checkpoints import qwen2_5_vl, qwen2_vl, wemm
from tests.models.vlm.images import CLEAR, EXACT, LARGE, SLIVER, SMALL, TALL, WIDE
from tests.models.vlm.references import BiQwenScript, GmeScript, JinaScript, OpsScript, Vlm2VecScript, WemmScript

Case = tuple[str, list[Image.Image], str | None]
"""A text, images and an instruction."""
LIGHTHOUSE: Case = ("A lighthouse on a cliff above the sea.", [], None)
SEARCH = "Find an image that matches the given text."


@dataclass(frozen=True)
class Model:
    """One of them.

    Attributes:
        make: writes its checkpoint.
        script: its own code.
        folder: the name by which a folder is known as one of them.
        profile: the family's name.
        cases: what is asked of both.
        refused: what has no vector, with the code.
    """

    make: Callable[..., Path]
    script: Callable[[Path], Any]
    folder: str
    profile: str
    cases: dict[str, Case]
    refused: tuple[tuple[Case, str], ...] = ()


MODELS = {
    "gme": Model(qwen2_vl, GmeScript, "gme-Qwen2-VL-small", "gme-qwen2-vl", {
        "text": LIGHTHOUSE,
        "empty text": ("", [], None),
        "text of a newline": ("\nfirst line\n\n second", [], None),
        "text that other scripts have": ("Ein Leuchtturm über dem Meer, 灯台 и маяк.", [], None),
        "text under an instruction": ("a red circle", [], SEARCH),
        "image": ("", [SMALL], None),
        "wide image": ("", [WIDE], None),
        "image of a whole size": ("", [EXACT], None),
        "image over the limit": ("", [LARGE], None),
        "image and text": ("What is above the square?", [TALL], None),
        "image and text under an instruction": ("the colors", [SMALL], "Represent the image."),
        "transparent image": ("", [CLEAR], None),
        "two images": ("", [SMALL, WIDE], None),
        "two images and text": ("Which is wider?", [WIDE, TALL], None),
    }),
    "ops-mm": Model(qwen2_vl, OpsScript, "Ops-MM-embedding-v1-small", "ops-mm-embedding", {
        "text": LIGHTHOUSE,
        "text under an instruction": ("a red circle", [], SEARCH),
        "image": ("", [SMALL], None),
        "image over the limit": ("", [LARGE], None),
        "image and text under an instruction": ("the colors", [TALL], "Represent the image."),
        "two images": ("Which is wider?", [SMALL, WIDE], None),
    }),
    "vlm2vec": Model(qwen2_vl, Vlm2VecScript, "VLM2Vec-V2.0", "vlm2vec", {
        "text": ("A cat and a dog", [], None),
        "text of blanks at its ends": ("  two  ", [], None),
        "text under an instruction": ("a red circle", [], "Find me an image that matches the given caption:"),
        "image": ("", [SMALL], "Represent the given image."),
        "image and text under an instruction": ("What is in the image", [WIDE], "Represent the image for this:"),
        "image and text": ("What is in the image", [EXACT], None),
        "image over the limit": ("", [LARGE], "Represent the given image."),
        "transparent image": ("", [CLEAR], "Represent the given image."),
        "two images": ("Which is taller?", [SMALL, TALL], "Represent both:"),
    }, ((("", [], None), "empty_input"),)),
    "nomic": Model(qwen2_5_vl, BiQwenScript, "nomic-embed-multimodal-small", "nomic-embed-multimodal", {
        "text": ("What is the organizational structure of the department?", [], None),
        "empty query": ("", [], None),
        "query that begins with a newline": ("\nwhat", [], None),
        "query under an instruction": ("a red circle", [], "Question: "),
        "image": ("", [SMALL], None),
        "wide page, whose windows are cut": ("", [WIDE], None),
        "page of a whole size": ("", [EXACT], None),
        "page over the limit": ("", [LARGE], None),
        "page and text": ("The second page of a report.", [TALL], None),
        "page under an instruction": ("", [SMALL], "Describe the colors."),
        "page and text under an instruction": ("of a report", [TALL], "Describe the page "),
        "sliver of a page": ("", [SLIVER], None),
        "transparent page": ("", [CLEAR], None),
        "two pages": ("", [SMALL, WIDE], None),
    }),
    "jina-v4": Model(qwen2_5_vl, JinaScript, "jina-embeddings-v4-vllm-retrieval", "jina-embeddings-v4", {
        "text": LIGHTHOUSE,
        "empty text": ("", [], None),
        "passage": ("It was built in 1822.", [], "Passage: "),
        "image": ("", [SMALL], None),
        "wide image, whose windows are cut": ("", [WIDE], None),
        "image of a whole size": ("", [EXACT], None),
        "image over the limit": ("", [LARGE], None),
        "sliver": ("", [SLIVER], None),
        "transparent image": ("", [CLEAR], None),
        "image as a document": ("", [TALL], "Passage: "),
    }, (
        (("a text", [SMALL], None), "unsupported_modality"),
        (("", [SMALL, WIDE], None), "conflicting_input"),
        (("", [SMALL], "Find the same."), "invalid_request"),
    )),
    "wemm": Model(wemm, WemmScript, "WeMM-Embedding-small", "wemm-embedding", {
        "text": LIGHTHOUSE,
        "empty text": ("", [], None),
        "text of a newline": ("\nfirst line\n\n second\n", [], None),
        "text that other scripts have": ("Ein Leuchtturm über dem Meer, 灯台 и маяк.", [], None),
        "image": ("", [SMALL], None),
        "wide image": ("", [WIDE], None),
        "image of a whole size": ("", [EXACT], None),
        "image over the limit": ("", [LARGE], None),
        "image and text": ("Represent this image.", [TALL], None),
        "transparent image": ("", [CLEAR], None),
        "two images and text": ("Which is wider?", [WIDE, TALL], None),
    }, ((("a text", [], "Find the same."), "invalid_request"),)),
}  # fmt: skip
