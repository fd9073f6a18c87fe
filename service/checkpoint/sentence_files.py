"""The files of sentence-transformers: pooling, prefixes and limits of a text model. Each is optional.

In: a checkpoint's files. Out: what they say, or an error that names the file and what is supported. Without a
`modules.json` the answer is sentence-transformers' own: the mean of all tokens, or the last token of a causal language
model, and no normalization.

Source: sentence-transformers 6.2 (`Transformer`, `Pooling`, `_load_default_modules`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from service.checkpoint.colbert_files import OF_PYLATE, STANFORD, ColbertFiles, colbert_form, read_colbert
from service.checkpoint.config_files import NAMES, CheckpointFiles, positive
from service.checkpoint.json_files import ABOUT_MODEL, EMPTY, MODEL, CheckpointError, check_keys, read_object
from service.checkpoint.json_files import POOLING as POOLING_KEYS
from service.checkpoint.sentence_modules import SentenceModule, check_normalize, list_modules, read_dense
from service.checkpoint.sentence_settings import SETTINGS, Encodes, check_settings, find_settings
from service.checkpoint.sparse_files import SpladePooling, is_splade, read_splade
from service.checkpoint.tokenizer_settings import check_tokenizer_settings, max_length

Pooling = Literal["last_token", "mean", "cls", "multi_vector", "splade"]
Similarity = Literal["cosine", "dot", "mean_max_sim"]
"""Comparison of two vectors, or of two lists of them."""

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

SIMILARITIES: Mapping[object, Similarity] = {None: "cosine", "cosine": "cosine", "dot": "dot"}
"""Values of `similarity_fn_name`."""
SPARSE_SIMILARITIES: Mapping[object, Similarity] = {None: "dot", "dot": "dot"}
"""The same of sparse encoders."""
LOST: Mapping[str, tuple[object, ...]] = {
    "prompts": (*EMPTY, {"query": "", "document": ""}),
    "default_prompt_name": EMPTY,
    "truncate_dim": EMPTY,
    "similarity_fn_name": (None, "cosine"),
    "max_seq_length": EMPTY,
    "do_lower_case": (None, False),
    **dict.fromkeys(("tokenizer_args", "processor_kwargs", "config_args", "config_kwargs"), EMPTY),
}
"""Keys that are read beside a `modules.json` alone, and the values that say what holds without."""
SENTENCE_TRANSFORMER, SPARSE_ENCODER = "SentenceTransformer", "SparseEncoder"
"""Classes that files of sentence-transformers 6 name; older ones name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceFiles:
    """The files' values.

    Attributes:
        pooling: which hidden states become the vector; `splade` has its own file (`sparse_files.py`).
        colbert: of a late-interaction model, whose pooling is `multi_vector`; None of others.
        splade: of a sparse one, whose pooling is `splade`; likewise.
        normalize: whether vectors come out at length 1; not where those of length 1 are cut.
        dimensions: length of a vector after the Dense modules, or the vocabulary's; None where there are none.
        max_tokens: longest prompt; None where nothing is said.
        prompts: named prefixes.
        default_prompt: the prefix of a request that asks for none.
        truncate_dim: length that vectors are cut to where a request says nothing; None keeps them whole.
    """

    pooling: Pooling
    normalize: bool
    dimensions: int | None
    max_tokens: int | None
    lower_case: bool
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt: str = ""
    truncate_dim: int | None = None
    similarity: Similarity = "cosine"
    colbert: ColbertFiles | None = None
    splade: SpladePooling | None = None


def read_sentence_files(files: CheckpointFiles, encodes: Encodes = "pooled") -> SentenceFiles:
    """Read all of them; `encodes` says of a model that pools if it takes texts alone, or media too."""
    check_tokenizer_settings(files)
    names, settings = files.optional(NAMES), find_settings(files)
    has_splade = is_splade(files.folder)
    if not has_splade and (form := colbert_form(files)):
        check_settings(files, settings, "tokens")
        return _of_tokens(files, read_colbert(files, form, settings.content))
    _refuse_other_kinds(files.config, names, has_splade=has_splade)
    _refuse_without_modules(files)
    check_keys(NAMES, names, (*MODEL, *ABOUT_MODEL))
    check_settings(files, settings, "splade" if has_splade else encodes)
    modules = () if has_splade else list_modules(files.folder)
    dense = [read_dense(module) for module in modules if module.kind == "Dense"]
    normalizes = any(check_normalize(module.folder) for module in modules if module.kind == "Normalize")
    prompts, is_cut = files.prompts(), not has_splade and names.get("truncate_dim") is not None
    return SentenceFiles(
        pooling="splade" if has_splade else _pooling(modules, files.config),
        normalize=normalizes and not cuts_unit_vectors(files),
        dimensions=positive(files.config, "vocab_size") if has_splade else dense[-1].out_features if dense else None,
        max_tokens=max_length(files),
        lower_case=settings.content.get("do_lower_case") is True,
        prompts=prompts,
        default_prompt=_default_prompt(names.get("default_prompt_name"), prompts),
        truncate_dim=positive(names, "truncate_dim", NAMES) if is_cut else None,
        similarity=_similarity(names, SPARSE_SIMILARITIES if has_splade else SIMILARITIES),
        splade=read_splade(files.folder) if has_splade else None,
    )


def check_names(files: CheckpointFiles, *, is_normalized: bool) -> None:
    """Refuse what sentence-transformers' own file of a model that is no text encoder asks for, and is not done.

    Args:
        is_normalized: vectors have length 1, so that their dot products are cosines.
    """
    names = files.optional(NAMES)
    if (length := names.get("truncate_dim")) is not None:
        raise CheckpointError(f"{NAMES} has truncate_dim {length!r}; supported of this model: null")
    similarity = names.get("similarity_fn_name")
    known = (None, "cosine", "maxsim", "MaxSim", *(("dot",) if is_normalized else ()))
    if similarity not in known:
        raise CheckpointError(f"{NAMES} has similarity_fn_name {similarity!r}; supported: cosine, maxsim")


def _of_tokens(files: CheckpointFiles, found: ColbertFiles) -> SentenceFiles:
    """The values of a late-interaction model; its prefixes are in `found`, since a text has one side or the other."""
    return SentenceFiles(
        pooling="multi_vector",
        normalize=found.normalize,
        dimensions=found.dense[-1].out_features if found.dense else None,
        max_tokens=max_length(files),
        lower_case=find_settings(files).content.get("do_lower_case") is True,
        colbert=found,
    )


def cuts_unit_vectors(files: CheckpointFiles) -> bool:
    """True if vectors are brought to length 1 and then cut by `truncate_dim`, as sentence-transformers does it."""
    modules = list_modules(files.folder)
    return files.optional(NAMES).get("truncate_dim") is not None and any(one.kind == "Normalize" for one in modules)


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
        raise CheckpointError(
            f"{found}; supported: {SENTENCE_TRANSFORMER}, {SPARSE_ENCODER} with SpladePooling, and MultiVectorEncoder "
            "and PyLate's ColBERT with a modules.json that names what makes a vector of each token, whose mean would "
            f"be wrong; {STANFORD} without one"
        )


def _refuse_without_modules(files: CheckpointFiles) -> None:
    """Without a `modules.json` sentence-transformers reads none of its files, and all that they say is lost."""
    if (files.folder / "modules.json").is_file() or STANFORD in (files.config.get("architectures") or ()):
        return
    for name in (NAMES, *SETTINGS):
        content = files.optional(name)
        if said := [key for key, nothing in LOST.items() if content.get(key) not in nothing]:
            raise CheckpointError(
                f"{files.folder} has {name} with {said[0]} and no modules.json, without which sentence-transformers "
                f"does not read it, nor how vectors are pooled: add the model's modules.json, or remove {name}"
            )


def _pooling(modules: Sequence[SentenceModule], config: Mapping[str, Any]) -> Pooling:
    """What a Pooling module says; without one the default of sentence-transformers, by the model's class."""
    folder = next((module.folder for module in modules if module.kind == "Pooling"), None)
    if folder is not None:
        return read_pooling(folder)
    names = config.get("architectures")
    generates = isinstance(names, list) and bool(names) and str(names[0]).endswith("ForCausalLM")
    return "last_token" if generates and config.get("is_causal", True) else "mean"


def read_pooling(folder: Path) -> Pooling:
    """What a Pooling module's file says."""
    path = folder / "config.json"
    if not path.is_file():
        raise CheckpointError(
            f"{path} is not there, which modules.json names: it says how vectors are pooled; download the model again"
        )
    content = read_object(path)
    check_keys(path, content, POOLING_KEYS)
    mode = content.get("pooling_mode", "mean")
    if "pooling_mode" not in content and (asked := [name for key, name in OLD_NAMES.items() if content.get(key)]):
        mode = asked
    if isinstance(mode, list) and len(mode) == 1:
        mode = mode[0]
    if not isinstance(mode, str) or mode not in POOLINGS:
        raise CheckpointError(f"{path} pools by {mode!r}; supported, one at a time: {', '.join(POOLINGS)}")
    if not content.get("include_prompt", True):
        raise CheckpointError(f"{path} has include_prompt false; supported: true, the prefix is pooled too")
    return POOLINGS[mode]


def _similarity(names: Mapping[str, Any], known: Mapping[object, Similarity]) -> Similarity:
    name = names.get("similarity_fn_name")
    if name not in known:
        supported = ", ".join(sorted({*known.values()}))
        raise CheckpointError(f"{NAMES} has similarity_fn_name {name!r}; supported: {supported}")
    return known[name]


def _default_prompt(name: object, prompts: Mapping[str, str]) -> str:
    if name is None:
        return ""
    if name not in prompts:
        raise CheckpointError(f"{NAMES} has default_prompt_name {name!r}; its prompts are {', '.join(prompts)}")
    return prompts[str(name)]
