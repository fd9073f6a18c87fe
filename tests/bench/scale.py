"""Sizes of a run, by part."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """One size.

    Attributes:
        num_rounds: of everything that takes a second and more.
        num_tower_rounds: of the vision tower of the 2B shape.
        num_short_rounds: of single short queries.
        num_brief_rounds: of large answers, which take less than a second.
        num_texts: of a batch of mixed lengths.
        num_instructions: under which one image is asked for.
        image_px: side of those images; no multiple of 32, so that they have to be resized.
        tower_px: side of the image that towers are compared on.
        document_tokens: of a long document.
        num_vectors: of a large answer.
        num_cpu_requests: short ones whose CPU is counted together.
        num_per_request: inputs of a large request.
    """

    num_rounds: int = 7
    num_tower_rounds: int = 3
    num_short_rounds: int = 240
    num_brief_rounds: int = 41
    num_texts: int = 24
    num_instructions: int = 16
    image_px: int = 450
    tower_px: int = 1024
    document_tokens: int = 2500
    num_vectors: int = 2048
    num_cpu_requests: int = 2000
    num_per_request: int = 256


FULL = Scale()
QUICK = Scale(
    num_rounds=3, num_tower_rounds=1, num_short_rounds=20, num_brief_rounds=7,
    num_texts=12, image_px=230, tower_px=512, num_vectors=512, num_cpu_requests=800,
)  # fmt: skip
"""A look in about a tenth of the time; its figures say less."""
TINY = Scale(
    num_rounds=2, num_tower_rounds=2, num_short_rounds=3, num_brief_rounds=2,
    num_texts=5, num_instructions=4, image_px=70, tower_px=96,
    document_tokens=300, num_vectors=70, num_cpu_requests=20, num_per_request=8,
)  # fmt: skip
"""For tests: every step of the real path, and no figure that means anything."""
