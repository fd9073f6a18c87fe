"""The file of sentence-transformers' Transformer module in a saved reranker: what it asks for is done or refused.

In: a checkpoint's files. Out: the file's values, each of them known.

Source: sentence-transformers 6.2, `Transformer.load_config` and `__init__`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.errors import UnsupportedModelError
from service.checkpoint.sentence_settings import find_settings

OLDER = {"model_args": "model_kwargs", "tokenizer_args": "processor_kwargs", "config_args": "config_kwargs"}
CLASSIFICATION, GENERATION = "sequence-classification", "text-generation"
"""Tasks by which a reranker's scores are made."""
LOGITS = {"method": "forward", "method_output_name": "logits"}
OUTPUTS = {CLASSIFICATION: "scores", GENERATION: "causal_logits"}
"""The task to the name of what its Transformer gives."""
WITHOUT_EFFECT = ("unpad_inputs", "query_length", "document_length", "query_expansion", "backend")
"""Keys by which no score changes: pairs have no side of their own."""
OF_HUB = ("trust_remote_code", "token", "revision", "cache_dir", "local_files_only", "use_fast", "use_safetensors")
OF_LOADING = ("dtype", "torch_dtype", "attn_implementation", "device_map", "low_cpu_mem_usage", "use_cache")
OF_TOKENIZER = ("model_max_length", "padding_side", "padding", "clean_up_tokenization_spaces")
OF_TEMPLATE = (
    "padding",
    "truncation",
    "max_length",
    "return_tensors",
    "tokenize",
    "return_dict",
    "tokenizer_kwargs",
    "continue_final_message",
    "return_assistant_tokens_mask",
    "tools",
    "documents",
)
"""Arguments of `apply_chat_template` that are no variables of the template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerSettings:
    """The file's values.

    Attributes:
        path: its name, for errors.
        message: how a pair becomes messages, `method` and `format` among it; None where it stays two texts.
        template: arguments for the chat template.
        max_tokens: longest prompt, which counts before the tokenizer's own; None where nothing is said.
        lower_case: texts are made lower case first.
    """

    path: str
    message: Mapping[str, Any] | None = None
    template: Mapping[str, Any]
    max_tokens: int | None = None
    lower_case: bool = False


def read_transformer_settings(files: CheckpointFiles, task: str) -> TransformerSettings:
    """Read the file.

    Args:
        task: `transformer_task` that makes the scores of this architecture.

    Raises:
        UnsupportedModelError: it is damaged, or asks for what would be other scores here.
    """
    found = find_settings(files)
    name, content = found.name, {key: value for key, value in found.content.items() if value not in (None, {})}
    content |= {newer: content.pop(older) for older, newer in OLDER.items() if older in content}
    at = f"{files.folder / name} has"
    _expect(at, content, "transformer_task", task, default="feature-extraction")
    modalities = content.pop("modality_config", {"text": LOGITS})
    _expect(at, content, "module_output_name", OUTPUTS[task], default=OUTPUTS[task])
    message = _message(at, modalities)
    template = _template(at, content.pop("processing_kwargs", {}))
    given = content.pop("processor_kwargs", {})
    _refuse_beyond(at, "processor_kwargs", given, (*OF_HUB, *OF_TOKENIZER))
    _refuse_beyond(at, "model_kwargs", content.pop("model_kwargs", {}), (*OF_HUB, *OF_LOADING))
    same = [key for key, value in content.get("config_kwargs", {}).items() if files.config.get(key) == value]
    _refuse_beyond(at, "config_kwargs", content.pop("config_kwargs", {}), (*OF_HUB, *OF_LOADING, *same))
    limit = given.get("model_max_length", content.pop("max_seq_length", None))
    if limit is not None and (type(limit) is not int or limit < 1):
        raise UnsupportedModelError(f"{at} the limit {limit!r} (max_seq_length, model_max_length); a positive integer")
    lower_case = content.pop("do_lower_case", False) is True
    if further := [key for key in content if key not in (*WITHOUT_EFFECT, "max_seq_length")]:
        raise UnsupportedModelError(f"{at} {further[0]} {content[further[0]]!r}, which is not known here")
    return TransformerSettings(path=name, message=message, template=template, max_tokens=limit, lower_case=lower_case)


def _expect(at: str, content: dict[str, Any], key: str, supported: str, *, default: str) -> None:
    if (said := content.pop(key, default)) != supported:
        raise UnsupportedModelError(f"{at} {key} {said!r}; supported for this reranker: {supported!r}")


def _message(at: str, modalities: Any) -> Mapping[str, Any] | None:
    """How a pair becomes messages; other kinds of input have no place in a pair of texts."""
    for kind, given in modalities.items() if isinstance(modalities, dict) else [("", modalities)]:
        known = {key: value for key, value in given.items() if key != "format"} if isinstance(given, dict) else given
        if kind not in ("text", "message") or known != LOGITS:
            raise UnsupportedModelError(
                f"{at} modality_config {modalities!r}; supported: text and message, each {LOGITS!r}"
            )
    message: Mapping[str, Any] | None = modalities.get("message")
    return message


def _template(at: str, processing: Mapping[str, Any]) -> Mapping[str, Any]:
    """The template's arguments in `processing_kwargs`, beside which nothing may stand."""
    if others := [key for key, value in processing.items() if key != "chat_template" and value]:
        raise UnsupportedModelError(
            f"{at} processing_kwargs with {others[0]} {processing[others[0]]!r}; supported: chat_template"
        )
    given = dict(processing.get("chat_template") or {})
    if given.pop("restore_suffix", True) is not True:
        raise UnsupportedModelError(f"{at} restore_suffix false in processing_kwargs; supported: true")
    if others := [key for key in OF_TEMPLATE if given.get(key)]:
        raise UnsupportedModelError(
            f"{at} {others[0]} {given[others[0]]!r} in processing_kwargs; supported: variables of the chat template"
        )
    return given


def _refuse_beyond(at: str, key: str, given: Any, known: tuple[str, ...]) -> None:
    """Refuse what is not known among the arguments of a library's call."""
    if not isinstance(given, dict) or any(name not in known for name in given):
        name = next((name for name in given if name not in known), "") if isinstance(given, dict) else ""
        said = f"{name} {given[name]!r} in {key}" if name else f"{key} {given!r}"
        raise UnsupportedModelError(f"{at} {said}; supported: {', '.join(known)}")
