"""The tokens of a checkpoint by whose logits a reranker scores: those of LogitScore, else `yes` and `no`.

Source: sentence-transformers 6.2, `LogitScore`.
"""

from pathlib import Path
from typing import NamedTuple

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError, is_inside, read_list, read_object
from service.checkpoint.reranker_kind import LOGIT_SCORE, MODULES

LOGITS = "causal_logits"
IDS = ("true_token_id", "false_token_id")


class AnswerTokens(NamedTuple):
    """Ids of the vocabulary.

    Attributes:
        yes: its logit is the score.
        no: its logit is taken from that; None where it is not.
    """

    yes: int
    no: int | None


def read_answer_tokens(files: CheckpointFiles) -> AnswerTokens:
    """Read the ids of LogitScore's config.json, or of `yes` and `no` of tokenizer.json where there is no such file.

    Raises:
        CheckpointError: an id has no logit, the vocabulary lacks a token, or a file is missing or damaged.
    """
    return read_logit_score(files) or _by_words(files)


def read_logit_score(files: CheckpointFiles) -> AnswerTokens | None:
    """The ids that LogitScore's config.json gives; None without the module, or without its file.

    Raises:
        CheckpointError: an id has no logit, it reads something else than logits, or the file is damaged.
    """
    listed = read_list(files.folder / MODULES) if (files.folder / MODULES).exists() else []
    places = [str(one.get("path")) for one in listed if str(one.get("type")).rpartition(".")[2] == LOGIT_SCORE]
    if not places or not is_inside(places[0]):
        return None
    path = files.folder / places[0] / "config.json"
    if not places[0] or not path.is_file():
        return None
    content = read_object(path)
    if (name := content.get("module_input_name", LOGITS)) != LOGITS:
        raise CheckpointError(f"{path} has module_input_name {name!r}; supported: {LOGITS!r}")
    if further := [key for key in content if key not in (*IDS, "module_input_name")]:
        raise CheckpointError(f"{path} has {further[0]} {content[further[0]]!r}; supported: {', '.join(IDS)}")
    yes, no = (content.get(key) for key in IDS)
    return AnswerTokens(_id(files, path, IDS[0], yes), None if no is None else _id(files, path, IDS[1], no))


def _id(files: CheckpointFiles, path: Path, key: str, value: object) -> int:
    if type(value) is not int or not 0 <= value < (files.num_embedded or 0):
        raise CheckpointError(
            f"{path} has {key} {value!r}; the id of one of the vocabulary's {files.num_embedded} tokens is needed"
        )
    return value


def _by_words(files: CheckpointFiles) -> AnswerTokens:
    model = files.read_object("tokenizer.json").get("model")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    yes, no = (vocab.get(word) if isinstance(vocab, dict) else None for word in AnswerTokens._fields)
    if type(yes) is not int or type(no) is not int:
        raise CheckpointError(
            f"{files.folder / 'tokenizer.json'} lacks `yes` or `no` as a token; a reranker's score is made of both"
        )
    return AnswerTokens(yes, no)


def require_logit_score(files: CheckpointFiles) -> AnswerTokens:
    """LogitScore's ids.

    Raises:
        CheckpointError: its file is missing, or see `read_logit_score`.
    """
    if (found := read_logit_score(files)) is None:
        raise CheckpointError(
            f"{files.folder / MODULES} names {LOGIT_SCORE}, whose config.json is not at its path: the ids of the "
            "tokens that a score is made of are needed"
        )
    return found
