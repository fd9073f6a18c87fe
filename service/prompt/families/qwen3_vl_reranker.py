"""Qwen3-VL-Reranker, 2B and 8B: the embedder's files and images, a template for pairs, `yes` against `no`."""

from dataclasses import astuple, replace

from service.checkpoint.answer_tokens import find_answer_head, read_answer_tokens
from service.checkpoint.config_files import NAMES, CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.reranker_files import read_activation, read_prompt
from service.checkpoint.reranker_kind import LOGIT_SCORE, MODULES, is_saved, module_kinds
from service.prompt.cutting import CutTail
from service.prompt.families.qwen3_vl import make_profile as make_embedder_profile
from service.prompt.profile.chat_templates import is_judging
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.qwen2_vl_files import special_tokens
from service.prompt.templates.judged_pair import JudgedPair, Marks

INSTRUCTION = "Given a search query, retrieve relevant candidates that answer the query."
MARKS = Marks(query="<Query>:", document="\n<Document>:", nothing="NULL", answer="assistant\n")
NUM_LAST = 5
"""Tokens at the end, from `<|im_end|>` on, that the reference counts apart."""
MAX_TOKENS = 10_240 + NUM_LAST
"""The reranker's `max_length`, and these."""


def make_profile(files: CheckpointFiles) -> Profile:
    """The embedder's profile, but for template, length and output.

    Source: QwenLM/Qwen3-VL-Embedding at 8ce3aab, `src/models/qwen3_vl_reranker.py`.
    """
    read_answer_tokens(files)
    find_answer_head(files)
    if LOGIT_SCORE in module_kinds(files) and not is_judging(files, MARKS, INSTRUCTION):
        raise CheckpointError(
            f"{files.folder / MODULES} has {LOGIT_SCORE}, and no chat template of the folder writes a pair as "
            "Qwen3-VL-Reranker's does; supported of this architecture: its prompt"
        )
    names = files.optional(NAMES) if is_saved(files) else {}
    instruction = read_prompt(files, names) or INSTRUCTION
    tokens = special_tokens(files, {})
    layout = JudgedPair(tokens.im_start, tokens.im_end, instruction, MARKS, (tokens.vision_start, tokens.vision_end))
    return replace(
        make_embedder_profile(files),
        name="qwen3-vl-reranker",
        architecture="qwen3_vl_reranker",
        default_instruction=instruction,
        input_types={},
        normalize=False,
        dimensions=1,
        min_dimensions=1,
        matryoshka=(1,),
        max_tokens=min(MAX_TOKENS, positive(files.section("text_config"), "max_position_embeddings")),
        layout=layout,
        expected_tail=None,
        cutting=CutTail(frozenset(astuple(tokens)), NUM_LAST),
        outputs=("score",),
        activation=read_activation(files, names),
    )


def is_of(files: CheckpointFiles) -> bool:
    """True where modules.json names LogitScore, or a chat template is the family's."""
    return LOGIT_SCORE in module_kinds(files) or is_judging(files, MARKS, INSTRUCTION)


FAMILIES = {
    "qwen3_vl_reranker": Family(
        model_types=("qwen3_vl",),
        about="Qwen3-VL-Reranker 2B and 8B, and fine-tunes of them",
        make_profile=make_profile,
        is_of=is_of,
        rank=1,
        kind="reranker",
        stock="Qwen3VLForConditionalGeneration",
        modalities="text, image, video, on both sides",
        pooling="last token; `yes` against `no`, sigmoid",
        prompt="ChatML that asks for yes or no",
        tests=("tests/models/reranker/test_qwen3_vl_reranker.py",),
        differences=(
            Difference(
                "Qwen3-VL-Reranker, more media than 10,240 tokens",
                "drops all text and scores what is left",
                "refused",
                "a score of a pair without its words means nothing",
            ),
            Difference(
                "Qwen3-VL-Reranker, a query or document with nothing in it",
                "scored, by the word `NULL`",
                "refused, with its place",
                "an item with nothing in it is an error on every route; an empty text is scored as there",
            ),
        ),
    )
}
