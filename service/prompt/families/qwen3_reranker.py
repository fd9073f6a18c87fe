"""Qwen3-Reranker 0.6B, 4B and 8B: `yes` against `no` after an empty thought.

Source: Qwen3-Reranker's model card, the script for transformers.
"""

from dataclasses import replace

from service.checkpoint.answer_tokens import find_answer_head, read_answer_tokens, read_logit_score
from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.reranker_files import read_reranker_files
from service.checkpoint.reranker_kind import MODULES, architecture
from service.checkpoint.sentence_settings import GENERATION
from service.prompt.cutting import cut_end, cut_pair
from service.prompt.families.cross_encoder import check_class
from service.prompt.families.decoder_reranker import GENERATORS
from service.prompt.profile.chat_templates import is_judging, writes_as
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.reranker_profile import framed_pair, make_reranker_profile
from service.prompt.templates.judged_pair import JudgedPair, Marks

INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
MARKS = Marks(query="\n<Query>: ", document="\n<Document>: ", nothing="", answer="assistant\n<think>\n\n</think>\n\n")
MAX_TOKENS = 8_192
"""The script's `max_length`."""
TURN_TOKENS = {"im_start": "<|im_start|>", "im_end": "<|im_end|>"}


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with its own template, or with the family's constants where it has none."""
    check_class(files, GENERATORS)
    read_answer_tokens(files)
    find_answer_head(files)
    found = read_reranker_files(files, GENERATION)
    own = found.messages
    if own is None or not writes_as(own.template, own.form, own.variables, MARKS, INSTRUCTION):
        if read_logit_score(files) is not None:
            raise CheckpointError(
                f"{files.folder / MODULES} has LogitScore, with a chat template that is not Qwen3-Reranker's: "
                "the family decoder_reranker has both"
            )
        own, found = None, replace(found, messages=None)
    turn = files.special_tokens(TURN_TOKENS)
    family = JudgedPair(turn["im_start"], turn["im_end"], INSTRUCTION, MARKS)
    profile = make_reranker_profile(
        files,
        found,
        name="qwen3-reranker",
        architecture="text_judge",
        pooling="last_token",
        max_positions=min(MAX_TOKENS, positive(files.config, "max_position_embeddings")),
        layout=family if own is None else framed_pair(files, own, found.prompt),
        cutting=cut_pair if own is None else cut_end,
    )
    return replace(profile, default_instruction=found.prompt or INSTRUCTION, takes_instructions=True)


def is_of(files: CheckpointFiles) -> bool:
    """True of a language model whose template says so; LogitScore's ids are another family's."""
    is_generator = architecture(files) in GENERATORS.values() and read_logit_score(files) is None
    return is_generator and is_judging(files, MARKS, INSTRUCTION)


FAMILIES = {
    "qwen3_reranker": Family(
        model_types=("qwen3",),
        about="Qwen3-Reranker 0.6B, 4B and 8B, and fine-tunes with its template",
        make_profile=make_profile,
        is_of=is_of,
        rank=3,
        kind="reranker",
        stock="Qwen3ForCausalLM",
        pooling="last token; `yes` against `no`, sigmoid",
        prompt="ChatML that asks for yes or no, an empty thought",
        tests=("tests/models/reranker/test_qwen3_reranker.py",),
    )
}
