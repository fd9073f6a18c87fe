"""Qwen3-Embedding 0.6B, 4B and 8B: causal, the last token is pooled, documents stand bare, queries name a task."""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.reranker_kind import architecture, module_kinds
from service.prompt.profile.text_profile import make_text_profile, text_family

MIN_DIMENSIONS = 32
"""Shortest matryoshka prefix of the model card."""
GENERATOR = "Qwen3ForCausalLM"


def is_embedder(files: CheckpointFiles) -> bool:
    """True if modules say what makes its vectors: a language model alone may as well be a reranker, or neither."""
    return bool(module_kinds(files)) or architecture(files) != GENERATOR


FAMILIES = {
    "qwen3": replace(
        text_family(
            ("qwen3",),
            "Qwen3-Embedding 0.6B, 4B and 8B, and fine-tunes of them",
            stock="Qwen3Model",
            make_profile=lambda files: make_text_profile(files, name="qwen3-embedding", min_dimensions=MIN_DIMENSIONS),
            pooling="last token",
            prompt="`Instruct: {instruction}\\nQuery:`; documents bare",
        ),
        is_of=is_embedder,
    )
}
