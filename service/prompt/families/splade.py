"""SPLADE: BERT, DistilBERT and ModernBERT whose masked language model weighs the vocabulary's entries."""

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.splade_files import is_splade
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import make_text_profile


def make_profile(files: CheckpointFiles) -> Profile:
    """See `make_text_profile`; a vector is as long as the vocabulary."""
    return make_text_profile(files, name="splade")


FAMILY = Family(
    model_types=("bert", "distilbert", "modernbert"),
    about="SPLADE and OpenSearch's sparse encoders",
    make_profile=make_profile,
    is_of=lambda files: is_splade(files.folder),
    rank=2,
    kind="sparse",
    stock="BertForMaskedLM, DistilBertForMaskedLM, ModernBertForMaskedLM",
    modalities="text",
    pooling="max or sum of `log1p(relu(logit))`, or `log1p` of it, by its files",
    prompt="prefix by its files",
    tests=("tests/models/sparse/",),
)
