"""The file of sentence-transformers' Transformer module, of embedders and of rerankers: what it asks for is obeyed.

In: a checkpoint's files. Out: the settings, or an error that names the file and the key. Without a `modules.json`
sentence-transformers does not read the file.

Source: sentence-transformers 6.2 `Transformer.load_config`, `_load_init_kwargs` and `__init__`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import TRANSFORMER, CheckpointError, check_keys

Encodes = Literal["pooled", "tokens", "splade", "messages"]
"""Output of a model for its tokens: one vector, one for each of them, or weights of the vocabulary's entries.

Likewise one vector, of texts and media that a chat template joins: `messages`."""

SETTINGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""Names of the file; the first that has anything in it counts."""
PLAIN_TEXT = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
"""Supported input and output of embedders; absent means the same. Chat models have `message` here."""
LOGITS = {"method": "forward", "method_output_name": "logits"}
STATES = PLAIN_TEXT["text"]
"""Output of SPLADE and of rerankers, whose texts may become messages."""
OF_TOKENS = ("query_expansion", "query_length", "document_length")
"""For late interaction."""

CLASSIFICATION, GENERATION, FEATURES = "sequence-classification", "text-generation", "feature-extraction"
"""Tasks by which a reranker's scores are made; of the last by modules after its Transformer."""
OUTPUTS = {CLASSIFICATION: "scores", GENERATION: "causal_logits", FEATURES: "token_embeddings"}
"""The task to the name of what its Transformer gives."""
WITHOUT_EFFECT = (*OF_TOKENS, "unpad_inputs", "backend")
"""Keys by which no score changes: pairs have no side of their own."""
OF_TEMPLATE = (
    *("padding", "truncation", "max_length", "return_tensors", "tokenize", "return_dict", "tokenizer_kwargs"),
    *("continue_final_message", "return_assistant_tokens_mask", "tools", "documents"),
)
"""Arguments of `apply_chat_template` that are no variables of the template."""

PROCESSOR, CONFIG, MODEL = "processor_kwargs", "config_kwargs", "model_kwargs"
OLD_NAMES = {PROCESSOR: "tokenizer_args", CONFIG: "config_args", MODEL: "model_args"}
"""Of the arguments for tokenizer, configuration and model; where a file has both, the older counts."""
LOADING = ("cache_dir", "force_download", "local_files_only", "revision", "subfolder", "token", "trust_remote_code")
"""Arguments that sentence-transformers replaces by its own, or that say where files are found."""
HARMLESS: Mapping[str, tuple[str, ...]] = {
    PROCESSOR: (*LOADING, "use_fast", "clean_up_tokenization_spaces"),
    CONFIG: (*LOADING, "use_cache", "attn_implementation", "torch_dtype", "dtype"),
    MODEL: (
        *(*LOADING, "attn_implementation", "torch_dtype", "dtype", "device_map", "low_cpu_mem_usage"),
        *("use_safetensors", "add_pooling_layer", "file_name", "provider", "export"),
    ),
}
"""Of each set of arguments those that change no vector: how it is computed, and in which dtype, is the service's."""
OF_TOKENIZER = (
    *("model_max_length", "max_len", "truncation_side", "padding_side", "model_input_names", "split_special_tokens"),
    *("do_lower_case", "strip_accents", "tokenize_chinese_chars", "add_prefix_space", "legacy"),
    *("add_bos_token", "add_eos_token", "additional_special_tokens", "extra_special_tokens"),
    *("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"),
)
"""Arguments for the tokenizer that are obeyed as if tokenizer_config.json had them."""

OF_HUB = ("trust_remote_code", "token", "revision", "cache_dir", "local_files_only", "use_fast", "use_safetensors")
OF_LOADING = ("dtype", "torch_dtype", "attn_implementation", "device_map", "low_cpu_mem_usage", "use_cache")
OF_PAIRS: Mapping[str, tuple[str, ...]] = {
    PROCESSOR: (*OF_HUB, "model_max_length", "padding_side", "padding", "clean_up_tokenization_spaces"),
    MODEL: (*OF_HUB, *OF_LOADING),
    CONFIG: (*OF_HUB, *OF_LOADING),
}
"""Arguments that a reranker may have: those that change no score, and the limit of a pair."""

SIZES = {"min_pixels": 0, "shortest_edge": 0, "max_pixels": 1, "longest_edge": 1}
"""Arguments that bound an image's pixels, and which of both bounds each is. A video's have other meanings."""


@dataclass(frozen=True, slots=True)
class SentenceSettings:
    """The file.

    Attributes:
        content: its object; empty where there is none.
        processor: arguments for the tokenizer, which count before tokenizer_config.json.
    """

    name: str
    content: Mapping[str, Any]
    processor: Mapping[str, Any]


def find_settings(files: CheckpointFiles) -> SentenceSettings:
    """The file as it stands."""
    if not (files.folder / "modules.json").is_file() or files.is_static:
        return SentenceSettings(SETTINGS[0], {}, {})
    found = ((name, files.optional(name)) for name in SETTINGS)
    name, content = next(((name, content) for name, content in found if content), (SETTINGS[0], {}))
    return SentenceSettings(name, content, _arguments(name, content, PROCESSOR)[1])


def check_settings(files: CheckpointFiles, settings: SentenceSettings, encodes: Encodes) -> None:
    """Refuse what is not done and would be other vectors."""
    name, content = settings.name, settings.content
    check_keys(name, content, TRANSFORMER)
    task, read = ("fill-mask", {"text": LOGITS}) if encodes == "splade" else ("feature-extraction", PLAIN_TEXT)
    expected: dict[str, Any] = {"transformer_task": task}
    expected["modality_config"] = _all_alike(content) if encodes == "messages" else read
    expected |= {"module_output_name": "token_embeddings", "processing_kwargs": None, "tokenizer_name_or_path": None}
    expected |= {} if encodes == "tokens" else dict.fromkeys(OF_TOKENS)
    if encodes == "messages":
        del expected["processing_kwargs"]  # `template_variables` reads them
    for key, value in expected.items():
        if content.get(key, value) not in (value, None, {}):
            raise CheckpointError(f"{name} has {key} {content[key]!r}; supported: {value!r}")
    if not isinstance(content.get("do_lower_case", False), bool | None):
        raise CheckpointError(f"{name} has do_lower_case {content['do_lower_case']!r}; true or false is needed")
    _check_arguments(files, settings)


def _all_alike(content: Mapping[str, Any]) -> dict[str, Any]:
    """`modality_config` as it must be where each of its entries goes through the forward, messages in parts."""
    given = content.get("modality_config")
    modalities = given if isinstance(given, dict) else PLAIN_TEXT
    structured = {"format": "structured"}
    return {name: PLAIN_TEXT["text"] | (structured if name == "message" else {}) for name in modalities}


def check_sizes(files: CheckpointFiles, min_pixels: int, max_pixels: int) -> None:
    """Refuse bounds of images that are not the model's."""
    settings = find_settings(files)
    for place, value in _arguments_within("", settings.content):
        key = place.rpartition(".")[2]
        if key in SIZES and value is not None and value != (expected := (min_pixels, max_pixels)[SIZES[key]]):
            raise CheckpointError(f"{settings.name} has {place} {value!r}; supported of this model: {expected}")


def _arguments_within(place: str, content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        if isinstance(value, dict) and not key.startswith("video"):
            yield from _arguments_within(f"{place}{key}.", value)
        else:
            yield place + key, value


def _check_arguments(files: CheckpointFiles, settings: SentenceSettings) -> None:
    """Check the arguments with which tokenizer, configuration and model are loaded."""
    obeyed = {PROCESSOR: OF_TOKENIZER, CONFIG: (), MODEL: ()}
    for kind, harmless in HARMLESS.items():
        key, arguments = _arguments(settings.name, settings.content, kind)
        for argument, value in arguments.items():
            is_same = kind == CONFIG and argument in files.config and files.config[argument] == value
            if argument not in (*harmless, *obeyed[kind]) and not is_same:
                more = "what config.json has" if kind == CONFIG else ", ".join(obeyed[kind]) or "how it is loaded"
                raise CheckpointError(
                    f"{settings.name} has {key}.{argument} {value!r}, which is not obeyed here; supported: {more}"
                )


def _arguments(name: str, content: Mapping[str, Any], kind: str) -> tuple[str, Mapping[str, Any]]:
    """The key that counts, and its object."""
    key = OLD_NAMES[kind] if OLD_NAMES[kind] in content else kind
    value = content.get(key) or {}
    if not isinstance(value, dict):
        raise CheckpointError(f"{name} has {key} {value!r}; an object is needed")
    return key, value


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSettings:
    """Read the file's facts about a reranker.

    Attributes:
        message: how a pair becomes messages, `method` and `format` among it; None where it stays two texts.
        max_tokens: longest prompt, which counts before the tokenizer's own; None where nothing is said.
    """

    path: str
    message: Mapping[str, Any] | None = None
    template: Mapping[str, Any]
    max_tokens: int | None = None
    lower_case: bool = False


def read_pair_settings(files: CheckpointFiles, task: str) -> PairSettings:
    """Read the file; `task` is the `transformer_task` that makes the scores of this architecture."""
    found = find_settings(files)
    name, content = found.name, {key: value for key, value in found.content.items() if value not in (None, {})}
    content |= {newer: content.pop(older) for newer, older in OLD_NAMES.items() if older in content}
    at = f"{files.folder / name} has"
    _expect(at, content, "transformer_task", task, default=FEATURES)
    output = STATES if task == FEATURES else LOGITS
    modalities = content.pop("modality_config", {"text": output})
    _expect(at, content, "module_output_name", OUTPUTS[task], default=OUTPUTS[task])
    message = _message(at, modalities, output)
    template = _template(at, content.pop("processing_kwargs", {}))
    given = content.pop(PROCESSOR, {})
    same = [key for key, value in content.get(CONFIG, {}).items() if files.config.get(key) == value]
    _refuse_beyond(at, PROCESSOR, given, OF_PAIRS[PROCESSOR])
    _refuse_beyond(at, MODEL, content.pop(MODEL, {}), OF_PAIRS[MODEL])
    _refuse_beyond(at, CONFIG, content.pop(CONFIG, {}), (*OF_PAIRS[CONFIG], *same))
    limit = given.get("model_max_length", content.pop("max_seq_length", None))
    if limit is not None and (type(limit) is not int or limit < 1):
        raise CheckpointError(f"{at} the limit {limit!r} (max_seq_length, model_max_length); a positive integer")
    lower_case = content.pop("do_lower_case", False) is True
    if further := [key for key in content if key not in (*WITHOUT_EFFECT, "max_seq_length")]:
        raise CheckpointError(f"{at} {further[0]} {content[further[0]]!r}, which is not known here")
    return PairSettings(path=name, message=message, template=template, max_tokens=limit, lower_case=lower_case)


def _expect(at: str, content: dict[str, Any], key: str, supported: str, *, default: str) -> None:
    if (said := content.pop(key, default)) != supported:
        raise CheckpointError(f"{at} {key} {said!r}; supported for this reranker: {supported!r}")


def _message(at: str, modalities: Any, output: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return the form in which a pair becomes messages; a pair of texts has no other kind of input."""
    for kind, given in modalities.items() if isinstance(modalities, dict) else [("", modalities)]:
        known = {key: value for key, value in given.items() if key != "format"} if isinstance(given, dict) else given
        if kind not in ("text", "message") or known != output:
            raise CheckpointError(f"{at} modality_config {modalities!r}; supported: text and message, each {output!r}")
    message: Mapping[str, Any] | None = modalities.get("message")
    return message


def template_variables(files: CheckpointFiles) -> Mapping[str, Any]:
    """Variables of an embedder's chat template, and its name as `chat_template`; nothing may stand beside them."""
    found = find_settings(files)
    return _template(f"{found.name} has", found.content.get("processing_kwargs") or {})


def _template(at: str, processing: Mapping[str, Any]) -> Mapping[str, Any]:
    """The template's arguments in `processing_kwargs`, beside which nothing may stand."""
    if others := [key for key, value in processing.items() if key != "chat_template" and value]:
        raise CheckpointError(
            f"{at} processing_kwargs with {others[0]} {processing[others[0]]!r}; supported: chat_template"
        )
    given = dict(processing.get("chat_template") or {})
    if given.pop("restore_suffix", True) is not True:
        raise CheckpointError(f"{at} restore_suffix false in processing_kwargs; supported: true")
    if others := [key for key in OF_TEMPLATE if given.get(key)]:
        raise CheckpointError(
            f"{at} {others[0]} {given[others[0]]!r} in processing_kwargs; supported: variables of the chat template"
        )
    return given


def _refuse_beyond(at: str, key: str, given: Any, known: tuple[str, ...]) -> None:
    """Refuse what is not known among the arguments of a library's call."""
    if not isinstance(given, dict) or any(name not in known for name in given):
        name = next((name for name in given if name not in known), "") if isinstance(given, dict) else ""
        said = f"{name} {given[name]!r} in {key}" if name else f"{key} {given!r}"
        raise CheckpointError(f"{at} {said}; supported: {', '.join(known)}")
