"""The checkpoints that the tables of folders change: small, random, in layouts of sentence-transformers and the hub."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

from service.checkpoint.hub import BUILTINS
from tests.models.audio.checkpoints import make_checkpoint as make_clap
from tests.models.folders.edits import Edit, put, write
from tests.models.images.checkpoints import make_checkpoint as make_images
from tests.models.late.checkpoints import colqwen2_5, colqwen3, colqwen3_5, hf_colqwen2_5, tomoro
from tests.models.late.colberts import SHAPES, native, pylate, stanford, stock
from tests.models.late.colmodernvbert_checkpoint import colmodernvbert
from tests.models.late.engine_checkpoints import colpali, colsmol, hf_colpali
from tests.models.late.sentence_pages import with_sentence_files
from tests.models.omni.checkpoints import make_checkpoint as make_omni
from tests.models.omni.thinker import make_thinker, with_modules
from tests.models.reranker.checkpoints import QWEN3_RERANKER, make_cross_encoder, make_judge, make_modular
from tests.models.reranker.test_qwen3_vl_files import TEMPLATE as QWEN3_VL_RERANKER
from tests.models.reranker.test_qwen3_vl_files import copied
from tests.models.sparse.checkpoints import inference_free, splade
from tests.models.static.checkpoints import FOLDERS
from tests.models.text.checkpoints import (
    GEMMA_NAMES,
    GEMMA_TOKENS,
    LLAMA_NAMES,
    QWEN_TOKENS,
    RECIPES,
    SIZES,
    make_checkpoint,
    randomize,
)
from tests.models.text.tokenizers import byte_fallback, byte_level, with_ends
from tests.models.two_tower.checkpoints import make_checkpoint as make_towers
from tests.models.vlm.checkpoints import qwen2_5_vl, qwen2_vl, wemm
from tests.models.vlm.mistral3 import embedder as mistral3_embedder
from tests.models.vlm.mistral3 import reranker as mistral3_reranker

NAMES, SETTINGS, CONFIG = "config_sentence_transformers.json", "sentence_bert_config.json", "config.json"
TOKENIZER, TEMPLATE, SCORE = "tokenizer_config.json", "chat_template.jinja", "1_LogitScore/config.json"
MODULES, PROCESSOR = "modules.json", "preprocessor_config.json"
LOGITS = {"method": "forward", "method_output_name": "logits"}
TRANSFORMER = "sentence_transformers.base.modules.transformer.Transformer"
DENSE = "sentence_transformers.base.modules.dense.Dense"
LOGIT_SCORE = "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"
IDENTITY, SIGMOID, TANH = (
    f"torch.nn.modules.{name}" for name in ("linear.Identity", "activation.Sigmoid", "activation.Tanh")
)
WITH_ANSWER = {"chat_template": {"add_generation_prompt": True}}
ZERANK = """{%- for message in messages -%}
{%- if message.role == "query" -%}
{{- "<|im_start|>system\\n" + (message.content | trim) + "<|im_end|>\\n" -}}
{%- elif message.role == "document" -%}
{{- "<|im_start|>user\\n" + (message.content | trim) + "<|im_end|>\\n" -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- "<|im_start|>assistant\\n" -}}
{%- endif -%}
"""
"""The query is a system turn, the document a user turn, both without white space at their ends."""
INSTRUCTED = """{%- set query = messages | selectattr("role", "eq", "query") | first -%}
{%- set document = messages | selectattr("role", "eq", "document") | first -%}
{%- for message in messages if message.role == "system" -%}<|im_start|>system
{{ message.content }}<|im_end|>
{% endfor -%}
<|im_start|>user
Q: {{ query.content }}
D: {{ document.content }}<|im_end|>
<|im_start|>assistant
"""
STRUCTURED = """<|im_start|>user
{{ (messages | selectattr("role", "eq", "query") | first).content[0].text }}<|im_end|>
<|im_start|>user
{{ (messages | selectattr("role", "eq", "document") | first).content[0].text }}<|im_end|>
<|im_start|>assistant
"""
MXBAI = """<|im_start|>system
You are a helpful assistant.<|im_end|>
<|im_start|>user
query: {{ (messages | selectattr("role", "eq", "query") | first).content }}
document: {{ (messages | selectattr("role", "eq", "document") | first).content }}
You are a search relevance expert: give your binary relevance judgment (0 for not relevant, 1 for relevant).
Relevance:<|im_end|>
<|im_start|>assistant
"""
"""mxbai-rerank-v2's: words stand after the document, which is cut before them."""
BGE = """{{ bos_token }}A: {{ (messages | selectattr("role", "eq", "query") | first).content }}
B: {{ (messages | selectattr("role", "eq", "document") | first).content }}
Given a query A and a passage B, determine whether the passage contains an answer: 'Yes' or 'No'."""
"""bge-reranker-v2-gemma's as a chat template."""
CTXL = """Check whether a given document contains information helpful to answer the query.
<Document> {{ (messages | selectattr("role", "eq", "document") | first).content }}
<Query> {{ (messages | selectattr("role", "eq", "query") | first).content \
}}{% for message in messages if message.role == "system" %} {{ message.content }}{% endfor %} ??"""
"""ctxl-rerank-v2's: the query stands behind the document."""
QWEN_NAMES = {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}


def saved(
    task: str = "text-generation", activation: str = IDENTITY, *, is_message: bool = True, **settings: Any
) -> Edit:
    """The files that sentence-transformers 5.4 and later write beside transformers' for a cross-encoder."""

    def edit(folder: Path) -> None:
        kinds = {"text": LOGITS} | ({"message": LOGITS | {"format": "flat"}} if is_message else {})
        modules = [{"idx": 0, "name": "0", "path": "", "type": TRANSFORMER}]
        if task == "text-generation":
            modules.append({"idx": 1, "name": "1", "path": "1_LogitScore", "type": LOGIT_SCORE})
        output = "causal_logits" if task == "text-generation" else "scores"
        write(MODULES, modules)(folder)
        names = {"model_type": "CrossEncoder", "activation_fn": activation, "prompts": {}, "default_prompt_name": None}
        write(NAMES, names)(folder)
        own = {"transformer_task": task, "modality_config": kinds, "module_output_name": output} | settings
        write(SETTINGS, own)(folder)

    return edit


def template(**variables: object) -> Edit:
    """Variables of a reranker's chat template."""
    return put(SETTINGS, processing_kwargs={"chat_template": variables})


def _saved(name: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        make_cross_encoder(name, folder)
        saved("sequence-classification", is_message=False)(folder)

    return make


def _judge(folder: Path) -> None:
    """zerank's form."""
    make_judge(folder, is_tied=True, template=ZERANK)
    saved(processing_kwargs=WITH_ANSWER)(folder)
    write(SCORE, {"true_token_id": 300, "false_token_id": None})(folder)


def _decoder(model_type: str, *, is_generator: bool = False) -> Callable[[Path], None]:
    """A decoder with a classifier's head, or a language model's."""
    config, tokenizer, names = DECODERS[model_type]

    def make(folder: Path) -> None:
        made = tokenizer()
        torch.manual_seed(20261126)
        auto = AutoModelForCausalLM if is_generator else AutoModelForSequenceClassification
        configured = config(SIZES | {"vocab_size": made.get_vocab_size()})
        if not is_generator:
            configured.num_labels = 1
        model = auto.from_config(configured)
        randomize(model)
        model.save_pretrained(folder)
        PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=400, **names).save_pretrained(folder)

    return make


def _llama_tokenizer() -> Tokenizer:
    """As Llama 3's: the head stands before each text of a pair. Its end token pads."""
    specials = ["<|begin_of_text|>", "<|end_of_text|>", "<|im_start|>", "<|im_end|>"]
    content = json.loads(with_ends(byte_level(specials, None, None, composes=False), specials[0], None).to_str())
    head = {"SpecialToken": {"id": specials[0], "type_id": 0}}
    texts = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
    content["post_processor"] |= {"single": [head, texts[0]], "pair": [head, texts[0], head, texts[1]]}
    return Tokenizer.from_str(json.dumps(content))


def _gemma_tokenizer() -> Tokenizer:
    """Gemma's has `Yes` as a token; the small one is given it in the place of another."""
    made = byte_fallback([*GEMMA_TOKENS, "<|im_start|>", "<|im_end|>"], "<bos>", "<eos>")
    content = json.loads(made.to_str())
    vocab: dict[str, int] = content["model"]["vocab"]
    vocab["Yes"] = vocab.pop("<0x01>")
    return Tokenizer.from_str(json.dumps(content))


DECODERS: dict[str, tuple[Callable[[dict[str, Any]], PreTrainedConfig], Callable[[], Tokenizer], dict[str, str]]] = {
    "qwen3": (
        lambda sizes: Qwen3Config(**sizes, num_key_value_heads=2, head_dim=16, pad_token_id=0, eos_token_id=0),
        lambda: byte_level(QWEN_TOKENS, None, None),
        QWEN_NAMES,
    ),
    "qwen2": (
        lambda sizes: Qwen2Config(**sizes, num_key_value_heads=2, pad_token_id=0, eos_token_id=0),
        lambda: byte_level(QWEN_TOKENS, None, None),
        QWEN_NAMES,
    ),
    "llama": (lambda sizes: LlamaConfig(**sizes, num_key_value_heads=2, pad_token_id=1), _llama_tokenizer, LLAMA_NAMES),
    "mistral": (
        lambda sizes: MistralConfig(**sizes, num_key_value_heads=2, head_dim=8, sliding_window=24, pad_token_id=1),
        _llama_tokenizer,
        LLAMA_NAMES,
    ),
    "gemma": (
        lambda sizes: GemmaConfig(**sizes, num_key_value_heads=1, head_dim=16),
        _gemma_tokenizer,
        GEMMA_NAMES,
    ),
    "gemma2": (
        lambda sizes: Gemma2Config(
            **sizes, num_key_value_heads=1, head_dim=16, query_pre_attn_scalar=16, sliding_window=33
        ),
        _gemma_tokenizer,
        GEMMA_NAMES,
    ),
    "gemma3_text": (
        lambda sizes: Gemma3TextConfig(
            **sizes,
            num_key_value_heads=1,
            head_dim=16,
            query_pre_attn_scalar=16,
            sliding_window=33,
            layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        ),
        _gemma_tokenizer,
        GEMMA_NAMES,
    ),
}


def _qwen2_judge(folder: Path) -> None:
    """mxbai-rerank-v2's form."""
    _decoder("qwen2", is_generator=True)(folder)
    write(TEMPLATE, MXBAI)(folder)
    saved()(folder)
    write(SCORE, {"true_token_id": 20, "false_token_id": 19})(folder)


BASES: dict[str, Callable[[Path], object]] = {
    **{name: partial(make_checkpoint, name) for name in RECIPES},
    "stock bert": partial(stock, "bert"),
    **{
        f"{name} pairs": partial(make_cross_encoder, name)
        for name in ("bert", "bert_older", "xlm_roberta", "eurobert", "camembert", "deberta_v2", "electra")
    },
    **{
        f"{name}, saved": _saved(name)
        for name in ("bert", "bert_older", "xlm_roberta", "modernbert_mean", "eurobert", "deberta_v2")
    },
    "judge, saved": _judge,
    "qwen2 judge, saved": _qwen2_judge,
    "judge": lambda folder: make_judge(folder, is_tied=True),
    "qwen3 reranker": lambda folder: make_judge(folder, is_tied=True, template=QWEN3_RERANKER),
    **{f"{name} classifier": _decoder(name) for name in DECODERS},
    **{f"{name} generator": _decoder(name, is_generator=True) for name in DECODERS},
    "ettin": partial(make_modular, "modernbert_cls"),
    "colbert": lambda folder: native("bert", folder, SHAPES["hidden masks"]),
    "pylate": partial(pylate, "bert"),
    "pylate modernbert": partial(pylate, "modernbert"),
    "pylate lfm2": partial(pylate, "lfm2, causal"),
    "stanford": lambda folder: stanford(folder, None),
    "colqwen2.5": colqwen2_5,
    "colqwen2.5 of transformers": hf_colqwen2_5,
    "colqwen3": colqwen3,
    "colqwen3.5": colqwen3_5,
    "tomoro": tomoro,
    "qwen3_vl reranker": lambda folder: write(TEMPLATE, QWEN3_VL_RERANKER)(copied(folder)),
    "colmodernvbert": colmodernvbert,
    "colpali": colpali,
    "colpali of transformers": hf_colpali,
    "colsmol": colsmol,
    "colsmol, sentence-transformers": lambda folder: with_sentence_files(colsmol(folder)),
    "splade": partial(splade, "bert"),
    "inference free": partial(inference_free, "bert"),
    "opensearch": partial(inference_free, "bert", at_root=True),
    **{name: partial(make_towers, name) for name in ("clip", "siglip", "siglip2-naflex")},
    "clap": partial(make_clap, "fused"),
    **{name: FOLDERS[name] for name in ("potion", "static-retrieval")},
    **{name: partial(make_images, name) for name in ("dinov2", "dinov2, registers", "dinov3")},
    "embedding_gemma2": make_omni,
    "thinker": lambda folder: with_modules(make_thinker(folder), {"add_generation_prompt": True}, {}),
    "thinker alone": make_thinker,
    "mistral3": mistral3_embedder,
    "mistral3 reranker": mistral3_reranker,
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "wemm": wemm,
}
"""By name; the built-in models have theirs."""


def made(name: str, place: Path) -> Path:
    """A base, made once."""
    folder = BUILTINS.get(name) or place / name.replace(", ", "-").replace(" ", "-")
    if not folder.exists():
        BASES[name](folder)
    return folder
