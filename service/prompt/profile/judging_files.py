"""Which checkpoints are rerankers that judge by `yes` and `no`: embedders of their architecture have the same files."""

import re

from service.checkpoint.config_files import CheckpointFiles

NAME = "rerank"
"""Beginning of a word in the checkpoint's name."""
TEMPLATES = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json", "additional_chat_templates/*.jinja")
DOCUMENT = "<Document>:"
"""What only a reranker's template says."""
MODULES, LOGITS = "modules.json", "LogitScore"
"""sentence-transformers' module that compares two tokens."""
CARD, TASK = "README.md", re.compile(r"^pipeline_tag:\s*['\"]?text-ranking\b", re.MULTILINE)
"""The hub's name of the task, in the card's header."""


def is_judging(files: CheckpointFiles) -> bool:
    """True where name, chat template, modules or card say so."""
    if files.is_called(NAME):
        return True
    found = {path for pattern in TEMPLATES for path in files.folder.glob(pattern)}
    return (
        any(DOCUMENT in _text(files, path.relative_to(files.folder).as_posix()) for path in found)
        or LOGITS in _text(files, MODULES)
        or TASK.search(_text(files, CARD)) is not None
    )


def _text(files: CheckpointFiles, name: str) -> str:
    path = files.folder / name
    return path.read_text("utf-8", "replace") if path.is_file() else ""
