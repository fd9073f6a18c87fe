"""SPLADE: BERT, DistilBERT and ModernBERT whose masked language model weighs the vocabulary's entries.

Files with a Router weigh queries by a table instead (`routed_profile.py`).
"""

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.sparse.splade_files import is_splade
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import make_text_profile


def make_profile(files: CheckpointFiles) -> Profile:
    """See `make_text_profile`; a vector is as long as the vocabulary."""
    return make_text_profile(files, name="splade")


FAMILIES = {
    "splade": Family(
        model_types=("bert", "distilbert", "modernbert"),
        about="SPLADE and OpenSearch's sparse encoders, its doc-only ones among them",
        make_profile=make_profile,
        is_of=lambda files: is_splade(files.folder),
        rank=2,
        kind="sparse",
        stock="BertForMaskedLM, DistilBertForMaskedLM, ModernBertForMaskedLM",
        modalities="text",
        pooling="max or sum of `log1p(relu(logit))`, or `log1p` of it; queries by a table, by its files",
        prompt="prefix by its files",
        tests=("tests/models/sparse/",),
        differences=(
            Difference(
                what="a query of no tokens, where queries are weighed by a table",
                reference="a vector without entries",
                here="refused, with its place",
                why="it has no words to look up, and would find nothing",
            ),
        ),
    )
}
