"""Small random checkpoints of text rerankers, saved as transformers saves them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.processors import BertProcessing, RobertaProcessing, TemplateProcessing
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    ModernBertConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    RobertaConfig,
    XLMRobertaConfig,
)

from tests.models.text.checkpoints import (
    BERT_TOKENS,
    QWEN_TOKENS,
    ROBERTA_NAMES,
    ROBERTA_TOKENS,
    SIZES,
    bert_names,
    randomize,
)
from tests.models.text.tokenizers import byte_level, unigram, word_piece

IDENTITY = "torch.nn.modules.linear.Identity"
MAX_TOKENS = 200


@dataclass(frozen=True)
class Recipe:
    """How to make one cross-encoder.

    Attributes:
        config: sizes and kind, but for the vocabulary.
        tokenizer: makes its tokenizer, pairs included.
        names: special tokens by their name in transformers.
        more: keys of config.json.
        inputs: what its tokenizer gives.
    """

    config: Callable[[dict[str, Any]], PreTrainedConfig]
    tokenizer: Callable[[], Tokenizer]
    names: dict[str, str]
    more: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ("input_ids", "attention_mask")


def _paired(tokenizer: Tokenizer, single: str, pair: str) -> Tokenizer:
    ids = [(token, tokenizer.token_to_id(token)) for token in {*single.split(), *pair.split()} if "$" not in token]
    specials = [(token.partition(":")[0], token_id) for token, token_id in ids if token_id is not None]
    tokenizer.post_processor = TemplateProcessing(single=single, pair=pair, special_tokens=specials)
    return tokenizer


def _word_piece() -> Tokenizer:
    """With the post-processor of BERT's older files."""
    tokenizer = word_piece(BERT_TOKENS, "[CLS]", "[SEP]")
    cls, sep = ((token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = BertProcessing(sep, cls)
    return tokenizer


def _unigram() -> Tokenizer:
    tokenizer = unigram(ROBERTA_TOKENS, "<s>", "</s>")
    return _paired(tokenizer, "<s> $A </s>", "<s> $A </s> </s> $B </s>")


def _roberta() -> Tokenizer:
    tokenizer = byte_level(ROBERTA_TOKENS, "<s>", "</s>")
    head, tail = ((token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>"))
    tokenizer.post_processor = RobertaProcessing(tail, head, trim_offsets=True, add_prefix_space=False)
    return tokenizer


def _modern() -> Tokenizer:
    tokenizer = byte_level(BERT_TOKENS, "[CLS]", "[SEP]")
    return _paired(tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]")


def _modernbert(pooling: str) -> Recipe:
    return Recipe(
        lambda sizes: ModernBertConfig(
            **sizes,
            local_attention=32,
            pad_token_id=0,
            cls_token_id=2,
            sep_token_id=3,
            classifier_pooling=pooling,
            classifier_bias=pooling == "mean",
        ),
        _modern,
        bert_names(BERT_TOKENS),
    )


TYPED = ("input_ids", "token_type_ids", "attention_mask")
RECIPES: dict[str, Recipe] = {
    "bert": Recipe(
        lambda sizes: BertConfig(**sizes, hidden_act="gelu"),
        _word_piece,
        bert_names(BERT_TOKENS),
        {"sentence_transformers": {"activation_fn": IDENTITY, "version": "4.1.0"}},
        TYPED,
    ),
    "bert_older": Recipe(
        lambda sizes: BertConfig(**sizes, hidden_act="relu"),
        _word_piece,
        bert_names(BERT_TOKENS),
        {"sbert_ce_default_activation_function": IDENTITY},
        TYPED,
    ),
    "xlm_roberta": Recipe(
        lambda sizes: XLMRobertaConfig(**sizes, type_vocab_size=1, pad_token_id=1), _unigram, ROBERTA_NAMES
    ),
    "roberta": Recipe(lambda sizes: RobertaConfig(**sizes, type_vocab_size=1, pad_token_id=1), _roberta, ROBERTA_NAMES),
    "modernbert_cls": _modernbert("cls"),
    "modernbert_mean": _modernbert("mean"),
}


def make_cross_encoder(name: str, folder: Path) -> Path:
    """Write a checkpoint of `RECIPES`."""
    recipe = RECIPES[name]
    tokenizer = recipe.tokenizer()
    torch.manual_seed(20261123)
    config = recipe.config(SIZES | {"vocab_size": tokenizer.get_vocab_size()})
    config.num_labels = 1
    model = AutoModelForSequenceClassification.from_config(config)
    randomize(model)
    model.save_pretrained(folder)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=MAX_TOKENS, model_input_names=list(recipe.inputs), **recipe.names
    )
    wrapped.save_pretrained(folder)
    change_config(folder, **recipe.more)
    return folder


def change_config(folder: Path, **keys: Any) -> None:
    """Set keys of config.json."""
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | keys))


def make_judge(folder: Path, *, is_tied: bool) -> Path:
    """Write a checkpoint in the shape of Qwen3-Reranker."""
    content = json.loads(byte_level(QWEN_TOKENS, None, None).to_str())
    vocab: dict[str, int] = content["model"]["vocab"]
    for word in ("yes", "no"):
        vocab[word] = len(vocab)
    content["post_processor"] = None
    tokenizer = Tokenizer.from_str(json.dumps(content))
    torch.manual_seed(20261123)
    sizes = SIZES | {"max_position_embeddings": 1 << 14, "vocab_size": tokenizer.get_vocab_size()}
    config = Qwen3Config(
        **sizes, num_key_value_heads=2, head_dim=16, pad_token_id=0, eos_token_id=0, tie_word_embeddings=is_tied
    )
    model = Qwen3ForCausalLM(config)
    randomize(model)
    model.save_pretrained(folder)
    names = {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=1 << 17, **names).save_pretrained(folder)
    return folder
