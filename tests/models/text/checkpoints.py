"""Small random checkpoints of every text family, saved as sentence-transformers saves them.

The weights are random, norms and biases included, so that no path of a forward can hide behind a zero or a one.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer
from transformers import (
    AutoModel,
    BertConfig,
    CamembertConfig,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    EuroBertConfig,
    Gemma3TextConfig,
    GteConfig,
    JinaEmbeddingsV3Config,
    LlamaConfig,
    MistralConfig,
    ModernBertConfig,
    MPNetConfig,
    NomicBertConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    RobertaConfig,
    T5Config,
    T5EncoderModel,
    XLMRobertaConfig,
)

from tests.models.folders.edits import Edit
from tests.models.text.decoders import DECODERS, as_own_code
from tests.models.text.tokenizers import byte_fallback, byte_level, unigram, word_piece

BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 1024,
}


@dataclass(frozen=True)
class Recipe:
    """Recipe of one checkpoint.

    Attributes:
        config: sizes and kind of the transformer, but for its vocabulary.
        tokenizer: makes its tokenizer.
        names: special tokens by their name in transformers.
        pooling: mode as sentence-transformers calls it.
        dense: sizes after the transformer's.
        normalize: whether it ends in a Normalize module.
        prompts: named prefixes.
        default_prompt_name: the one that is always used.
        max_seq_length: longest prompt.
        released: changes to the files, to those of the hub.
        kind: class of the transformer; None: the one that AutoModel takes.
    """

    config: Callable[[dict[str, Any]], PreTrainedConfig]
    tokenizer: Callable[[], Tokenizer]
    names: dict[str, str]
    pooling: str = "mean"
    dense: Sequence[int] = ()
    normalize: bool = True
    prompts: dict[str, str] = field(default_factory=dict)
    default_prompt_name: str | None = None
    max_seq_length: int = 512
    released: Sequence[Edit] = ()
    kind: type[PreTrainedModel] | None = None


def bert_names(tokens: list[str]) -> dict[str, str]:
    return dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), tokens, strict=True))


ROBERTA_NAMES = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
QWEN_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
LLAMA_TOKENS = ["<|begin_of_text|>", "<|end_of_text|>"]
LLAMA_NAMES = {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>", "pad_token": "<|end_of_text|>"}
T5_TOKENS = ["<pad>", "</s>", "<unk>"]
T5_NAMES = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
GEMMA_TOKENS = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
GEMMA_NAMES = {"pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>", "unk_token": "<unk>"}

RECIPES: dict[str, Recipe] = {
    "bert": Recipe(
        lambda sizes: BertConfig(**sizes, hidden_act="gelu"),
        lambda: word_piece(BERT_TOKENS, "[CLS]", "[SEP]"),
        bert_names(BERT_TOKENS),
        pooling="cls",
        prompts={"query": "Represent this sentence for searching relevant passages: "},
    ),
    "xlm_roberta": Recipe(
        lambda sizes: XLMRobertaConfig(**sizes, type_vocab_size=1, pad_token_id=1),
        lambda: unigram(ROBERTA_TOKENS, "<s>", "</s>"),
        ROBERTA_NAMES,
        prompts={"query": "query: ", "passage": "passage: "},
    ),
    "roberta": Recipe(
        lambda sizes: RobertaConfig(**sizes, type_vocab_size=1, pad_token_id=1),
        lambda: byte_level(ROBERTA_TOKENS, "<s>", "</s>"),
        ROBERTA_NAMES,
    ),
    "camembert": Recipe(
        lambda sizes: CamembertConfig(**sizes, type_vocab_size=1, pad_token_id=1),
        lambda: unigram(ROBERTA_TOKENS, "<s>", "</s>"),
        ROBERTA_NAMES,
    ),
    "electra": Recipe(
        lambda sizes: ElectraConfig(**sizes, embedding_size=16),
        lambda: word_piece(BERT_TOKENS, "[CLS]", "[SEP]"),
        bert_names(BERT_TOKENS),
    ),
    "deberta": Recipe(  # as v3 was released
        lambda sizes: DebertaV2Config(
            **sizes,
            relative_attention=True,
            position_biased_input=False,
            position_buckets=16,
            norm_rel_ebd="layer_norm",
            share_att_key=True,
            pos_att_type="p2c|c2p",
        ),
        lambda: unigram(BERT_TOKENS, "[CLS]", "[SEP]"),
        bert_names(BERT_TOKENS),
    ),
    "deberta_v2_conv": Recipe(  # as v2-xlarge was released: a convolution beside the first layer
        lambda sizes: DebertaV2Config(
            **sizes,
            relative_attention=True,
            position_biased_input=False,
            position_buckets=16,
            norm_rel_ebd="layer_norm",
            conv_kernel_size=3,
            conv_act="gelu",
            share_att_key=True,
            pos_att_type=["p2c", "c2p"],
        ),
        lambda: unigram(BERT_TOKENS, "[CLS]", "[SEP]"),
        bert_names(BERT_TOKENS),
    ),
    "t5": Recipe(
        lambda sizes: T5Config(vocab_size=sizes["vocab_size"], d_model=32, d_kv=8, d_ff=48, num_layers=3, num_heads=4),
        lambda: unigram(T5_TOKENS, None, "</s>"),
        T5_NAMES,
        dense=(32,),
        kind=T5EncoderModel,
    ),
    "mpnet": Recipe(
        lambda sizes: MPNetConfig(**sizes, pad_token_id=1),
        lambda: word_piece(ROBERTA_TOKENS, "<s>", "</s>"),
        ROBERTA_NAMES,
        normalize=False,
    ),
    "modernbert": Recipe(
        lambda sizes: ModernBertConfig(**sizes, local_attention=32, pad_token_id=0, cls_token_id=2, sep_token_id=3),
        lambda: byte_level(BERT_TOKENS, "[CLS]", "[SEP]"),
        bert_names(BERT_TOKENS),
    ),
    "nomic_bert": Recipe(
        lambda sizes: NomicBertConfig(**sizes, hidden_act="silu"),
        lambda: word_piece(BERT_TOKENS, "[CLS]", "[SEP]"),
        bert_names(BERT_TOKENS),
        prompts={"search_query": "search_query: ", "search_document": "search_document: "},
    ),
    "qwen3": Recipe(
        lambda sizes: Qwen3Config(**sizes, num_key_value_heads=2, head_dim=16, pad_token_id=0, eos_token_id=0),
        lambda: byte_level(QWEN_TOKENS, None, "<|endoftext|>"),
        {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
        pooling="lasttoken",
        prompts={"query": "Instruct: Given a web search query, retrieve passages\nQuery:", "document": ""},
    ),
    "gemma3_text": Recipe(
        lambda sizes: Gemma3TextConfig(
            **sizes,
            num_key_value_heads=1,
            head_dim=16,
            query_pre_attn_scalar=16,
            sliding_window=33,
            use_bidirectional_attention=True,
            layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        ),
        lambda: byte_fallback(GEMMA_TOKENS, "<bos>", "<eos>"),
        GEMMA_NAMES,
        dense=(64, 32),
        prompts={"query": "task: search result | query: ", "document": "title: none | text: "},
    ),
    "llama": Recipe(
        lambda sizes: LlamaConfig(**sizes, num_key_value_heads=2, is_causal=False, pad_token_id=1),
        lambda: byte_level(LLAMA_TOKENS, "<|begin_of_text|>", None, composes=False),
        LLAMA_NAMES,
    ),
    "mistral": Recipe(
        lambda sizes: MistralConfig(**sizes, num_key_value_heads=2, head_dim=8, sliding_window=24),
        lambda: byte_level(LLAMA_TOKENS, "<|begin_of_text|>", "<|end_of_text|>", composes=False),
        LLAMA_NAMES,
        pooling="lasttoken",
        prompts={"query": "Instruct: Given a question, find its answer\nQuery: "},
    ),
    "eurobert": Recipe(
        lambda sizes: EuroBertConfig(**sizes, num_key_value_heads=2, pad_token_id=1, mask_token_id=2),
        lambda: byte_level([*LLAMA_TOKENS, "<|mask|>"], "<|begin_of_text|>", "<|end_of_text|>", composes=False),
        LLAMA_NAMES,
    ),
    "gte": Recipe(
        lambda sizes: GteConfig(**sizes, type_vocab_size=1, pad_token_id=1),
        lambda: unigram(ROBERTA_TOKENS, "<s>", "</s>"),
        ROBERTA_NAMES,
        pooling="cls",
    ),
    "jina_embeddings_v3": Recipe(
        lambda sizes: JinaEmbeddingsV3Config(**sizes, type_vocab_size=1, pad_token_id=1),
        lambda: unigram(ROBERTA_TOKENS, "<s>", "</s>"),
        ROBERTA_NAMES,
    ),
    "distilbert": Recipe(
        lambda sizes: DistilBertConfig(**sizes, hidden_dim=48),
        lambda: word_piece(BERT_TOKENS, "[CLS]", "[SEP]"),
        bert_names(BERT_TOKENS),
    ),
    **{name: Recipe(**arguments) for name, arguments in DECODERS.items()},
}
"""By the name of the family's page."""


def make_checkpoint(name: str, folder: Path) -> Path:
    """Write the checkpoint of a family.

    Args:
        name: one of `RECIPES`.
        folder: where to write; it is made, and one beside it with the transformer alone.
    """
    made = Path(PLACE.name) / name
    if MADE.get(name) is not RECIPES[name]:
        shutil.rmtree(made, ignore_errors=True)
        MADE[name] = RECIPES[name]
        _make(MADE[name], made / "checkpoint", made / "stock")
    shutil.copytree(made / "checkpoint", folder, dirs_exist_ok=True)
    shutil.copytree(made / "stock", folder.parent / f"{folder.name}-stock", dirs_exist_ok=True)
    return folder


PLACE = TemporaryDirectory(prefix="checkpoints-")
MADE: dict[str, Recipe] = {}
"""Recipes whose checkpoints are there: many tests ask for the same."""


def _make(recipe: Recipe, folder: Path, stock: Path) -> None:
    tokenizer = recipe.tokenizer()
    torch.manual_seed(20261121)
    config = recipe.config(SIZES | {"vocab_size": tokenizer.get_vocab_size()})
    model = AutoModel.from_config(config) if recipe.kind is None else recipe.kind(config)
    randomize(model)
    model.save_pretrained(stock)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **recipe.names).save_pretrained(stock)
    sentence_transformer(recipe, stock, SIZES["hidden_size"]).save_pretrained(str(folder))
    for edit in recipe.released:
        edit(folder)


def randomize(model: torch.nn.Module) -> None:
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.15)


def sentence_transformer(recipe: Recipe, stock: Path, width: int) -> SentenceTransformer:
    """The recipe's modules around a saved transformer.

    Args:
        recipe: says which.
        stock: folder of the transformer and its tokenizer.
        width: of a hidden state.
    """
    transformer = Transformer(str(stock), max_seq_length=recipe.max_seq_length)
    modules: list[torch.nn.Module] = [transformer, Pooling(width, recipe.pooling)]
    for index, out in enumerate(recipe.dense):
        activation = torch.nn.Identity() if index else torch.nn.Tanh()
        modules.append(Dense(width, out, bias=bool(index), activation_function=activation))
        width = out
    if recipe.normalize:
        modules.append(Normalize())
    return SentenceTransformer(
        modules=modules, prompts=recipe.prompts, default_prompt_name=recipe.default_prompt_name, device="cpu"
    )


def reference(folder: Path) -> SentenceTransformer:
    """sentence-transformers on a checkpoint: padded batches, its own pooling; plain attention where masks decide."""
    model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager"})
    as_own_code(model, folder)
    return model
