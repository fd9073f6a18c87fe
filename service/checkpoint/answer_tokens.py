"""The tokens by whose logits a reranker scores (LogitScore's, else `yes` and `no`), and the tensor of their rows.

That is a language model's head, or a classifier's. Reads headers alone.

Source: sentence-transformers 6.2, `LogitScore`; transformers 5.24 `PreTrainedModel.tie_weights`: a head in the file
counts, though the configuration ties it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError, is_inside, read_list, read_object
from service.checkpoint.lora.adapter import joined_adapter
from service.checkpoint.reranker_kind import LOGIT_SCORE, MODULES, reranker_kind
from service.checkpoint.weight_files import check_plain, list_weight_files, read_header

HEAD, EMBEDDINGS, CLASSIFIER = "lm_head.weight", "embed_tokens.weight", "score.weight"
PACKED = "lm_head.qweight"
"""A head of AWQ or GPTQ, which is not read by rows."""
TIED = ("gemma", "gemma2", "gemma3_text")
"""Model types that are tied where config.json does not say."""
BOTH_WAYS = "llama_bidirec"
"""The type of NVIDIA's classifiers, which divide a logit by `temperature`."""
LOGITS = "causal_logits"
IDS = ("true_token_id", "false_token_id")


YES: Mapping[object, tuple[str, ...]] = {"gemma": ("Yes",)}
"""The words by whose logits models of a type score without LogitScore, where these are not `yes` and `no`."""


class AnswerTokens(NamedTuple):
    """Ids of the vocabulary: the logit of `yes` is the score, less that of `no` where there is one."""

    yes: int
    no: int | None


def read_answer_tokens(files: CheckpointFiles) -> AnswerTokens:
    """The ids of LogitScore's config.json, or of the family's words in tokenizer.json where there is no such file."""
    return read_logit_score(files) or _by_words(files)


def read_logit_score(files: CheckpointFiles) -> AnswerTokens | None:
    """The ids that LogitScore's config.json gives; None without the module, or without its file."""
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
    words = YES.get(files.model_type, ("yes", "no"))
    found = [token for word in words if isinstance(vocab, dict) and type(token := vocab.get(word)) is int]
    if len(found) != len(words):
        raise CheckpointError(
            f"{files.folder / 'tokenizer.json'} lacks {' or '.join(f'`{word}`' for word in words)} as a token, of "
            "which a reranker's score is made"
        )
    return AnswerTokens(found[0], found[1] if len(found) > 1 else None)


def read_temperature(files: CheckpointFiles) -> float:
    """What a logit is divided by; 1 of all but NVIDIA's classifiers."""
    said = files.config.get("temperature", 1.0) if files.model_type == BOTH_WAYS else 1.0
    if isinstance(said, bool) or not isinstance(said, int | float) or said <= 0:
        raise CheckpointError(f"{files.folder / 'config.json'} has temperature {said!r}; a positive number is needed")
    return float(said)


def find_answer_head(files: CheckpointFiles) -> tuple[Path, str]:
    """The file of the head, and the tensor's name there.

    It is `lm_head`, or the input embeddings where these are tied to it and no file has it. Of a classifier it is its
    own, of one row.
    """
    places = {
        name: (path, tensor) for path in list_weight_files(files.folder) for name, tensor in read_header(path).items()
    }
    is_classifier = reranker_kind(files) == "classifier"
    end = CLASSIFIER if is_classifier else HEAD
    if not is_classifier and _is_tied(files.config) and not any(name.endswith((HEAD, PACKED)) for name in places):
        end = EMBEDDINGS
    names = [name for name in places if name.endswith(end)]
    if len(names) != 1:
        raise CheckpointError(
            f"{files.folder} has {len(names)} tensors called {end}; a reranker needs one, whose rows make its scores"
        )
    path, tensor = places[names[0]]
    adapter = joined_adapter(files.folder)
    if adapter is not None and (changed := adapter.changes(*(one.rpartition(".")[0] for one in (end, HEAD)))):
        raise CheckpointError(
            f"{files.folder} has an adapter that changes {changed}, by whose rows pairs are scored: merge it with peft"
        )
    check_plain(path, names[0], tensor)
    num_rows = 1 if is_classifier else files.num_embedded
    if tensor["shape"][:1] != [num_rows]:
        raise CheckpointError(
            f"{path} has {names[0]} in the shape {tensor['shape']}; {num_rows} rows are needed, by config.json"
        )
    return path, names[0]


def _is_tied(config: Any) -> bool:
    """As transformers reads it: the whole model's flag, or where that says nothing the decoder's."""
    flag = config.get("tie_word_embeddings")
    flag = config.get("text_config", {}).get("tie_word_embeddings") if flag is None else flag
    return config.get("model_type") in TIED if flag is None else bool(flag)
