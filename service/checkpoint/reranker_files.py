"""The files of a text reranker: what its score means, how long a pair may be, and how it becomes a prompt.

In: a checkpoint's files. Out: what they say, or an error that names file and key. What sentence-transformers reads of a
folder depends on whether it saved it: of all others it reads what transformers reads.

Source: sentence-transformers 6.2, `CrossEncoder.__init__`, `_parse_model_config` and `get_default_activation_fn`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from service.checkpoint.chat_template import DEFAULT, ChatTemplate, read_chat_templates
from service.checkpoint.config_files import NAMES, CheckpointFiles
from service.checkpoint.json_files import ABOUT_MODEL, MODEL, CheckpointError, check_keys
from service.checkpoint.pair_frame import Format, infer_format
from service.checkpoint.reranker_kind import CROSS_ENCODER, LOGIT_SCORE, MODULES, TRANSFORMER, is_saved, module_kinds
from service.checkpoint.sentence_modules import read_modules
from service.checkpoint.sentence_settings import FEATURES, PairSettings, find_settings, read_pair_settings
from service.checkpoint.tokenizer_settings import CONFIG, check_tokenizer_settings, said_length

Activation = Literal["sigmoid", "identity"]
ACTIVATIONS: Mapping[str, Activation] = {"Sigmoid": "sigmoid", "Identity": "identity"}
"""By the last part of their import path in `torch.nn`."""
KNOWN = re.compile(
    rf"sentence_transformers\.(?:models|base\.modules|sentence_transformer\.modules)(?:\.\w+)?\.(?P<kind>{TRANSFORMER})"
)
OF_CROSS_ENCODER = ("activation_fn", "keep_in_fp32_modules")
"""Keys of its config_sentence_transformers.json; the heads of the latter are in float32 here whatever it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageForm:
    """Form in which a pair becomes a prompt by a chat template."""

    template: ChatTemplate
    form: Format
    variables: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerFiles:
    """The files' values.

    Attributes:
        max_tokens: longest prompt; None where nothing is said.
        messages: the chat template; None where a pair stays two texts that the tokenizer joins.
        prompt: instruction of a request that gives none; empty where there is none.
    """

    activation: Activation
    max_tokens: int | None
    lower_case: bool
    messages: MessageForm | None
    prompt: str


def read_reranker_files(files: CheckpointFiles, task: str) -> RerankerFiles:
    """Read all of them.

    Args:
        task: sentence-transformers' name of what the Transformer does: `sequence-classification`, `text-generation`,
            or `feature-extraction`, whose modules are read elsewhere (`score_modules.py`).
    """
    saved = is_saved(files)
    names = files.optional(NAMES) if saved else {}
    if saved:
        check_keys(files.folder / NAMES, names, (*MODEL, *ABOUT_MODEL, *OF_CROSS_ENCODER))
        if task != FEATURES:
            _check_modules(files)
        settings = read_pair_settings(files, task)
    else:
        settings = PairSettings(path=NAMES, template={})
        if (said := find_settings(files)).processor:  # of the tokenizer's class, which reads them wherever they stand
            raise CheckpointError(
                f"{files.folder / said.name} has arguments for the tokenizer, and {NAMES} no model_type "
                f"{CROSS_ENCODER!r}, without which sentence-transformers does not read them"
            )
    check_tokenizer_settings(files)
    return RerankerFiles(
        activation=read_activation(files, names),
        max_tokens=settings.max_tokens or said_length(files.optional(CONFIG)),
        lower_case=settings.lower_case,
        messages=_messages(files, settings, is_saved=saved),
        prompt=read_prompt(files, names),
    )


def _check_modules(files: CheckpointFiles) -> None:
    """Refuse other modules than a Transformer beside modules.json, with LogitScore after it or not."""
    path, kinds = files.folder / MODULES, module_kinds(files)
    if kinds not in ([TRANSFORMER], [TRANSFORMER, LOGIT_SCORE]):
        raise CheckpointError(
            f"{path} has {', '.join(kinds)}; supported of a {CROSS_ENCODER}: {TRANSFORMER}, or {TRANSFORMER} and "
            f"{LOGIT_SCORE}"
        )
    known = re.compile(rf"(?:{KNOWN.pattern})|sentence_transformers\.cross_encoder\.modules(?:\.\w+)?\.{LOGIT_SCORE}")
    read_modules(files.folder, known, f"{TRANSFORMER} and {LOGIT_SCORE} of sentence_transformers")


def read_activation(files: CheckpointFiles, names: Mapping[str, Any]) -> Activation:
    """The first that is said: by a saved model's file, by config.json in either of its forms; else a sigmoid.

    Args:
        names: of config_sentence_transformers.json; empty where that does not count.
    """
    own = files.config.get("sentence_transformers")
    of_config = own if isinstance(own, dict) and "activation_fn" in own else {}
    said = [(NAMES, "activation_fn", names.get("activation_fn"))]
    said += [("config.json", "sentence_transformers.activation_fn", of_config.get("activation_fn"))]
    if not of_config:
        key = "sbert_ce_default_activation_function"
        said += [("config.json", key, files.config.get(key))]
    name, key, path = next((one for one in said if one[2] is not None), ("", "", None))
    if path is None:
        return "sigmoid"
    last = str(path).rpartition(".")[2]
    if not str(path).startswith("torch.nn.") or last not in ACTIVATIONS:
        raise CheckpointError(
            f"{files.folder / name} has {key} {path!r}; supported, in torch.nn: {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[last]


def _messages(files: CheckpointFiles, settings: PairSettings, *, is_saved: bool) -> MessageForm | None:
    """The chat template, where the saved settings ask for messages, or where nothing is saved and there is one."""
    if is_saved and settings.message is None:
        return None
    templates = read_chat_templates(files)
    if not is_saved and not templates:
        return None
    variables = dict(settings.template)
    name = variables.pop("chat_template", None) or DEFAULT
    template = templates.get(name)
    if template is None and "{" in name and templates:  # the template itself
        template = ChatTemplate(files.folder / settings.path, name, next(iter(templates.values())).special)
    if template is None:
        raise CheckpointError(
            f"{files.folder} has no chat template {name!r}, by which its pairs become prompts ({settings.path}); it "
            f"has {', '.join(templates) or 'none'}"
        )
    form = (settings.message or {}).get("format", "auto")
    form = infer_format(template) if form == "auto" else form
    if form not in ("flat", "structured"):
        raise CheckpointError(
            f"{files.folder / settings.path} has the format {form!r} of messages; supported: flat, structured"
        )
    return MessageForm(template=template, form=form, variables=variables)


def read_prompt(files: CheckpointFiles, names: Mapping[str, Any]) -> str:
    """The prompt that sentence-transformers puts before each pair, by `names` as in `read_activation`; else empty."""
    name, prompts = names.get("default_prompt_name"), names.get("prompts") or {}
    if name is None:
        return ""
    if not isinstance(prompts, dict) or not isinstance(prompt := prompts.get(name), str):
        raise CheckpointError(
            f"{files.folder / NAMES} has default_prompt_name {name!r}, which is none of its prompts: "
            f"{', '.join(map(str, prompts)) or 'there are none'}"
        )
    return prompt
