"""The tensor whose rows score a judging reranker: a language model's head, or a classifier's. Reads headers alone.

Source: transformers 5.24 `PreTrainedModel.tie_weights`: a head in the file counts, though the configuration ties it.
"""

from pathlib import Path
from typing import Any

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.reranker_kind import reranker_kind
from service.checkpoint.weight_files import list_weight_files, read_header

HEAD, EMBEDDINGS, CLASSIFIER = "lm_head.weight", "embed_tokens.weight", "score.weight"
TIED = ("gemma3_text",)
"""Model types that are tied where config.json does not say."""


def find_answer_head(files: CheckpointFiles) -> tuple[Path, str]:
    """The file of the head, and the tensor's name there.

    It is `lm_head`, or the input embeddings where these are tied to it and no file has it. Of a classifier it is its
    own, of one row.

    Raises:
        CheckpointError: the weights have no head, or several, or not so many rows as config.json says.
    """
    places = {
        name: (path, tensor) for path in list_weight_files(files.folder) for name, tensor in read_header(path).items()
    }
    is_classifier = reranker_kind(files) == "classifier"
    end = CLASSIFIER if is_classifier else HEAD
    if not is_classifier and _is_tied(files.config) and not any(name.endswith(HEAD) for name in places):
        end = EMBEDDINGS
    names = [name for name in places if name.endswith(end)]
    if len(names) != 1:
        raise CheckpointError(
            f"{files.folder} has {len(names)} tensors called {end}; a reranker needs one, whose rows make its scores"
        )
    path, tensor = places[names[0]]
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
