"""Small random models of images alone, with the names of tensors and files that were released."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModel,
    Dinov2Config,
    Dinov2WithRegistersConfig,
    DINOv3ViTConfig,
    PreTrainedConfig,
    SiglipVisionConfig,
)

from tests.models.weights import change_json

IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "rescale_factor": 1 / 255}
ALWAYS = {"do_resize": True, "do_rescale": True, "do_normalize": True}
BIT: dict[str, Any] = (
    {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 40}, "do_center_crop": True}
    | {"crop_size": {"height": 32, "width": 32}, "do_convert_rgb": True, "resample": 3}
    | ALWAYS
    | IMAGENET
)
"""As dinov2-base has it, of other sizes."""
SQUASHED: dict[str, Any] = (
    {"image_processor_type": "DINOv3ViTImageProcessorFast", "crop_size": None, "data_format": "channels_first"}
    | {"default_to_square": True, "do_center_crop": None, "do_convert_rgb": None, "resample": 2}
    | {"size": {"height": 48, "width": 48}}
    | ALWAYS
    | IMAGENET
)
"""As dinov3-vits16-pretrain-lvd1689m has it, of another size."""
SIGLIP: dict[str, Any] = (
    {"image_processor_type": "SiglipImageProcessor", "processor_class": "SiglipProcessor", "resample": 3}
    | {"size": {"height": 32, "width": 32}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    | ALWAYS
)
SIZES: dict[str, Any] = {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "patch_size": 8}

RECIPES: dict[str, tuple[Callable[[], PreTrainedConfig], dict[str, Any]]] = {
    "dinov2": (lambda: Dinov2Config(**SIZES, image_size=56), BIT),
    "dinov2, gated": (
        lambda: Dinov2Config(**SIZES, image_size=24, use_swiglu_ffn=True),
        BIT | {"crop_size": {"height": 36, "width": 36}, "resample": 2},  # no whole number of patches
    ),
    "dinov2, registers": (lambda: Dinov2WithRegistersConfig(**SIZES, image_size=56), BIT),
    "dinov3": (lambda: DINOv3ViTConfig(**SIZES, intermediate_size=96, num_register_tokens=4), SQUASHED),
    "dinov3, gated": (
        lambda: DINOv3ViTConfig(**SIZES, intermediate_size=96, use_gated_mlp=True, rope_theta=50.0),
        SQUASHED | {"resample": 3, "image_mean": [0.43, 0.411, 0.296], "image_std": [0.213, 0.156, 0.143]},
    ),
    "dinov3, cropped": (lambda: DINOv3ViTConfig(**SIZES, intermediate_size=96, num_register_tokens=4), BIT),
    "siglip": (lambda: SiglipVisionConfig(**SIZES, intermediate_size=96, image_size=32), SIGLIP),
}


def make_checkpoint(name: str, folder: Path) -> Path:
    """Write the checkpoint of a recipe."""
    make, processor = RECIPES[name]
    torch.manual_seed(20261121)
    model = AutoModel.from_config(make())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.25)
    model.save_pretrained(folder)
    path = folder / "preprocessor_config.json"
    path.write_text("{}")
    change_json(path, **processor)
    return folder
