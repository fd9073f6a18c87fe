"""Random checkpoints of the shapes of small encoders that people serve; what a forward costs depends on no more."""

import json
from pathlib import Path
from typing import Any, Final

import torch
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from tests.models.text.tokenizers import word_piece

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SHAPES: Final[dict[str, dict[str, Any]]] = {
    "MiniLM": {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536},
    "BERT-base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
    "bge-m3": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
}
TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def write_encoder(folder: Path, shape: str, *, is_tiny: bool) -> Path:
    """Write a mean-pooled, normalized BERT in sentence-transformers' files.

    Args:
        folder: where; it is made.
        shape: a key of `SHAPES`.
        is_tiny: of a size for a dry run instead.
    """
    tokenizer = word_piece(TOKENS, "[CLS]", "[SEP]")
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), TOKENS, strict=True))
    torch.manual_seed(20261125)
    config = BertConfig(**(TINY if is_tiny else SHAPES[shape]), vocab_size=tokenizer.get_vocab_size())
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    modules = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    listed = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (path, kind) in enumerate(modules.items())
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 512, "do_lower_case": False}))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": config.hidden_size, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder
