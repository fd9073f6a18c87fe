"""The files of sentence-transformers: pooling, prefixes and limits of a text model. Each is optional.

In: a checkpoint's files. Out: what they say, or an error that names the file and what is supported. Without a
`modules.json` the answer is sentence-transformers' own: the mean of all tokens, or the last token of a causal language
model, and no normalization.

Source: sentence-transformers 6.2 (`Transformer`, `Pooling`, `_load_default_modules`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from service.checkpoint.colbert_files import OF_PYLATE, STANFORD, ColbertFiles, colbert_form, read_colbert
from service.checkpoint.config_files import NAMES, CheckpointFiles, positive
from service.checkpoint.errors import UnsupportedModelError
from service.checkpoint.sentence_modules import SentenceModule, list_modules, read_dense, read_object
from service.checkpoint.sparse.splade_files import SpladePooling, is_splade, read_splade

Pooling = Literal["last_token", "mean", "cls", "multi_vector", "splade"]
Encodes = Literal["pooled", "tokens", "splade"]
"""What a model makes of its tokens: one vector, one for each of them, or weights of the vocabulary's entries."""

POOLINGS: Mapping[str, Pooling] = {"mean": "mean", "cls": "cls", "lasttoken": "last_token"}
"""sentence-transformers' names to ours."""
OLD_NAMES: Mapping[str, str] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Switches of the pooling's older form."""

SETTINGS = ("sentence_bert_config.json", "sentence_roberta_config.json", "sentence_xlm-roberta_config.json")
"""Names of the Transformer module's own file; the first that is there counts."""
PLAIN_TEXT = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
"""Supported input and output of the Transformer module; absent means the same. Chat models have `message` here."""
NOT_DONE = ("processing_kwargs",)
OF_TOKENS = ("query_expansion", "query_length", "document_length")
"""Keys of the Transformer module's file that change what a text becomes; the latter are for late interaction."""
LOGITS = {"text": {"method": "forward", "method_output_name": "logits"}}
"""The same of SPLADE."""
SENTENCE_TRANSFORMER, SPARSE_ENCODER = "SentenceTransformer", "SparseEncoder"
"""What files of sentence-transformers 6 say that they are; older ones say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceFiles:
    """The files' values.

    Attributes:
        pooling: which hidden states become the vector; `splade` has its own file (`splade_files.py`).
        colbert: of a late-interaction model, whose pooling is `multi_vector`; None of others.
        splade: of a sparse one, whose pooling is `splade`; likewise.
        normalize: whether vectors come out at length 1.
        dimensions: length of a vector behind the Dense modules, or the vocabulary's; None where there are none.
        max_tokens: longest prompt; None where nothing is said.
        lower_case: texts are made lower case first.
        prompts: named prefixes.
        default_prompt: the prefix of a request that asks for none.
        truncate_dim: length that vectors are cut to where a request says nothing; None keeps them whole.
    """

    pooling: Pooling
    normalize: bool
    dimensions: int | None
    max_tokens: int | None
    lower_case: bool
    prompts: Mapping[str, str]
    default_prompt: str
    truncate_dim: int | None
    colbert: ColbertFiles | None = None
    splade: SpladePooling | None = None


def read_sentence_files(files: CheckpointFiles) -> SentenceFiles:
    """Read all of them.

    Raises:
        UnsupportedModelError: one is damaged, or asks for what is not supported.
        CheckpointError: likewise, of `modules.json` and Dense modules.
    """
    names = files.optional(NAMES)
    has_splade = is_splade(files.folder)
    if not has_splade and (form := colbert_form(files)):
        settings = _settings(files, "tokens")
        return _of_tokens(files, read_colbert(files, form, settings), settings)
    _refuse_other_kinds(files.config, names, has_splade=has_splade)
    modules = () if has_splade else list_modules(files.folder)
    dense = [read_dense(module) for module in modules if module.kind == "Dense"]
    settings = _settings(files, "splade" if has_splade else "pooled")
    prompts = files.prompts()
    return SentenceFiles(
        pooling="splade" if has_splade else _pooling(modules, files.config),
        normalize=any(module.kind == "Normalize" for module in modules),
        dimensions=positive(files.config, "vocab_size") if has_splade else dense[-1].out_features if dense else None,
        max_tokens=_max_tokens(settings, files.optional("tokenizer_config.json")),
        lower_case=settings.get("do_lower_case") is True,
        prompts=prompts,
        default_prompt=_default_prompt(names.get("default_prompt_name"), prompts),
        truncate_dim=None if has_splade else _count(NAMES, names, "truncate_dim"),
        splade=read_splade(files.folder) if has_splade else None,
    )


def _of_tokens(files: CheckpointFiles, found: ColbertFiles, settings: Mapping[str, Any]) -> SentenceFiles:
    """The values of a late-interaction model; its prefixes are in `found`, since a text has one side or the other."""
    return SentenceFiles(
        pooling="multi_vector",
        normalize=found.normalize,
        dimensions=found.dense[-1].out_features if found.dense else None,
        max_tokens=_max_tokens(settings, files.optional("tokenizer_config.json")),
        lower_case=settings.get("do_lower_case") is True,
        prompts={},
        default_prompt="",
        truncate_dim=None,
        colbert=found,
    )


def _refuse_other_kinds(config: Mapping[str, Any], names: Mapping[str, Any], *, has_splade: bool) -> None:
    """Refuse what is no sentence transformer, and ColBERT without the modules that make its vectors.

    Source: sentence-transformers 6.2 `MultiVectorEncoder`, which reads the files of PyLate and of ColBERT too.
    """
    kind, found = names.get("model_type"), ""
    if STANFORD in (config.get("architectures") or ()):
        found = f"config.json has architectures [{STANFORD!r}]"
    elif kind not in (None, SPARSE_ENCODER if has_splade else SENTENCE_TRANSFORMER):
        found = f"{NAMES} has model_type {kind!r}"
    elif key := next((one for one in OF_PYLATE if one in names), None):
        found = f"{NAMES} has {key} {names[key]!r}"
    if found:
        raise UnsupportedModelError(
            f"{found}; supported: {SENTENCE_TRANSFORMER}, {SPARSE_ENCODER} with SpladePooling, and MultiVectorEncoder "
            "and PyLate's ColBERT with a modules.json that names what makes a vector of each token, whose mean would "
            f"be wrong; {STANFORD} without one"
        )


def _settings(files: CheckpointFiles, encodes: Encodes) -> Mapping[str, Any]:
    """The Transformer module's file; what else it asks for is not done, and would be other vectors."""
    name = next((name for name in SETTINGS if (files.folder / name).exists()), SETTINGS[0])
    settings = files.optional(name)
    task, read = ("fill-mask", LOGITS) if encodes == "splade" else ("feature-extraction", PLAIN_TEXT)
    expected = {"transformer_task": task, "modality_config": read} | dict.fromkeys(NOT_DONE)
    expected |= {} if encodes == "tokens" else dict.fromkeys(OF_TOKENS)
    for key, value in expected.items():
        if settings.get(key, value) not in (value, None, {}):
            raise UnsupportedModelError(f"{files.folder / name} has {key} {settings[key]!r}; supported: {value!r}")
    return settings


def _pooling(modules: Sequence[SentenceModule], config: Mapping[str, Any]) -> Pooling:
    folder = next((module.folder for module in modules if module.kind == "Pooling"), None)
    if folder is None:
        return _default_pooling(config)
    path = folder / "config.json"
    content = read_object(path)
    mode = content.get("pooling_mode")
    if mode is None:
        asked = [name for key, name in OLD_NAMES.items() if content.get(key) is True]
        mode = asked or "mean"
    if isinstance(mode, list) and len(mode) == 1:
        mode = mode[0]
    if not isinstance(mode, str) or mode not in POOLINGS:
        raise UnsupportedModelError(f"{path} pools by {mode!r}; supported, one at a time: {', '.join(POOLINGS)}")
    if content.get("include_prompt", True) is not True:
        raise UnsupportedModelError(f"{path} has include_prompt false; supported: true, the prefix is pooled too")
    return POOLINGS[mode]


def _default_pooling(config: Mapping[str, Any]) -> Pooling:
    """The default of sentence-transformers for a folder without `modules.json`."""
    names = config.get("architectures")
    generates = isinstance(names, list) and bool(names) and str(names[0]).endswith("ForCausalLM")
    return "last_token" if generates and config.get("is_causal", True) else "mean"


def _max_tokens(settings: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> int | None:
    """`max_seq_length` where there is one, else the tokenizer's own limit; huge numbers there mean none."""
    own = _count("sentence_bert_config.json", settings, "max_seq_length")
    limit = tokenizer.get("model_max_length")
    return int(limit) if own is None and isinstance(limit, int | float) and 1 <= limit < 1e9 else own


def _default_prompt(name: object, prompts: Mapping[str, str]) -> str:
    if name is None:
        return ""
    if name not in prompts:
        raise UnsupportedModelError(f"{NAMES} has default_prompt_name {name!r}; its prompts are {', '.join(prompts)}")
    return prompts[str(name)]


def _count(name: str, content: Mapping[str, Any], key: str) -> int | None:
    value = content.get(key)
    if value is not None and (type(value) is not int or value < 1):
        raise UnsupportedModelError(f"{name} has {key} {value!r}; a positive integer is needed")
    return value
