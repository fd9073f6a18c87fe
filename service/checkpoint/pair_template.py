"""The tokens that a tokenizer puts between two texts that it joins, and the numbers that it gives them.

In: a checkpoint's files. Out: ids. Both processes read it; it imports neither torch nor tokenizers.

Source: tokenizers 0.22, `TemplateProcessing`, `RobertaProcessing`, `BertProcessing`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError

TYPES = "token_type_ids"
"""Name of the numbers of texts among a model's inputs."""
NUM_TYPES = {
    **dict.fromkeys(("bert", "camembert", "electra", "nomic_bert", "roberta", "xlm-roberta"), 2),
    "gte": 1,
    "deberta-v2": 0,
}
"""`type_vocab_size` by default, of the model types whose embeddings read the numbers."""


@dataclass(frozen=True, slots=True)
class PairTemplate:
    """Layout of a pair between the tokenizer's head and tail.

    Attributes:
        between: ids between both texts, at least one.
        has_types: whether tokens after the first of them are of type 1, the second text's; else all are of type 0.
        after: ids after the second text.
        second_type: the type that the tokenizer gives the second text.
    """

    between: tuple[int, ...]
    has_types: bool
    after: tuple[int, ...] = ()
    second_type: int = 0


def read_pair_template(files: CheckpointFiles) -> PairTemplate:
    """Read the post-processor of tokenizer.json."""
    found = files.read_object("tokenizer.json").get("post_processor") or {}
    steps = found.get("processors", [found])
    for step in steps:
        match step.get("type"):
            case "TemplateProcessing":
                between, second_type, after = _of_template(files, step)
                break
            case "BertProcessing":
                after = (int(step["sep"][1]),)
                between, second_type = after, 1
                break
            case "RobertaProcessing":
                after = (int(step["sep"][1]),)
                between, second_type = after * 2, 0
                break
    else:
        between, second_type, after = (), 0, ()
    if not between:
        raise CheckpointError(
            f"{files.folder / 'tokenizer.json'} puts no token between two texts; a model that scores pairs needs one"
        )
    inputs = files.optional("tokenizer_config.json").get("model_input_names", [TYPES])
    num_types = files.config.get("type_vocab_size", NUM_TYPES.get(str(files.model_type), 0))
    has_types = files.model_type in NUM_TYPES and num_types > 1 and second_type == 1 and TYPES in inputs
    return PairTemplate(between, has_types, after, second_type)


def _of_template(files: CheckpointFiles, step: Mapping[str, Any]) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """The ids between the texts of a pair, the type of the second, and the ids after it."""
    ids = {name: tuple(map(int, token["ids"])) for name, token in step["special_tokens"].items()}
    single, pair = step["single"], step["pair"]
    first, second = (_place(pair, text) for text in "AB")
    alone = _place(single, "A")
    ends = [[part.get("SpecialToken", {}).get("id") for part in parts] for parts in (pair[:first], pair[second + 1 :])]
    if ends != [[part["SpecialToken"]["id"] for part in parts] for parts in (single[:alone], single[alone + 1 :])]:
        raise CheckpointError(
            f"{files.folder / 'tokenizer.json'} ends a pair otherwise than a text; supported: the same tokens"
        )
    between, after = (
        tuple(token_id for part in parts for token_id in ids[part["SpecialToken"]["id"]])
        for parts in (pair[first + 1 : second], pair[second + 1 :])
    )
    return between, int(pair[second]["Sequence"]["type_id"]), after


def _place(parts: Sequence[Mapping[str, Any]], text: str) -> int:
    return next(place for place, part in enumerate(parts) if part.get("Sequence", {}).get("id") == text)
