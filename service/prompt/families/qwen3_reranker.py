"""Qwen3-Reranker 0.6B, 4B and 8B: `yes` against `no` behind an empty thought.

Source: Qwen3-Reranker's model card, the script for transformers.
"""

from service.checkpoint.answer_tokens import read_answer_tokens
from service.checkpoint.config_files import CheckpointFiles, positive
from service.prompt.cutting import cut_pair
from service.prompt.profile.family import Family
from service.prompt.profile.judging_files import is_judging
from service.prompt.profile.profile import Profile, Scoring
from service.prompt.profile.text_profile import protected_tokens
from service.prompt.templates.judged_pair import JudgedPair, Marks

INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
MARKS = Marks(query="\n<Query>: ", document="\n<Document>: ", nothing="", answer="assistant\n<think>\n\n</think>\n\n")
MAX_TOKENS = 8_192
"""The script's `max_length`."""
TURN_TOKENS = {"im_start": "<|im_start|>", "im_end": "<|im_end|>"}


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's constants.

    Raises:
        UnsupportedModelError: files are missing or damaged, or no token is `yes` or `no`.
    """
    read_answer_tokens(files)
    return Profile(
        name="qwen3-reranker",
        architecture="text_judge",
        default_instruction=INSTRUCTION,
        input_types={},
        pooling="last_token",
        normalize=False,
        dimensions=1,
        min_dimensions=1,
        matryoshka=(1,),
        max_tokens=min(MAX_TOKENS, positive(files.config, "max_position_embeddings")),
        modalities=("text",),
        images=None,
        protected=protected_tokens(files.read_object("tokenizer.json")),
        layout=JudgedPair(**files.special_tokens(TURN_TOKENS), default_instruction=INSTRUCTION, marks=MARKS),
        cutting=cut_pair,
        scoring=Scoring("sigmoid"),
    )


FAMILY = Family(
    model_types=("qwen3",),
    about="Qwen3-Reranker 0.6B, 4B and 8B, and fine-tunes of them",
    make_profile=make_profile,
    is_of=is_judging,
    rank=1,
    kind="reranker",
    stock="Qwen3ForCausalLM",
    modalities="text",
    pooling="last token; `yes` against `no`, sigmoid",
    prompt="ChatML that asks for yes or no, an empty thought",
    tests=("tests/models/reranker/test_qwen3_reranker.py",),
)
