"""Tokenizer.json as transformers' tokenizer classes read it: they build some of its parts anew.

In: the objects of config.json, tokenizer_config.json and tokenizer.json. Out: tokenizer.json as the class reads it. A
class keeps the vocabulary and takes how texts are normalized and split from its own arguments, which
tokenizer_config.json gives; where the two files disagree, tokenizer.json does not count. `PreTrainedTokenizerFast`
takes it as it is.

Source: transformers 5.23 `AutoTokenizer.from_pretrained`, `TokenizersBackend.convert_to_native_format` and the classes.
"""

from collections.abc import Callable, Mapping
from typing import Any

from service.checkpoint.errors import UnsupportedModelError

Json = dict[str, Any]

BY_MODEL_TYPE: Mapping[str, str] = {
    **dict.fromkeys(("bert", "chinese_clip", "distilbert", "nomic_bert"), "BertTokenizer"),
    **dict.fromkeys(("clap", "roberta"), "RobertaTokenizer"),
    **dict.fromkeys(("colqwen2", "qwen2_vl", "qwen2_5_vl", "qwen3", "qwen3_vl"), "Qwen2Tokenizer"),
    **dict.fromkeys(("gte", "jina_embeddings_v3", "metaclip_2", "xlm-roberta"), "XLMRobertaTokenizer"),
    "mpnet": "MPNetTokenizer",
}
"""The class of a model type where the files name none."""
PREFIX = "add_prefix_space"
"""Argument that puts a blank in front of a text."""
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pattern by which Qwen2's class splits texts."""
AS_IT_IS = ("mistral", "modernbert", "siglip2")
"""Model types whose tokenizer.json is taken as it is, whatever class is named."""


def as_its_class_reads(config: Mapping[str, Any], named: Mapping[str, Any], content: Json) -> Json:
    """tokenizer.json with the parts that its class builds anew.

    Args:
        config: of config.json; empty where there is none.
        named: of tokenizer_config.json; empty where there is none.

    Raises:
        UnsupportedModelError: an argument of the class is of another type than it takes.
    """
    name, kind = class_name(config, named), content["model"].get("type")
    if name == "LlamaTokenizer" and "ByteLevel" in str(content.get("pre_tokenizer")):
        return content
    model, parts = _CLASSES.get(name, ("", _unchanged))
    if not name or model != (kind or "WordPiece"):
        return content
    return content | parts(named, content)


def class_name(config: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    """The class that AutoTokenizer takes, without `Fast`; empty where that is none in particular."""
    model_type = str(config.get("model_type"))
    if model_type in AS_IT_IS:
        return ""
    found = named.get("tokenizer_class") or config.get("tokenizer_class") or BY_MODEL_TYPE.get(model_type, "")
    return str(found).removesuffix("Fast")


def _bert(named: Mapping[str, Any], _: Json) -> Json:
    """BERT and its likes: lower case by default; accents are stripped where case is, by default."""
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": _switch(named, "tokenize_chinese_chars", default=True) is not False,
        "strip_accents": _switch(named, "strip_accents", default=None),
        "lowercase": _switch(named, "do_lower_case", default=True) is not False,
    }
    return {"normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"}}


def _roberta(named: Mapping[str, Any], content: Json) -> Json:
    return {"normalizer": None, "pre_tokenizer": _byte_level(named, content, use_regex=True)}


def _xlm_roberta(named: Mapping[str, Any], content: Json) -> Json:
    """Of the normalizer only SentencePiece's table stays."""
    own = content.get("normalizer") or {}
    steps = own.get("normalizers", [own])
    table = next((step for step in steps if step.get("type") == "Precompiled"), None)
    scheme = "always" if _switch(named, PREFIX, default=True) else "never"
    splitters = [{"type": "WhitespaceSplit"}, _metaspace(scheme)]
    return {"normalizer": table, "pre_tokenizer": {"type": "Sequence", "pretokenizers": splitters}}


def _llama(named: Mapping[str, Any], _: Json) -> Json:
    legacy = _switch(named, "legacy", default=False)
    scheme = ("always" if legacy else "first") if _switch(named, PREFIX, default=None) is not False else "never"
    return {"normalizer": None, "pre_tokenizer": _metaspace(scheme) | {"split": False}}


def _qwen2(named: Mapping[str, Any], content: Json) -> Json:
    split = {"type": "Split", "pattern": {"Regex": QWEN_SPLIT}, "behavior": "Isolated", "invert": False}
    steps = [split, _byte_level(named, content, use_regex=False)]
    return {"normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}


def _unchanged(_: Mapping[str, Any], __: Json) -> Json:
    return {}


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
        raise UnsupportedModelError(f"tokenizer_config.json has {key} {value!r}; true, false or null is needed")
    return value


_CLASSES: Mapping[str, tuple[str, Callable[[Mapping[str, Any], Json], Json]]] = {
    **dict.fromkeys(
        ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer", "MPNetTokenizer"),
        ("WordPiece", _bert),
    ),
    "RobertaTokenizer": ("BPE", _roberta),
    "XLMRobertaTokenizer": ("Unigram", _xlm_roberta),
    "LlamaTokenizer": ("BPE", _llama),
    "Qwen2Tokenizer": ("BPE", _qwen2),
}
"""By class: the kind of tokenizer.json's model that it takes, and what it builds anew."""
