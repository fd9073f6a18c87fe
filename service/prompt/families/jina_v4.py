"""jina-embeddings-v4, of which each task is released as a merged Qwen2.5-VL: means over a picture's tokens or a text's.

Source: jinaai/jina-embeddings-v4 and its `-vllm-retrieval`, `-vllm-text-matching`, `-vllm-code` checkpoints;
reference/qwen3-vl-embedding.md section 8.1.
"""

from collections.abc import Mapping
from dataclasses import replace

from service.prompt.checkpoint_files import CheckpointFiles
from service.prompt.family import Family
from service.prompt.profile import Profile
from service.prompt.qwen2_vl_files import Qwen2VLFiles, pixel_rule, processor_pixels
from service.prompt.text_or_picture import TextOrPicture

QUERY, PASSAGE = "Query: ", "Passage: "
PIXEL_RULE = pixel_rule(4, 768)
"""Of the released preprocessor_config.json, should a checkpoint come without."""
MAX_TOKENS = 32_768
"""The embedder's `text_max_length`."""
MATRYOSHKA = (128, 256, 512, 1_024)
"""Lengths of the model card, below the full one."""
INPUT_TYPES: Mapping[str, str] = {
    "search_document": PASSAGE,
    "search_query": QUERY,
    "classification": QUERY,
    "clustering": QUERY,
    "image": "",
}


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    Raises:
        UnsupportedModelError: files are missing, damaged or in disagreement.
    """
    found = Qwen2VLFiles.read(files, processor_pixels(files, PIXEL_RULE))
    full = found.dimensions
    offered = found.matryoshka or tuple(sorted({*(length for length in MATRYOSHKA if length < full), full}))
    profile = found.profile(
        name="jina-embeddings-v4",
        architecture="stock_vlm_mrope_of_picture",
        default_instruction=QUERY,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=TextOrPicture(found.tokens, (QUERY, PASSAGE)),
    )
    return replace(profile, pooling="mean", mixes=False, matryoshka=offered, min_dimensions=offered[0])


def _is_jina(files: CheckpointFiles) -> bool:
    return files.is_called("jina")


FAMILY = Family(("qwen2_5_vl",), "jina-embeddings-v4, a merged task", make_profile, _is_jina)
