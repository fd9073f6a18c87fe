"""Small random checkpoints of text rerankers, saved as transformers saves them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import CrossEncoder
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling
from tokenizers import Tokenizer
from tokenizers.processors import BertProcessing, RobertaProcessing, TemplateProcessing
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    BertConfig,
    CamembertConfig,
    DebertaV2Config,
    ElectraConfig,
    GteConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from tests.models.text.checkpoints import (
    BERT_TOKENS,
    LLAMA_TOKENS,
    QWEN_TOKENS,
    ROBERTA_NAMES,
    ROBERTA_TOKENS,
    SIZES,
    bert_names,
    randomize,
)
from tests.models.text.checkpoints import RECIPES as RECIPES_OF_TEXTS
from tests.models.text.tokenizers import byte_level, unigram, word_piece

IDENTITY = "torch.nn.modules.linear.Identity"
MAX_TOKENS = 200


@dataclass(frozen=True)
class Recipe:
    """Recipe of one cross-encoder.

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


def _mpnet() -> Tokenizer:
    return _paired(word_piece(ROBERTA_TOKENS, "<s>", "</s>"), "<s> $A </s>", "<s> $A </s> </s> $B </s>")


def _deberta() -> Tokenizer:
    tokenizer = unigram(BERT_TOKENS, "[CLS]", "[SEP]")
    return _paired(tokenizer, "[CLS] $A [SEP]", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1")


def _deberta_config(sizes: dict[str, Any], num_types: int = 0) -> PreTrainedConfig:
    """mxbai-rerank-v1's, whose positions are relative, in buckets."""
    return DebertaV2Config(
        **sizes,
        type_vocab_size=num_types,
        relative_attention=True,
        position_buckets=16,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=num_types > 0,
        pooler_hidden_size=sizes["hidden_size"],
    )


def _euro() -> Tokenizer:
    head, tail = LLAMA_TOKENS
    tokenizer = byte_level([*LLAMA_TOKENS, "<|mask|>"], head, tail, composes=False)
    return _paired(tokenizer, f"{head} $A {tail}", f"{head} $A {tail} {head} $B {tail}")


def _modernbert(pooling: str) -> Recipe:
    base = RECIPES_OF_TEXTS["modernbert"]

    def config(sizes: dict[str, Any]) -> PreTrainedConfig:
        made = base.config(sizes)
        made.classifier_pooling, made.classifier_bias = pooling, pooling == "mean"
        return made

    return Recipe(config, _modern, base.names)


def _paired_family(name: str, tokenizer: Callable[[], Tokenizer], **more: Any) -> Recipe:
    """A family of text models, whose tokenizer puts pairs together."""
    base = RECIPES_OF_TEXTS[name]
    return Recipe(base.config, tokenizer, base.names, **more)


TYPED = ("input_ids", "token_type_ids", "attention_mask")
SAVED = {"sentence_transformers": {"activation_fn": IDENTITY, "version": "4.1.0"}}
RECIPES: dict[str, Recipe] = {
    "bert": _paired_family("bert", _word_piece, more=SAVED, inputs=TYPED),
    "bert_older": Recipe(
        lambda sizes: BertConfig(**sizes, hidden_act="relu"),
        _word_piece,
        bert_names(BERT_TOKENS),
        {"sbert_ce_default_activation_function": IDENTITY},
        TYPED,
    ),
    "xlm_roberta": _paired_family("xlm_roberta", _unigram),
    "roberta": _paired_family("roberta", _roberta),
    "modernbert_cls": _modernbert("cls"),
    "modernbert_mean": _modernbert("mean"),
    "distilbert": _paired_family("distilbert", _word_piece),
    "mpnet": _paired_family("mpnet", _mpnet),
    "gte": _paired_family("gte", _unigram),
    "gte_typed": Recipe(
        lambda sizes: GteConfig(**sizes, type_vocab_size=2, pad_token_id=0),
        _word_piece,
        bert_names(BERT_TOKENS),
        inputs=TYPED,
    ),
    "nomic_bert": _paired_family("nomic_bert", _word_piece, inputs=TYPED),
    "jina_embeddings_v3": _paired_family("jina_embeddings_v3", _unigram),
    "eurobert": _paired_family("eurobert", _euro),
    "camembert": Recipe(
        lambda sizes: CamembertConfig(**sizes, type_vocab_size=1, pad_token_id=1), _unigram, ROBERTA_NAMES
    ),
    "deberta_v2": Recipe(_deberta_config, _deberta, bert_names(BERT_TOKENS), inputs=TYPED),
    "deberta_typed": Recipe(partial(_deberta_config, num_types=2), _deberta, bert_names(BERT_TOKENS), inputs=TYPED),
    "electra": Recipe(
        lambda sizes: ElectraConfig(**sizes, embedding_size=24), _word_piece, bert_names(BERT_TOKENS), inputs=TYPED
    ),
}


def make_cross_encoder(name: str, folder: Path, auto: Any = AutoModelForSequenceClassification) -> Path:
    """Write a checkpoint of `RECIPES`; with `AutoModel` one without a head."""
    recipe = RECIPES[name]
    tokenizer = recipe.tokenizer()
    torch.manual_seed(20261123)
    config = recipe.config(SIZES | {"vocab_size": tokenizer.get_vocab_size()})
    config.num_labels = 1
    model = auto.from_config(config)
    randomize(model)
    model.save_pretrained(folder)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=MAX_TOKENS, model_input_names=list(recipe.inputs), **recipe.names
    )
    wrapped.save_pretrained(folder)
    change_config(folder, **recipe.more)
    return folder


def make_modular(name: str, folder: Path, pooling: str = "cls") -> Path:
    """Write a cross-encoder in ettin-reranker's modules, as sentence-transformers saves it."""
    stock, width = make_cross_encoder(name, folder.parent / f"{folder.name}-stock", AutoModel), SIZES["hidden_size"]
    head = [
        Dense(width, width, bias=False, activation_function=torch.nn.GELU()),
        LayerNorm(width),
        Dense(width, 1, activation_function=torch.nn.Identity(), module_output_name="scores"),
    ]
    for module in head:
        randomize(module)
    modules = [Transformer(str(stock)), Pooling(width, pooling), *head]
    CrossEncoder(modules=modules, device="cpu").save_pretrained(str(folder))
    return folder


def change_config(folder: Path, **keys: Any) -> None:
    """Set keys of config.json."""
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | keys))


QWEN3_RERANKER = """<|im_start|>system
Judge whether the Document meets the requirements based on the Query and the Instruct provided. \
Note that the answer can only be "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: {{ messages | selectattr("role", "eq", "system") | map(attribute="content") | first \
| default("Given a web search query, retrieve relevant passages that answer the query", true) }}
<Query>: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
<Document>: {{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}<|im_end|>
<|im_start|>assistant
<think>

</think>


"""
"""Its chat template: Jinja drops the last line end."""


def make_judge(folder: Path, *, is_tied: bool, template: str | None = None) -> Path:
    """Write a checkpoint in the shape of Qwen3-Reranker, or without a template of a language model.

    Args:
        template: of its chat, in a file of its own.
    """
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
    if template is not None:
        (folder / "chat_template.jinja").write_text(template)
    return folder
