"""jina-embeddings-v4, of which each task is released as a merged Qwen2.5-VL: means over an image's tokens or a text's.

Source: jinaai/jina-embeddings-v4 and its `-vllm-retrieval`, `-vllm-text-matching`, `-vllm-code` checkpoints;
docs/notes/qwen3-vl-embedding.md.
"""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile, input_types
from service.prompt.profile.qwen2_vl_files import Qwen2VLFiles, pixel_rule, processor_pixels
from service.prompt.templates.text_or_image import TextOrImage

QUERY, PASSAGE = "Query: ", "Passage: "
PIXEL_RULE = pixel_rule(4, 768)
"""Of the released preprocessor_config.json, should a checkpoint come without."""
MAX_TOKENS = 32_768
"""The embedder's `text_max_length`."""
MATRYOSHKA = (128, 256, 512, 1_024)
"""Lengths of the model card, below the full one."""
INPUT_TYPES = input_types(QUERY, document=PASSAGE, image="")


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    Raises:
        CheckpointError: files are missing, damaged or in disagreement.
    """
    found = Qwen2VLFiles.read(files, processor_pixels(files, PIXEL_RULE))
    full = found.dimensions
    offered = found.matryoshka or tuple(sorted({*(length for length in MATRYOSHKA if length < full), full}))
    profile = found.profile(
        name="jina-embeddings-v4",
        architecture="stock_vlm_mrope_of_image",
        default_instruction=QUERY,
        input_types=INPUT_TYPES,
        max_tokens=MAX_TOKENS,
        layout=TextOrImage(found.tokens, (QUERY, PASSAGE)),
    )
    return replace(profile, pooling="mean", mixes=False, matryoshka=offered, min_dimensions=offered[0])


FAMILIES = {
    "jina_v4": Family(
        model_types=("qwen2_5_vl",),
        about="jina-embeddings-v4, a merged task",
        make_profile=make_profile,
        named=("jina",),
        kind="vision-language",
        stock="Qwen2_5_VLModel",
        modalities="text; image, never together",
        pooling="mean of the image's tokens, or the text's",
        prompt="`Query: `, `Passage: `; a turn for an image",
        tests=("tests/models/vlm/",),
    )
}
