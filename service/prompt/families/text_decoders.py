"""Decoders as embedders: causal or made bidirectional by their files, which say pooling, prefixes and lengths."""

from dataclasses import replace
from functools import partial

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.reranker_kind import architecture, module_kinds
from service.prompt.profile.text_profile import make_text_profile, text_family

QWEN3_MIN_DIMENSIONS = 32
"""Shortest matryoshka prefix of Qwen3-Embedding's model card."""
QWEN3_GENERATOR = "Qwen3ForCausalLM"
GEMMA_DIMENSIONS = (128, 256, 512)
"""Lengths of the model card of EmbeddingGemma below the full 768."""


def is_qwen3_embedder(files: CheckpointFiles) -> bool:
    """True if modules say what makes its vectors: a language model alone may as well be a reranker, or neither."""
    return bool(module_kinds(files)) or architecture(files) != QWEN3_GENERATOR


FAMILIES = {
    "gemma3_text": text_family(  # made bidirectional
        ("gemma3_text",),
        "EmbeddingGemma 300M",
        stock="Gemma3TextModel",
        make_profile=partial(make_text_profile, name="embeddinggemma", matryoshka=GEMMA_DIMENSIONS),
        pooling="mean, two Dense",
    ),
    "llama": text_family(  # `is_causal` is false in config.json of Llama-Nemotron-Embed
        ("llama",),
        "Llama-type embedders, bidirectional (is_causal false) or causal",
        stock="LlamaModel",
        make_profile=partial(make_text_profile, name="llama"),
        pooling="mean or last token, by its files",
    ),
    "mistral": text_family(  # E5-Mistral, SFR-Embedding, Linq-Embed
        ("mistral",),
        "Mistral-type embedders: E5-Mistral",
        stock="MistralModel",
        make_profile=partial(make_text_profile, name="mistral"),
        pooling="last token",
        prompt="`Instruct: {instruction}\\nQuery: `; documents bare",
    ),
    "qwen3": replace(  # causal, the last token is pooled, documents stand bare, queries name a task
        text_family(
            ("qwen3",),
            "Qwen3-Embedding 0.6B, 4B and 8B, and fine-tunes of them",
            stock="Qwen3Model",
            make_profile=partial(make_text_profile, name="qwen3-embedding", min_dimensions=QWEN3_MIN_DIMENSIONS),
            pooling="last token",
            prompt="`Instruct: {instruction}\\nQuery:`; documents bare",
        ),
        is_of=is_qwen3_embedder,
    ),
}
