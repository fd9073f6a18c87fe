"""Small random CLAP checkpoints, fused and not, saved as transformers saves them."""

from pathlib import Path
from typing import Any

import torch
from transformers import ClapConfig, ClapFeatureExtractor, ClapModel, PreTrainedTokenizerFast

from tests.models.text.tokenizers import byte_level

RATE_HZ = 16_000
MAX_S = 2
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
AUDIO: dict[str, Any] = {
    "depths": [1, 1],
    "num_attention_heads": [2, 4],
    "patch_embeds_hidden_size": 16,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "hidden_dropout_prob": 0.0,
}
TEXT: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 66,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
FUSED: dict[str, Any] = {"enable_fusion": True}
EXTRACTOR: dict[str, Any] = {
    "sampling_rate": RATE_HZ,
    "max_length_s": MAX_S,
    "hop_length": 160,
    "fft_window_size": 512,
    "frequency_min": 50,
    "frequency_max": 7600,
}
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "fused": (FUSED, {"truncation": "fusion", "padding": "repeatpad"}),
    "unfused": ({}, {"truncation": "rand_trunc", "padding": "repeatpad"}),
    "padded": ({}, {"truncation": "rand_trunc", "padding": "pad"}),
    "repeated": (FUSED, {"truncation": "fusion", "padding": "repeat"}),
}
"""By how audio files are brought to the tower's length."""


def make_checkpoint(kind: str, folder: Path) -> Path:
    """Save the checkpoint of a kind."""
    audio, extractor = KINDS[kind]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_level(SPECIALS, "<s>", "</s>"),
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
        model_max_length=64,
    )
    config = ClapConfig(
        text_config=TEXT | {"vocab_size": len(tokenizer)}, audio_config=AUDIO | audio, projection_dim=24
    )
    torch.manual_seed(20261121)
    model = ClapModel(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():  # near 1 and 0, or all audio files would be alike
            is_norm = "norm" in name.lower() and name.endswith("weight")
            parameter.normal_(1.0 if is_norm else 0.0, 0.05 if name.endswith("bias") else 0.25)
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.normal_(-30, 5)
            elif name.endswith("running_var"):
                buffer.uniform_(100, 400)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    ClapFeatureExtractor(**(EXTRACTOR | extractor)).save_pretrained(folder)
    return folder
