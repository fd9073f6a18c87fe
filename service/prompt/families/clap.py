"""CLAP: texts and audio files in one space, LAION's and similar models in transformers' form."""

from service.checkpoint.clap_features import check_towers, read_clap_features
from service.checkpoint.config_files import CheckpointFiles, positive
from service.media.audio_rule import AudioRule
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.tower_profile import make_tower_profile, projection, section
from service.prompt.templates.single_item import SingleItem

TEXT = {"vocab_size": 50_265, "max_position_embeddings": 514, "pad_token_id": 1}
AUDIO = {"spec_size": 256, "num_mel_bins": 64, "enable_fusion": False}


def make_profile(files: CheckpointFiles) -> Profile:
    """The rate is the feature extractor's. Positions of texts begin after the padding token's number."""
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
        rule=AudioRule(rate_hz=features.sampling_rate, crop_samples=crop),
        pooling="cls",
        layout=SingleItem(other="audio file"),
    )


ONE_IN_A_BATCH = Difference(
    "CLAP, fused, no audio longer than its window",
    "transformers marks a random one of the batch `is_longer`",
    "each audio file is embedded as it is alone",
    "a vector must not depend on its neighbors",
)
LONGER = Difference(
    "CLAP, audio longer than its window",
    "takes its parts at random places",
    "the middle; of each third the middle",
    "the same audio has the same vector",
)

FAMILIES = {
    "clap": Family(
        model_types=("clap",),
        about="CLAP",
        make_profile=make_profile,
        kind="two towers",
        stock="ClapModel",
        modalities="text or audio",
        pooling="CLS, projected; audio: mean, projected",
        prompt="bare",
        tests=("tests/models/audio/", "tests/journey/test_audio.py"),
        differences=(ONE_IN_A_BATCH, LONGER),
    )
}
