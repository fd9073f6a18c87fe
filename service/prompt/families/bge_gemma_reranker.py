"""bge-reranker-v2-gemma as released: the logit of `Yes` after a question about a query A and a passage B.

Nothing in its files says so, hence `--family bge_gemma_reranker`; with LogitScore and a chat template beside it, it is
`decoder_reranker`'s.

Source: the model card of bge-reranker-v2-gemma, its script for transformers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.checkpoint.answer_tokens import find_answer_head, read_answer_tokens
from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.reranker_files import read_reranker_files
from service.checkpoint.sentence_settings import GENERATION
from service.prompt.conversation import Conversation
from service.prompt.cutting import cut_second
from service.prompt.families.cross_encoder import check_class
from service.prompt.families.decoder_reranker import GENERATORS
from service.prompt.piece import Piece, TextPiece, TokenPiece
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.reranker_profile import make_reranker_profile
from service.prompt.templates.pair import pair_turns

QUESTION = (
    "Given a query A and a passage B, determine whether the passage contains an answer to the query by providing a "
    "prediction of either 'Yes' or 'No'."
)


@dataclass(frozen=True, slots=True)
class QuestionedPair:
    r"""A `Profile.layout`: ``<bos>A: {query}\nB: {document}\n{question}``, each part tokenized by itself."""

    bos: int

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """The pieces in order; an instruction takes the question's place."""
        texts = [
            TextPiece(f"{letter}: {turn.text}", user_start=2, cuttable=True)
            for letter, turn in zip("AB", pair_turns(conversation), strict=True)
        ]
        line, question = TextPiece("\n"), (conversation.instruction or "").strip() or QUESTION
        return [TokenPiece(self.bos), texts[0], line, texts[1], line, TextPiece(question)]


def make_profile(files: CheckpointFiles) -> Profile:
    """Join a checkpoint's numbers with the family's words."""
    check_class(files, GENERATORS)
    read_answer_tokens(files)
    find_answer_head(files)
    found = replace(read_reranker_files(files, GENERATION), messages=None)
    profile = make_reranker_profile(
        files,
        found,
        name="bge-gemma-reranker",
        architecture="text_judge",
        pooling="last_token",
        max_positions=positive(files.config, "max_position_embeddings"),
        layout=QuestionedPair(files.special_tokens({"bos": "<bos>"})["bos"]),
        cutting=cut_second,
    )
    return replace(profile, add_special_tokens=False, default_instruction=QUESTION, takes_instructions=True)


FAMILIES = {
    "bge_gemma_reranker": Family(
        model_types=("gemma",),
        about="bge-reranker-v2-gemma as released, by `--family`",
        make_profile=make_profile,
        is_of=lambda _: False,
        rank=3,
        kind="reranker",
        stock="GemmaForCausalLM",
        pooling="last token; the logit of `Yes`",
        prompt="`A: {query}`, `B: {document}` and the card's question, which an instruction replaces",
        tests=("tests/models/reranker/test_bge_gemma.py",),
        differences=(
            Difference(
                "pairs of bge-reranker-v2-gemma beyond 1,024 tokens",
                "the card's script cuts the document there by default, and a query of more than three quarters of it",
                "as long as the model has positions, or as the tokenizer says; the document alone is cut",
                "its files name no length",
            ),
        ),
    )
}
