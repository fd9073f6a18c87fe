"""A folder's chat templates, as transformers' tokenizers read and render them.

In: a checkpoint's files. Out: a template's text, and what it makes of messages. Rendered when a profile is made, never
for a request: what a client writes does not reach Jinja.

Source: transformers 5.24, `PreTrainedTokenizerBase.from_pretrained` and `render_jinja_template`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.checkpoint.config_files import CheckpointFiles, token_text
from service.checkpoint.json_files import CheckpointError

FILE, FURTHER, TOKENIZER = "chat_template.jinja", "additional_chat_templates", "tokenizer_config.json"
DEFAULT = "default"
SPECIAL_MAP = "special_tokens_map.json"
"""Where older releases name special tokens too."""
SPECIAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
"""Names of special tokens that a template may write."""
NOW = "strftime_now"
"""Makes a prompt of the day on which it is asked for."""

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """One template of a folder.

    Attributes:
        text: in Jinja.
        special: special tokens by their name; an empty one is none.
        is_only: there is no other; only then its format is guessed from its text.
    """

    path: Path
    text: str
    special: Mapping[str, str]
    is_only: bool = True

    def render(self, messages: Sequence[Message], variables: Mapping[str, Any]) -> str:
        """The prompt of a conversation; `variables` are given to the template beside messages and special tokens."""
        from jinja2 import TemplateError  # few checkpoints have a template that is rendered here

        if NOW in self.text:
            raise CheckpointError(f"{self.path} asks for the day ({NOW}): the same pair would have other scores")
        if missing := [name for name in SPECIAL if name in self.text and name not in self.special]:
            raise CheckpointError(f"{self.path} writes {missing[0]}, which {TOKENIZER} has not")
        special = {name: text for name, text in self.special.items() if text}
        given = {"tools": None, "documents": None, "add_generation_prompt": False, **special, **variables}
        try:
            return str(_environment().from_string(self.text).render(messages=messages, **given))
        except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
            raise CheckpointError(f"{self.path} cannot be rendered for these messages: {error}") from error


def read_chat_templates(files: CheckpointFiles) -> dict[str, ChatTemplate]:
    """All templates of a tokenizer by their names; the one without a name is `default`.

    Files in Jinja count before `chat_template` of tokenizer_config.json.
    """
    config = files.optional(TOKENIZER)
    tokens = {**files.optional(SPECIAL_MAP), **config}
    special = {name: token_text(tokens[name]) or "" for name in SPECIAL if name in tokens}
    own, further = files.folder / FILE, sorted((files.folder / FURTHER).glob("*.jinja"))
    found = {DEFAULT: own} if own.is_file() else {}
    texts = {name: (path, _read(path)) for name, path in {**found, **{path.stem: path for path in further}}.items()}
    if not texts:
        path, said = files.folder / TOKENIZER, config.get("chat_template")
        entries = said if isinstance(said, list) else [{"name": DEFAULT, "template": said}] if said else []
        named = [entry for entry in entries if isinstance(entry, dict) and {"name", "template"} <= entry.keys()]
        texts = {str(entry["name"]): (path, str(entry["template"])) for entry in named}
    return {name: ChatTemplate(path, text, special, len(texts) == 1) for name, (path, text) in texts.items()}


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def _environment() -> Any:
    """Jinja as transformers has it: in its sandbox, without attributes of Python."""
    from jinja2 import TemplateError, nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """Reads `{% generation %}`, which marks answers for training, as what it encloses."""

        tags = {"generation"}  # noqa: RUF012  # as Jinja declares it

        def parse(self, parser: Any) -> nodes.Node:
            line = next(parser.stream).lineno
            return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)

    def refuse(message: str) -> None:
        raise TemplateError(message)

    extensions = [Generation, loopcontrols]
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    made.filters["tojson"] = lambda value, **options: json.dumps(value, **{"ensure_ascii": False, **options})
    made.globals["raise_exception"] = refuse
    return made
