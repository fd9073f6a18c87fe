"""Tokenizer.json as transformers' tokenizer classes read it: they build some of its parts anew.

In: the objects of config.json, tokenizer_config.json and tokenizer.json. Out: tokenizer.json as the class reads it. A
class keeps the vocabulary and takes how texts are normalized and split from its own arguments, which
tokenizer_config.json gives; where the two files disagree, tokenizer.json does not count. `PreTrainedTokenizerFast`
takes it as it is.

Source: transformers 5.24 `AutoTokenizer.from_pretrained`, `TokenizersBackend.convert_to_native_format` and the classes.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from service.checkpoint.config_files import token_text
from service.checkpoint.json_files import CheckpointError

Json = dict[str, Any]

BY_MODEL_TYPE: Mapping[str, str] = {
    **dict.fromkeys(("bert", "chinese_clip", "distilbert", "electra", "nomic_bert"), "BertTokenizer"),
    "camembert": "CamembertTokenizer",
    **dict.fromkeys(("clap", "roberta"), "RobertaTokenizer"),
    "deberta-v2": "DebertaV2Tokenizer",
    **dict.fromkeys(("gemma", "gemma2", "gemma3_text"), "GemmaTokenizer"),
    **dict.fromkeys(("qwen3_5", "qwen3_5_text"), "Qwen3_5Tokenizer"),
    **dict.fromkeys(
        ("colqwen2", "qwen2", "qwen2_vl", "qwen2_5_omni", "qwen2_5_vl", "qwen3", "qwen3_vl"), "Qwen2Tokenizer"
    ),
    **dict.fromkeys(("gte", "jina_embeddings_v3", "metaclip_2", "xlm-roberta"), "XLMRobertaTokenizer"),
    "mpnet": "MPNetTokenizer",
    "t5": "T5Tokenizer",
}
"""The class of a model type where the files name none."""
PREFIX = "add_prefix_space"
"""Argument that puts a blank in front of a text."""
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pattern by which Qwen2's class splits texts."""
QWEN3_5_SPLIT = QWEN_SPLIT.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
"""Likewise Qwen3.5's: marks belong to the letter before."""
NOT_READ = frozenset(
    f"{name}Tokenizer"
    for name in (
        *("Albert", "Barthez", "BigBird", "Blenderbot", "CodeLlama", "Cohere", "Deberta"),
        *("Funnel", "GPTNeoX", "Herbert", "MBart", "MBart50", "Nllb", "Pegasus", "Reformer", "RemBert"),
        *("RoFormer", "SeamlessM4T", "Splinter", "XGLM", "XLNet"),
    )
)
"""Classes of transformers that build a tokenizer anew, of models that no family here has."""
AS_IT_IS = ("ministral3", "mistral", "mistral3", "modernbert", "siglip2")
"""Model types whose tokenizer.json is taken as it is, whatever class is named."""
IN_ANY_CASE = {"qwen2": "Qwen2Tokenizer", "qwen3_5": "Qwen3_5Tokenizer"}
"""Model types whose class is their own, whatever class is named."""
OF_CODE = ("qwen3_5",)
"""Model types whose tokenizer.json is taken as it is if the model has code of its own: WeMM-Embedding drops a line end
before an image, and so its prompts are known; transformers 5.24 makes it anew."""


def building_class(config: Mapping[str, Any], named: Mapping[str, Any], content: Json) -> str:
    """The class that builds this tokenizer anew; empty where tokenizer.json is taken as it is.

    `config`, and the class's arguments `named`, are empty where there is no such file.
    """
    name, kind = class_name(config, named), content["model"].get("type")
    if name in NOT_READ:
        raise CheckpointError(
            f"tokenizer_config.json has tokenizer_class {name!r}, which builds parts of tokenizer.json anew and is not "
            f"read here; supported: PreTrainedTokenizerFast, {', '.join(sorted(_CLASSES))}"
        )
    is_byte_level = "ByteLevel" in str((content.get("pre_tokenizer"), content.get("decoder")))
    if name == "LlamaTokenizer" and is_byte_level:
        return ""
    return name if name in _CLASSES and _CLASSES[name][0] == (kind or "WordPiece") else ""


def as_its_class_reads(name: str, named: Mapping[str, Any], content: Json) -> Json:
    """tokenizer.json with the parts that its class, of `building_class`, builds anew by its arguments."""
    if name:
        return content | _CLASSES[name][1](named, content)
    if dropout := content["model"].get("dropout"):
        raise CheckpointError(f"tokenizer.json has dropout {dropout!r}: tokens are random; null is needed")
    return content


def class_name(config: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    """The class that AutoTokenizer takes, without `Fast`; empty where that is none in particular."""
    model_type = str(config.get("model_type"))
    if model_type in AS_IT_IS or (model_type in OF_CODE and config.get("auto_map")):
        return ""
    if model_type in IN_ANY_CASE:
        return IN_ANY_CASE[model_type]
    found = named.get("tokenizer_class") or config.get("tokenizer_class") or BY_MODEL_TYPE.get(model_type, "")
    return str(found).removesuffix("Fast")


def _bert(named: Mapping[str, Any], content: Json) -> Json:
    """BERT and similar models: lower case by default; accents are stripped where case is, by default."""
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": _switch(named, "tokenize_chinese_chars", default=True) is not False,
        "strip_accents": _switch(named, "strip_accents", default=None),
        "lowercase": _switch(named, "do_lower_case", default=True) is not False,
    }
    unknown = token_text(named.get("unk_token")) or "[UNK]"
    if unknown not in content["model"]["vocab"]:
        raise CheckpointError(
            f"tokenizer_config.json has unk_token {named.get('unk_token')!r}, and tokenizer.json no {unknown!r}"
        )
    model = _model(content, unk_token=unknown, continuing_subword_prefix="##", max_input_chars_per_word=100)
    return {"normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"}, **model}


def _roberta(named: Mapping[str, Any], content: Json) -> Json:
    return {"normalizer": None, "pre_tokenizer": _byte_level(named, content, use_regex=True), **_bpe(content)}


def _camembert(named: Mapping[str, Any], content: Json) -> Json:
    unknown = token_text(named.get("unk_token")) or "<unk>"
    unk_id = next((i for i, (piece, _) in enumerate(content["model"]["vocab"]) if piece == unknown), 0)
    return _sentence_piece(named, content, unk_id)


def _sentence_piece(named: Mapping[str, Any], content: Json, unk_id: int, scheme: str = "") -> Json:
    """Of the normalizer only SentencePiece's table stays; a `scheme` stands for `PREFIX`, which says it otherwise."""
    scheme = scheme or _prefix_scheme(named, "never")
    own = content.get("normalizer") or {}
    steps = own.get("normalizers", [own])
    table = next((step for step in steps if step.get("type") == "Precompiled"), None)
    splitters = [{"type": "WhitespaceSplit"}, _metaspace(scheme)]
    model = _model(content, unk_id=unk_id, byte_fallback=False)
    return {"normalizer": table, "pre_tokenizer": {"type": "Sequence", "pretokenizers": splitters}, **model}


def _deberta_v2(named: Mapping[str, Any], content: Json) -> Json:
    """Not even SentencePiece's table stays."""
    unknown, vocab = [token_text(named.get("unk_token")) or "[UNK]", 0.0], content["model"]["vocab"]
    steps: list[Json] = [
        {"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}, "content": " "},
        {"type": "NFC"},
        {"type": "Strip", "strip_left": False, "strip_right": True},
    ]
    if _switch(named, "do_lower_case", default=False):
        steps.insert(0, {"type": "Lowercase"})
    splitters = [_metaspace(_prefix_scheme(named, "first"))]
    if _switch(named, "split_by_punct", default=False):
        splitters.insert(0, {"type": "Punctuation", "behavior": "Isolated"})
    return {
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": splitters},
        **_model(content, unk_id=vocab.index(unknown) if unknown in vocab else 1, byte_fallback=False),
    }


def _prefix_scheme(named: Mapping[str, Any], without: str) -> str:
    return "always" if _switch(named, PREFIX, default=True) else without


def _gemma(named: Mapping[str, Any], content: Json) -> Json:
    unknown = token_text(named.get("unk_token")) or "<unk>"
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    blanks = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    model = _bpe(content, unk_token=unknown, fuse_unk=True, byte_fallback=True)
    return {"normalizer": blanks, "pre_tokenizer": split, **model}


def _llama(named: Mapping[str, Any], content: Json) -> Json:
    legacy = _switch(named, "legacy", default=False)
    scheme = ("always" if legacy else "first") if _switch(named, PREFIX, default=None) is not False else "never"
    model = _bpe(content, fuse_unk=True, byte_fallback=True)
    return {"normalizer": None, "pre_tokenizer": _metaspace(scheme) | {"split": False}, **model}


def _qwen2(named: Mapping[str, Any], content: Json, pattern: str = QWEN_SPLIT) -> Json:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    steps = [split, _byte_level(named, content, use_regex=False)]
    pre_tokenizer = {"type": "Sequence", "pretokenizers": steps}
    return {"normalizer": {"type": "NFC"}, "pre_tokenizer": pre_tokenizer, **_bpe(content)}


def _bpe(content: Json, *, unk_token: str | None = None, fuse_unk: bool = False, byte_fallback: bool = False) -> Json:
    alike = {"dropout": None, "ignore_merges": False, "continuing_subword_prefix": "", "end_of_word_suffix": ""}
    return _model(content, unk_token=unk_token, fuse_unk=fuse_unk, byte_fallback=byte_fallback, **alike)


def _model(content: Json, **wanted: object) -> Json:
    """The model with these options; empty where it has them, an empty one or none at all alike."""
    model = content["model"]
    defaults = {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100} if "unk_id" not in model else {}
    changes = {key: one for key, one in wanted.items() if (model.get(key, defaults.get(key)) or None) != (one or None)}
    return {"model": model | changes} if changes else {}


def _byte_level(named: Mapping[str, Any], content: Json, *, use_regex: bool) -> Json:
    """`trim_offsets` stays as the file has it: it changes no id, and most files then need no building."""
    splitter = content.get("pre_tokenizer") or {}
    steps = [step for step in splitter.get("pretokenizers", [splitter]) if step.get("type") == "ByteLevel"]
    trims = steps[0].get("trim_offsets", True) if steps else True
    blank = _switch(named, PREFIX, default=None) is True
    return {"type": "ByteLevel", PREFIX: blank, "trim_offsets": trims, "use_regex": use_regex}


def _metaspace(scheme: str) -> Json:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True}


def _switch(named: Mapping[str, Any], key: str, *, default: bool | None) -> bool | None:
    value = named.get(key, default)
    if value is not None and not isinstance(value, bool):
        raise CheckpointError(f"tokenizer_config.json has {key} {value!r}; true, false or null is needed")
    return value


_CLASSES: Mapping[str, tuple[str, Callable[[Mapping[str, Any], Json], Json]]] = {
    **dict.fromkeys(
        ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer", "MPNetTokenizer"),
        ("WordPiece", _bert),
    ),
    "RobertaTokenizer": ("BPE", _roberta),
    "CamembertTokenizer": ("Unigram", _camembert),
    "DebertaV2Tokenizer": ("Unigram", _deberta_v2),
    "T5Tokenizer": ("Unigram", partial(_sentence_piece, unk_id=2, scheme="always")),
    "XLMRobertaTokenizer": ("Unigram", partial(_sentence_piece, unk_id=3)),
    "GemmaTokenizer": ("BPE", _gemma),
    "LlamaTokenizer": ("BPE", _llama),
    "Qwen2Tokenizer": ("BPE", _qwen2),
    "Qwen3_5Tokenizer": ("BPE", partial(_qwen2, pattern=QWEN3_5_SPLIT)),
}
"""By class: the kind of tokenizer.json's model that it takes, and what it builds anew."""
