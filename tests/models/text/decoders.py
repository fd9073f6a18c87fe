"""Recipes of decoders' checkpoints with the files as released, and references of what transformers has no class for.

Released keys are written over saved ones: those of config.json and of the tokenizer that decide what is served.
"""

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from torch.nn import functional
from transformers import (
    AutoConfig,
    AutoModel,
    Gemma2Config,
    GemmaConfig,
    Lfm2Config,
    LlamaConfig,
    LlamaModel,
    Ministral3Config,
    MistralConfig,
    Qwen2Config,
    Qwen3_5TextConfig,
    Qwen3Config,
)
from transformers.models.lfm2.modeling_lfm2 import Lfm2ShortConv, apply_mask_to_padding_states

from tests.models.folders.edits import put, read, retensor
from tests.models.text.tokenizers import byte_fallback, byte_level

QWEN = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
LLAMA = ["<|begin_of_text|>", "<|end_of_text|>"]
LFM = ["<|pad|>", "<|startoftext|>", "<|im_end|>"]
GEMMA = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
QWEN_NAMES = {"pad_token": QWEN[0], "eos_token": QWEN[0]}
LLAMA_NAMES = {"bos_token": LLAMA[0], "eos_token": LLAMA[1], "pad_token": LLAMA[1]}
LFM_NAMES = {"pad_token": LFM[0], "bos_token": LFM[1], "eos_token": LFM[2]}
GEMMA_NAMES = {"pad_token": GEMMA[0], "eos_token": GEMMA[1], "bos_token": GEMMA[2], "unk_token": GEMMA[3]}
SIDES = {"query": "query: ", "document": "passage: "}
OWN_QWEN = [
    put("config.json", architectures=["Qwen2ForCausalLM"], auto_map={"AutoModel": "modeling_qwen.Qwen2Model"}),
    put(
        "tokenizer_config.json",
        add_eos_token=True,
        auto_map={"AutoTokenizer": ["tokenization_qwen.Qwen2Tokenizer", "tokenization_qwen.Qwen2TokenizerFast"]},
        tokenizer_class="Qwen2Tokenizer",
    ),
]
"""gte-Qwen2 and stella_en_1.5B; what the code does is in the keys `is_causal` and `add_eos_token`."""
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10_000.0,
    "factor": 16.0,
    "original_max_position_embeddings": 64,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
    "llama_4_scaling_beta": 0.1,
}
"""Of Ministral 3, with so few positions that queries of long texts are scaled."""
VOYAGE = "modeling_qwen3_bidirectional.Qwen3BidirectionalModel"
LFM2_CLASS = "Lfm2BidirectionalModel"
CONVS = ["conv", "full_attention", "conv"]


def with_projection(found: dict[str, torch.Tensor]) -> None:
    """Names and the further tensor of voyage-4-nano."""
    for name in [*found]:
        found[f"model.{name}"] = found.pop(name)
    found["linear.weight"] = torch.randn(64, 32, generator=torch.Generator().manual_seed(4)) * 0.2


def lfm2(sizes: dict[str, Any]) -> Lfm2Config:
    return Lfm2Config(**sizes, num_key_value_heads=2, layer_types=CONVS, block_multiple_of=16)


LFM2: dict[str, Any] = {
    "config": lfm2,
    "tokenizer": partial(byte_level, LFM, LFM[1], None, composes=False),
    "names": LFM_NAMES,
}
DECODERS: dict[str, dict[str, Any]] = {
    "gemma": {
        "config": lambda sizes: GemmaConfig(**sizes, num_key_value_heads=1, head_dim=16),
        "tokenizer": partial(byte_fallback, GEMMA, "<bos>", "<eos>"),
        "names": GEMMA_NAMES,
    },
    "gemma2": {  # a cap that the scores reach
        "config": lambda sizes: Gemma2Config(
            **sizes,
            num_key_value_heads=2,
            head_dim=16,
            query_pre_attn_scalar=16,
            sliding_window=24,
            attn_logit_softcapping=1.5,
        ),
        "tokenizer": partial(byte_fallback, GEMMA, "<bos>", "<eos>"),
        "names": GEMMA_NAMES,
        "pooling": "lasttoken",
        "prompts": {"query": "<instruct>Given a web search query, retrieve passages.\n<query>"},
    },
    "lfm2": LFM2
    | {
        "pooling": "cls",
        "prompts": {"query": "query: ", "document": "document: "},
        "released": [
            put(
                "config.json",
                architectures=[LFM2_CLASS],
                auto_map={"AutoModel": f"modeling_lfm2_bidirectional.{LFM2_CLASS}"},
            )
        ],
    },
    "lfm2, causal": LFM2 | {"pooling": "lasttoken"},
    "llama_bidirec": {
        "config": lambda sizes: LlamaConfig(**sizes, num_key_value_heads=2, pad_token_id=1),
        "tokenizer": partial(byte_level, LLAMA, LLAMA[0], None, composes=False),
        "names": LLAMA_NAMES,
        "prompts": SIDES,
        "released": [
            put(
                "config.json",
                architectures=["LlamaBidirectionalModel"],
                auto_map={"AutoModel": "llama_bidirectional_model.LlamaBidirectionalModel"},
                model_type="llama_bidirec",
                pooling="avg",
                temperature=1.0,
            )
        ],
    },
    "ministral3": {
        "config": lambda sizes: Ministral3Config(
            **sizes, num_key_value_heads=2, head_dim=8, is_causal=False, pooling="avg", rope_parameters=YARN
        ),
        "tokenizer": partial(byte_level, LLAMA, LLAMA[0], None, composes=False),
        "names": LLAMA_NAMES,
        "prompts": SIDES,
    },
    "mistral, both ways": {  # in a window
        "config": lambda sizes: MistralConfig(
            **sizes, num_key_value_heads=2, head_dim=8, sliding_window=24, is_causal=False
        ),
        "tokenizer": partial(byte_level, LLAMA, *LLAMA, composes=False),
        "names": LLAMA_NAMES,
    },
    "qwen2": {  # jina-code-embeddings
        "config": lambda sizes: Qwen2Config(**sizes, num_key_value_heads=2, pad_token_id=0, eos_token_id=0),
        "tokenizer": partial(byte_level, QWEN, None, QWEN[0]),
        "names": QWEN_NAMES,
        "pooling": "lasttoken",
        "prompts": {"nl2code_query": "Find the code:\n", "nl2code_document": "Candidate code:\n"},
    },
    "qwen2, both ways": {  # stella_en_1.5B
        "config": lambda sizes: Qwen2Config(**sizes, num_key_value_heads=2, pad_token_id=0, is_causal=False),
        "tokenizer": partial(byte_level, QWEN, None, QWEN[0]),
        "names": QWEN_NAMES,
        "dense": (24,),
        "normalize": False,
        "prompts": {"s2p_query": "Instruct: Retrieve passages.\nQuery: ", "s2s_query": "Instruct: Retrieve texts.\n"},
        "released": OWN_QWEN,
    },
    "qwen3_5_text": {
        "config": lambda sizes: Qwen3_5TextConfig(
            **sizes,
            num_key_value_heads=2,
            head_dim=16,
            layer_types=["linear_attention", "full_attention", "linear_attention"],
            linear_num_key_heads=2,
            linear_num_value_heads=4,
            linear_key_head_dim=8,
            linear_value_head_dim=8,
            rope_parameters={
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "partial_rotary_factor": 0.5,
                "mrope_section": [2, 1, 1],
                "mrope_interleaved": True,
            },
            pad_token_id=0,
        ),
        "tokenizer": partial(byte_level, QWEN, None, QWEN[0]),
        "names": QWEN_NAMES,
        "pooling": "lasttoken",
    },
    "voyage": {
        "config": lambda sizes: Qwen3Config(**sizes, num_key_value_heads=2, head_dim=16, pad_token_id=0),
        "tokenizer": partial(byte_level, QWEN, None, None),
        "names": QWEN_NAMES,
        "prompts": {"query": "Represent the query: ", "document": "Represent the document: "},
        "released": [
            put(
                "config.json",
                architectures=["Qwen3ForCausalLM"],
                auto_map={"AutoModel": VOYAGE},
                num_labels=64,
                use_bidirectional_attention=True,
            ),
            put("1_Pooling/config.json", embedding_dimension=64),
            retensor(with_projection),
        ],
    },
}
"""Arguments of a `Recipe` by family, and what is particular after a comma."""


class LlamaBidirectionalConfig(LlamaConfig):
    model_type = "llama_bidirec"


class LlamaBidirectionalModel(LlamaModel):
    """The released code's class on transformers 5: no layer is causal, and no mask."""

    config_class = LlamaBidirectionalConfig

    def __init__(self, config: LlamaBidirectionalConfig) -> None:
        super().__init__(config)
        self.config.is_causal = False
        for layer in self.layers:
            layer.self_attn.is_causal = False


AutoConfig.register("llama_bidirec", LlamaBidirectionalConfig)
AutoModel.register(LlamaBidirectionalConfig, LlamaBidirectionalModel)


def as_own_code(model: SentenceTransformer | MultiVectorEncoder, folder: Path, *, clears: bool = True) -> None:
    """Do to what sentence-transformers made of transformers' class what the folder's own code does.

    Args:
        clears: padding is zeros to LFM2.5's convolutions: so in LFM2.5-Embedding's file, not in LFM2.5-ColBERT's.
    """
    config, stock = read(folder, "config.json"), model[0].auto_model
    is_lfm2, is_voyage = config["architectures"] == [LFM2_CLASS], config.get("auto_map", {}).get("AutoModel") == VOYAGE
    if is_lfm2 or is_voyage:
        stock.config.is_causal = False
    for module in stock.modules() if is_lfm2 else ():
        if isinstance(module, Lfm2ShortConv):
            module.forward = partial(_noncausal, module, clears)
    if is_voyage:
        stock.forward = _projected(stock.forward, load_file(folder / "model.safetensors")["linear.weight"])


def _projected(forward: Callable[..., Any], projection: torch.Tensor) -> Callable[..., Any]:
    @wraps(forward)
    def projected(*args: Any, **options: Any) -> Any:
        out = forward(*args, **options)
        out.last_hidden_state = functional.linear(out.last_hidden_state, projection)
        return out

    return projected


def _noncausal(
    conv: Lfm2ShortConv, clears: bool, hidden_states: torch.Tensor, attention_mask: Any = None, **_: Any
) -> torch.Tensor:
    states = apply_mask_to_padding_states(hidden_states, attention_mask if clears else None)
    before, after, x = conv.in_proj(states).transpose(-1, -2).chunk(3, dim=-2)
    gated, kernel = before * x, conv.conv.weight
    mixed = functional.conv1d(gated, kernel, conv.conv.bias, padding=kernel.shape[-1] // 2, groups=gated.shape[1])
    out: torch.Tensor = conv.out_proj((after * mixed[..., : gated.shape[-1]]).transpose(-1, -2).contiguous())
    return out
