"""Models of images alone, for image search: DINOv2 with and without registers, DINOv3, SigLIP's vision side.

The vector is what transformers calls `pooler_output`: the first token of the last hidden state, normalized by the
model's last norm; of SigLIP the attention of its head. A text is refused.
"""

from dataclasses import asdict, replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.image_processor import DINOV3, processor_class, read_scaling, read_square
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.reranker_kind import architecture
from service.media.resize.tower_rule import FloatSquareRule, SquareRule
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import ImageProfile, Profile
from service.prompt.profile.text_profile import ROLES
from service.prompt.profile.tower_profile import WHITE
from service.prompt.templates.single_item import SingleImage

CLASSES = {
    "dinov2": "Dinov2Model",
    "dinov2_with_registers": "Dinov2WithRegistersModel",
    "dinov3_vit": "DINOv3ViTModel",
    "siglip_vision_model": "SiglipVisionModel",
}
"""By model_type; a folder of another class has a head of another task, or reads other states."""
SIGLIP, SIGLIP_SIZE = "siglip_vision_model", 224
WIDTHS = {"dinov2": 768, "dinov2_with_registers": 768, "dinov3_vit": 384, "siglip_vision_model": 768}
"""Of transformers' configurations, where config.json does not say."""


def make_images(files: CheckpointFiles) -> Profile:
    """The profile of a model of images alone."""
    model_type, kind = str(files.model_type), processor_class(files.folder)
    if architecture(files) not in ("", CLASSES[model_type]):
        raise CheckpointError(
            f"{files.folder / 'config.json'} has architectures {files.config['architectures']!r}; supported: "
            f"{CLASSES[model_type]}, whose pooler_output is an image's vector"
        )
    found = read_square(files.folder, kind)
    read_scaling(files.folder, kind)
    is_sized = found.side == files.config.get("image_size", SIGLIP_SIZE)  # others fit their positions to an image
    if model_type == SIGLIP and not (is_sized and files.config.get("vision_use_head", True)):
        raise CheckpointError(
            f"{files.folder} has images of {found.side} pixels, and in config.json image_size "
            f"{files.config.get('image_size')!r}, vision_use_head {files.config.get('vision_use_head', True)!r}; "
            "supported: one size, and a pooling head"
        )
    width = positive({"hidden_size": WIDTHS[model_type], **files.config}, "hidden_size")
    rule = FloatSquareRule(**asdict(found)) if kind == DINOV3 else SquareRule(**asdict(found))
    offered = files.matryoshka(width) or (width,)
    return Profile(
        name=model_type.replace("_", "-"),
        architecture="image_tower",
        default_instruction=None,
        input_types=dict.fromkeys(ROLES, ""),
        pooling="cls",
        normalize=True,
        dimensions=width,
        min_dimensions=offered[0],
        matryoshka=offered,
        max_tokens=1,
        modalities=("image",),
        images=ImageProfile(pixel_rule=rule, background=WHITE, feature_width=width, image_pad=1, video_pad=2),
        takes_instructions=False,
        mixes=False,
        protected=(),
        layout=SingleImage(),
    )


DINOV2 = Family(
    model_types=("dinov2", "dinov2_with_registers"),
    about="DINOv2, with and without registers",
    make_profile=make_images,
    kind="images",
    stock="Dinov2Model, Dinov2WithRegistersModel",
    modalities="image",
    pooling="CLS",
    prompt="none",
    tests=("tests/models/images/",),
    differences=(
        Difference(
            what="DINOv2 and SigLIP's vision side where torchvision is installed",
            reference="transformers 5 resizes by torchvision then, and else by Pillow",
            here="by Pillow, bit for bit",
            why="the models were trained on it",
        ),
    ),
)

FAMILIES = {
    "dinov2": DINOV2,
    "dinov3": replace(
        DINOV2,
        model_types=("dinov3_vit",),
        about="DINOv3 ViT",
        stock="DINOv3ViTModel",
        differences=(
            Difference(
                what="DINOv3: images in gray, with a palette or with an alpha band",
                reference="fails, unless the caller makes them RGB",
                here="RGB, over white",
                why="as with all models",
            ),
        ),
    ),
    "siglip_vision": replace(
        DINOV2,
        model_types=("siglip_vision_model",),
        about="SigLIP and SigLIP 2, the vision side alone",
        stock="SiglipVisionModel",
        pooling="attention",
        differences=(),
    ),
}
