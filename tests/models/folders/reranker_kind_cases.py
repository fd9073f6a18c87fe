"""Architectures and modules that make a folder a reranker or none, whatever it is called."""

from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from tests.models.folders.edits import put, tensors, write
from tests.models.folders.reranker_bases import (
    INSTRUCTED,
    TRANSFORMER,
    ZERANK,
)
from tests.models.folders.reranker_case import (
    CONFIG,
    NAMES,
    TEMPLATE,
    TOKENIZER,
    WITH_ANSWER,
    Case,
    modules,
    saved,
)
from tests.models.reranker.checkpoints import QWEN3_RERANKER

CLASS = "sequence-classification"

BERT_PAIR = "[CLS]{{ messages[0].content }}[SEP]{{ messages[1].content }}[SEP]"
ONE_SEPARATOR = TemplateProcessing(
    single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
)


def joined_by_one(folder: Path) -> None:
    """A tokenizer.json that puts one separator between the texts of a pair."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = ONE_SEPARATOR
    tokenizer.save(str(folder / "tokenizer.json"))


ARCHITECTURES = [
    Case("BERT's class of tokenizer", "bert", [put(TOKENIZER, tokenizer_class="BertTokenizer")]),
    Case("XLM-R's class of tokenizer", "xlm_roberta", [put(TOKENIZER, tokenizer_class="XLMRobertaTokenizer")]),
    Case("one separator by the file alone", "xlm_roberta", [joined_by_one]),
    Case(
        "one separator, and a class that puts two",
        "xlm_roberta",
        [joined_by_one, put(TOKENIZER, tokenizer_class="XLMRobertaTokenizer")],
        r"tokenizer\.json puts other tokens around a pair than XLMRobertaTokenizer of tokenizer_config\.json",
    ),
    Case(
        "a flag for an end token",
        "llama classifier",
        [put(TOKENIZER, add_eos_token=True)],
        r"tokenizer\.json puts other tokens around a pair than its class of tokenizer_config\.json",
    ),
    Case(
        "padding on the left of BERT",
        "bert",
        [put(TOKENIZER, padding_side="left")],
        rf"{TOKENIZER} has padding_side 'left'",
    ),
    Case(
        "arguments of a file that is not read",
        "bert, saved",
        [
            put("config_sentence_transformers.json", model_type=None),
            put("sentence_bert_config.json", tokenizer_args={"do_lower_case": False}),
        ],
        r"sentence_bert_config\.json has arguments for the tokenizer",
    ),
    Case("BERT with a chat template, whose texts are of one type", "bert", [put(TOKENIZER, chat_template=BERT_PAIR)]),
    Case("BERT with a chat template, saved as texts", "bert, saved", [put(TOKENIZER, chat_template=BERT_PAIR)]),
    Case(
        "BERT with a chat template, saved as messages",
        "bert, saved",
        [write(TEMPLATE, BERT_PAIR), saved("sequence-classification")],
    ),
    Case(
        "a classifier without its head",
        "llama classifier",
        [tensors(**{"score.weight": None})],
        r"0 tensors called score\.weight",
    ),
    Case(
        "a classifier of two rows",
        "llama classifier",
        [tensors(**{"score.weight": torch.ones(2, 32)})],
        r"score\.weight in the shape \[2, 32\]",
    ),
    *(Case(f"a {name} classifier", f"{name} classifier") for name in ("llama", "mistral")),
    Case(
        "a Qwen3 classifier without a template",
        "qwen3 classifier",
        [],
        r"tokenizer\.json puts no token between two texts",
    ),
    Case("a Qwen3 classifier with Qwen3-Reranker's template", "qwen3 classifier", [write(TEMPLATE, QWEN3_RERANKER)]),
    Case(
        "a classifier with zerank's template, saved",
        "qwen3 classifier",
        [write(TEMPLATE, ZERANK), saved(CLASS, processing_kwargs=WITH_ANSWER)],
    ),
    Case(
        "a classifier with a chat template and saved as texts",
        "qwen3 classifier",
        [write(TEMPLATE, ZERANK), saved(CLASS, is_message=False)],
        r"puts no token between two texts",
    ),
    Case(
        "a classifier whose template is a chat's",
        "qwen3 classifier",
        [write(TEMPLATE, "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}<|im_end|>")],
        rf"{TEMPLATE} leaves out the query",
    ),
    Case(
        "a template that ends with the padding token",
        "qwen3 classifier",
        [write(TEMPLATE, INSTRUCTED + "<|endoftext|>")],
    ),
    Case("a Gemma classifier with a template", "gemma3_text classifier", [write(TEMPLATE, ZERANK + "<|im_start|>")]),
    Case("a bidirectional classifier", "llama classifier", [put(CONFIG, is_causal=False)]),
    Case(
        "texts that end with the padding token",
        "llama classifier",
        [put(CONFIG, pad_token_id=5)],
        r"config\.json has pad_token_id 5",
    ),
    Case("named as no reranker", "qwen3 classifier", [write(TEMPLATE, QWEN3_RERANKER)], folder="Qwen3-Embedding"),
    Case(
        "a class of its own",
        "bert",
        [put(CONFIG, architectures=["MyBertForSequenceClassification"])],
        r"config\.json has architectures \['MyBertForSequenceClassification'\]",
    ),
    Case(
        "jina-reranker-v3's architecture",
        "judge",
        [put(CONFIG, architectures=["JinaForRanking"], auto_map={"AutoModel": "m.J"})],
        r"config\.json has architectures \['JinaForRanking'\].*a reranker.*auto_map.*Supported rerankers",
        folder="jina-reranker-v3",
    ),
    Case(
        "jina-reranker-m0's architecture",
        "judge",
        [put(CONFIG, architectures=["JinaVLForRanking"], model_type="qwen2_vl")],
        r"config\.json has architectures \['JinaVLForRanking'\].*a reranker.*Supported rerankers",
    ),
    Case(
        "a classifier of an unknown type",
        "bert",
        [put(CONFIG, architectures=["DebertaV2ForSequenceClassification"], model_type="deberta-v2")],
        r"DebertaV2ForSequenceClassification'\].*model_type 'deberta-v2': a reranker",
    ),
    Case(
        "ettin's modules",
        "bert, saved",
        [
            put(CONFIG, architectures=["BertModel"]),
            modules(
                (TRANSFORMER, ""),
                ("sentence_transformers.sentence_transformer.modules.pooling.Pooling", "1_Pooling"),
                ("sentence_transformers.base.modules.dense.Dense", "2_Dense"),
            ),
        ],
        r"modules\.json has Transformer, Pooling, Dense, and .* has model_type 'CrossEncoder'.*a reranker",
    ),
    Case(
        "a cross-encoder without a classifier",
        "bert, saved",
        [put(CONFIG, architectures=["BertModel"])],
        rf"{NAMES} has model_type 'CrossEncoder'.*a reranker",
    ),
    Case(
        "a tensor that no module knows",
        "bert",
        [tensors(**{"bert.encoder.layer.0.mixer.Wqkv.weight": torch.ones(2, 2)})],
        r"1 tensors that its model does not know: bert\.encoder\.layer\.0\.mixer(?!.*unread_tensors)",
    ),
    Case(
        "a classifier's head in an encoder",
        "bert",
        [put(CONFIG, architectures=["BertModel"])],
        r"architectures \['BertModel'\].*classifier\.bias",
    ),
    Case(
        "a classifier's head without architectures",
        "bert",
        [put(CONFIG, architectures=None)],
        r"architectures None.*classifier\.bias",
    ),
]
