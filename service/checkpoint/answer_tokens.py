"""The tokens `yes` and `no` of a checkpoint, whose logits a judging reranker compares."""

from typing import NamedTuple

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.errors import UnsupportedModelError


class AnswerTokens(NamedTuple):
    """Ids of the vocabulary."""

    yes: int
    no: int


def read_answer_tokens(files: CheckpointFiles) -> AnswerTokens:
    """Look both up in tokenizer.json.

    Raises:
        UnsupportedModelError: the vocabulary lacks one, or the file is missing or damaged.
    """
    model = files.read_object("tokenizer.json").get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    found = [vocab.get(word) if isinstance(vocab, dict) else None for word in AnswerTokens._fields]
    yes, no = found
    if type(yes) is not int or type(no) is not int:
        raise UnsupportedModelError(
            f"{files.folder / 'tokenizer.json'} lacks `yes` or `no` as a token; a reranker's score is made of both"
        )
    return AnswerTokens(yes, no)
