"""Cross-encoders of modules: a transformer without a head, then Pooling, Dense and LayerNorm, as ettin-reranker.

Source: sentence-transformers 6.2, `CrossEncoder`.
"""

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.reranker_files import read_reranker_files
from service.checkpoint.reranker_kind import reranker_kind
from service.checkpoint.score_modules import read_score_modules
from service.checkpoint.sentence_settings import FEATURES
from service.prompt.cutting import cut_end, cut_longest
from service.prompt.families.cross_encoder import CLASSES, longest, text_pair
from service.prompt.families.decoder_reranker import CLASSIFIERS
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.reranker_profile import framed_pair, make_reranker_profile


def make_profile(files: CheckpointFiles) -> Profile:
    """Join what config.json and the files of tokenizer and sentence-transformers say."""
    modules = read_score_modules(files.folder)
    found = read_reranker_files(files, FEATURES)
    return make_reranker_profile(
        files,
        found,
        name="modular-reranker",
        architecture="modular_reranker",
        pooling=modules.pooling,
        max_positions=longest(files, FEATURES),
        layout=framed_pair(files, found.messages, found.prompt) if found.messages else text_pair(files, found),
        cutting=cut_end if found.messages else cut_longest,
    )


FAMILIES = {
    "modular_reranker": Family(
        model_types=(*CLASSES, *CLASSIFIERS),
        about="cross-encoders of sentence-transformers' modules: ettin-reranker 17M to 1B",
        make_profile=make_profile,
        is_of=lambda files: reranker_kind(files) == "modules",
        rank=2,
        kind="reranker",
        stock="ModernBertModel, and those of the other types",
        pooling="by its Pooling; then Dense and LayerNorm",
        prompt="both texts with a separator, or its chat template",
        tests=("tests/models/folders/",),
    )
}
