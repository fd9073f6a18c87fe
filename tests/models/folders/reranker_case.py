"""One folder of a reranker in the table, and changes that are made to its files."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.models.folders.edits import Edit, put, write
from tests.models.folders.reranker_bases import IDENTITY, save_as_cross_encoder

NAMES, SETTINGS, CONFIG = "config_sentence_transformers.json", "sentence_bert_config.json", "config.json"
TOKENIZER, TEMPLATE, SCORE = "tokenizer_config.json", "chat_template.jinja", "1_LogitScore/config.json"
WITH_ANSWER = {"chat_template": {"add_generation_prompt": True}}


@dataclass(frozen=True)
class Case:
    """One folder.

    Attributes:
        name: what is unusual about it.
        base: of `BASES`.
        edits: what is changed, in order.
        refused: what its error says; None: it has the reference's scores.
        folder: its name, where that matters.
    """

    name: str
    base: str
    edits: Sequence[Edit] = ()
    refused: str | None = None
    folder: str = "folder"


def saved(
    task: str = "text-generation", activation: str = IDENTITY, *, is_message: bool = True, **more: object
) -> Edit:
    return lambda folder: save_as_cross_encoder(folder, task, activation, is_message=is_message, **more)


def modules(*kinds: tuple[str, str]) -> Edit:
    entries = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (kind, path) in enumerate(kinds)]
    return write("modules.json", entries)


def template(**variables: object) -> Edit:
    return put(SETTINGS, processing_kwargs={"chat_template": variables})
