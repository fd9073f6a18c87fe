"""CLAP: texts and sounds in one space, LAION's and their likes in transformers' form."""

from service.media.sound_rule import SoundRule
from service.model.clap_features import check_towers, read_clap_features
from service.prompt.checkpoint_files import CheckpointFiles, positive
from service.prompt.family import Family
from service.prompt.profile import Profile
from service.prompt.single_item import SingleItem
from service.prompt.tower_profile import make_tower_profile, projection, section

TEXT = {"vocab_size": 50_265, "max_position_embeddings": 514, "pad_token_id": 1}
AUDIO = {"spec_size": 256, "num_mel_bins": 64, "enable_fusion": False}


def make_profile(files: CheckpointFiles) -> Profile:
    """The rate is the feature extractor's. Positions of texts begin behind the padding token's number."""
    text, features = section(files, "text_config", TEXT), read_clap_features(files.folder)
    check_towers(features, section(files, "audio_config", AUDIO))
    num_positions = positive(text, "max_position_embeddings") - int(text["pad_token_id"] or 0) - 1
    is_cropped = features.truncation == "rand_trunc"
    crop = features.max_samples if is_cropped else None
    return make_tower_profile(
        files,
        name="clap",
        architecture="clap",
        dimensions=projection(files),
        text={**text, "max_position_embeddings": num_positions},
        rule=SoundRule(rate_hz=features.sampling_rate, crop_samples=crop),
        pooling="cls",
        layout=SingleItem(other="sound"),
    )


FAMILY = Family(("clap",), "CLAP", make_profile)
