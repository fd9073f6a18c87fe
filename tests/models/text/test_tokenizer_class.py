"""tokenizer_config.json against tokenizer.json: the ids are those of the class that transformers takes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from transformers import AutoTokenizer
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import TYPES
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.tokenizer.tokenizer_class import _CLASSES, AS_IT_IS, class_name
from tests.models.text.checkpoints import (
    BERT_TOKENS,
    GEMMA_TOKENS,
    LLAMA_TOKENS,
    QWEN_TOKENS,
    ROBERTA_TOKENS,
    T5_TOKENS,
)
from tests.models.text.texts import TEXTS
from tests.models.text.tokenizers import byte_fallback, byte_level, unigram, word_piece

SAMPLES = (*TEXTS, "", " x", "École ÉCOLE ecole", "naïve快速 résumé", "a b", "a  b", "快速的棕色", "UPPER")


def word_pieces() -> Tokenizer:
    """Pieces of all cases and accents, so that what a normalizer leaves in place can be seen in the ids."""
    made = word_piece(BERT_TOKENS, "[CLS]", "[SEP]")
    content = json.loads(made.to_str())
    vocab = content["model"]["vocab"]
    for letter in "ÉÀéïôabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ快速的棕色":
        for piece in (letter, f"##{letter}"):
            vocab.setdefault(piece, len(vocab))
    return Tokenizer.from_str(json.dumps(content))


def mpnet() -> Tokenizer:
    return word_piece(ROBERTA_TOKENS, "<s>", "</s>")


def xlm_roberta() -> Tokenizer:
    return unigram(ROBERTA_TOKENS, "<s>", "</s>")


def camembert() -> Tokenizer:
    """`<unk>` is not third."""
    return unigram(["<s>", "<pad>", "</s>", "<mask>", "<unk>"], "<s>", "</s>")


def deberta() -> Tokenizer:
    return unigram(BERT_TOKENS, "[CLS]", "[SEP]")


def t5() -> Tokenizer:
    return unigram(T5_TOKENS, None, "</s>")


def gemma() -> Tokenizer:
    made = byte_fallback(GEMMA_TOKENS, "<bos>", "<eos>")
    made.normalizer = None  # the class has it
    return made


def roberta() -> Tokenizer:
    made = byte_level(ROBERTA_TOKENS, "<s>", "</s>", composes=False)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return made


def qwen() -> Tokenizer:
    return byte_level(QWEN_TOKENS, None, "<|endoftext|>")


def llama() -> Tokenizer:
    """Byte fallback with a blank in front, as SentencePiece's models of Llama were written before transformers 5."""
    made = byte_fallback(["<unk>", "<s>", "</s>"], "<s>", "</s>")
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.pre_tokenizer = None
    return made


def llama_3() -> Tokenizer:
    return byte_level(LLAMA_TOKENS, "<|begin_of_text|>", None, composes=False)


BERT_NAMED = {
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "bos_token": "[CLS]",
    "eos_token": "[SEP]",
    "pad_token": "[PAD]",
}
CASES: list[tuple[str, Callable[[], Tokenizer], dict[str, Any] | None]] = [
    ("bert", word_pieces, None),
    ("bert", word_pieces, {}),
    ("bert", word_pieces, {"tokenizer_class": "BertTokenizer"}),
    ("bert", word_pieces, {"tokenizer_class": "BertTokenizerFast", "do_lower_case": False}),
    ("bert", word_pieces, {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "strip_accents": False}),
    ("bert", word_pieces, {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": True}),
    ("bert", word_pieces, {"tokenizer_class": "BertTokenizer", "tokenize_chinese_chars": False}),
    ("bert", word_pieces, {"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": False}),
    ("bert", word_pieces, {"tokenizer_class": "DistilBertTokenizer", "strip_accents": False}),
    ("bert", word_pieces, BERT_NAMED | {"tokenizer_class": "MPNetTokenizer", "do_lower_case": False}),
    ("bert", xlm_roberta, {"tokenizer_class": "XLMRobertaTokenizer", "add_prefix_space": False}),
    ("distilbert", word_pieces, {"do_lower_case": False}),
    ("nomic_bert", word_pieces, {"tokenizer_class": "BertTokenizer", "strip_accents": False}),
    ("modernbert", word_pieces, {"tokenizer_class": "BertTokenizer", "do_lower_case": False}),
    ("mpnet", mpnet, {"tokenizer_class": "MPNetTokenizer", "do_lower_case": False, "unk_token": "<unk>"}),
    ("mpnet", mpnet, {"tokenizer_class": "MPNetTokenizer", "strip_accents": False, "unk_token": "<unk>"}),
    ("xlm-roberta", xlm_roberta, None),
    ("xlm-roberta", xlm_roberta, {"tokenizer_class": "XLMRobertaTokenizer"}),
    ("xlm-roberta", xlm_roberta, {"tokenizer_class": "XLMRobertaTokenizerFast", "add_prefix_space": False}),
    ("xlm-roberta", xlm_roberta, {"tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": False}),
    ("camembert", camembert, None),
    ("camembert", camembert, {"tokenizer_class": "CamembertTokenizerFast", "add_prefix_space": False}),
    ("electra", word_pieces, None),
    ("electra", word_pieces, {"tokenizer_class": "ElectraTokenizerFast", "do_lower_case": False}),
    ("deberta-v2", deberta, None),
    ("deberta-v2", deberta, {"tokenizer_class": "DebertaV2TokenizerFast", "do_lower_case": True}),
    ("deberta-v2", deberta, {"tokenizer_class": "DebertaV2Tokenizer", "split_by_punct": True}),
    ("deberta-v2", deberta, {"tokenizer_class": "DebertaV2Tokenizer", "add_prefix_space": False}),
    ("deberta-v2", deberta, {"tokenizer_class": "PreTrainedTokenizerFast", "split_by_punct": True}),
    ("t5", t5, None),
    ("t5", t5, {"tokenizer_class": "T5TokenizerFast", "extra_ids": 0}),
    ("gte", xlm_roberta, {"add_prefix_space": False}),
    ("roberta", roberta, {"tokenizer_class": "RobertaTokenizer"}),
    ("roberta", roberta, {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True}),
    ("clap", roberta, {"add_prefix_space": True}),
    ("qwen3", qwen, {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": True}),
    ("qwen3", qwen, {"tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": True}),
    ("qwen2", qwen, None),
    ("qwen2", qwen, {"tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": True}),
    ("qwen3_5_text", qwen, {"tokenizer_class": "Qwen3_5Tokenizer"}),
    ("qwen3_5_text", qwen, {"tokenizer_class": "PreTrainedTokenizerFast"}),
    ("lfm2", llama_3, {"tokenizer_class": "PreTrainedTokenizerFast"}),
    ("ministral3", llama_3, {"tokenizer_class": "LlamaTokenizerFast"}),
    ("gemma2", gemma, None),
    ("llama", llama, {"tokenizer_class": "LlamaTokenizer"}),
    ("llama", llama, {"tokenizer_class": "LlamaTokenizer", "add_prefix_space": False}),
    ("llama", llama, {"tokenizer_class": "LlamaTokenizer", "legacy": True}),
    ("llama", llama_3, {"tokenizer_class": "LlamaTokenizerFast", "add_prefix_space": True}),
    ("llama", llama_3, {"tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": True}),
    ("mistral", llama, {"tokenizer_class": "LlamaTokenizer", "add_prefix_space": False}),
    ("bert", word_pieces, {"tokenizer_class": "BertTokenizer", "cls_token": "[MASK]"}),
    ("bert", word_pieces, {"tokenizer_class": "BertTokenizer", "unk_token": "[PAD]", "do_lower_case": False}),
    ("bert", word_pieces, {"tokenizer_class": "PreTrainedTokenizerFast", "cls_token": "[MASK]"}),
    ("xlm-roberta", xlm_roberta, {"tokenizer_class": "XLMRobertaTokenizer", "eos_token": "<mask>"}),
    ("gemma3_text", gemma, {"tokenizer_class": "GemmaTokenizer"}),
    ("gemma3_text", gemma, None),
    ("gemma3_text", gemma, {"tokenizer_class": "PreTrainedTokenizerFast"}),
    ("eurobert", llama_3, {"tokenizer_class": "PreTrainedTokenizerFast"}),
]


@pytest.mark.parametrize(("model_type", "make", "named"), CASES)
def test_ids_are_those_of_transformers_class(
    tmp_path: Path, model_type: str, make: Callable[[], Tokenizer], named: dict[str, Any] | None
) -> None:
    written(tmp_path, model_type, make(), named)
    theirs, ours = AutoTokenizer.from_pretrained(tmp_path), PromptTokenizer(tmp_path)
    for text in SAMPLES:
        expected = theirs(text, add_special_tokens=False)["input_ids"]
        assert ours.encode(text).ids == expected, f"{text!r}: {theirs.convert_ids_to_tokens(expected)}"
        assert ours.encode_rendered(text) == theirs(text)["input_ids"]


@pytest.mark.parametrize("model_type", sorted({*TYPES} - {*AS_IT_IS}))
def test_a_model_type_means_the_class_that_it_means_to_transformers(model_type: str) -> None:
    """Of classes that build something anew; the others take tokenizer.json as it is."""
    theirs = TOKENIZER_MAPPING_NAMES.get(model_type)
    ours = class_name({"model_type": model_type}, {})
    assert ours == (theirs if theirs in _CLASSES else ""), "a line of BY_MODEL_TYPE is missing or wrong"


@pytest.mark.parametrize("key", ["do_lower_case", "strip_accents", "tokenize_chinese_chars"])
def test_a_switch_that_is_none_is_refused_by_name(tmp_path: Path, key: str) -> None:
    written(tmp_path, "bert", word_pieces(), {key: "no"})
    with pytest.raises(CheckpointError, match=rf"tokenizer_config\.json has {key} 'no'"):
        PromptTokenizer(tmp_path)


def written(folder: Path, model_type: str, made: Tokenizer, named: dict[str, Any] | None) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    made.save(str(folder / "tokenizer.json"))
    if named is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(named))
