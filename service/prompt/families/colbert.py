"""ColBERT over texts: each token has a vector of its own, and there is a side for queries and one for documents.

Source: Khattab and Zaharia 2020 (arXiv 2004.12832); sentence-transformers 6.2 `MultiVectorEncoder`; PyLate 1.6.
"""

from dataclasses import replace

from service.checkpoint.colbert_files import colbert_form
from service.checkpoint.config_files import CheckpointFiles
from service.prompt.families import text_decoders, text_encoders
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.role_profiles import DECODERS, ENCODERS

BASES = {
    model_type: family
    for family in (*text_encoders.FAMILIES.values(), *text_decoders.FAMILIES.values())
    if family.kind == "text" and family.rank == 0
    for model_type in family.model_types
}
"""The families of encoders and decoders, each of which knows its own configuration; JinaBERT, whose type is BERT's, is
not among them."""


def make_profile(files: CheckpointFiles) -> Profile:
    """See `role_profiles.with_sides`, which every family of encoders comes to with such files."""
    return replace(BASES[str(files.model_type)].make_profile(files), name="colbert")


FAR_MASKS = Difference(
    "ColBERT on ModernBERT, masks of a query more than half a local window (`local_attention`) after its text",
    "transformers' attention disagrees with itself: with `sdpa` a token that sees none gets zeros, with "
    "`eager` the mean of all tokens, padding too; with FlashAttention all masks get zeros",
    "as `sdpa`",
    "it is the default of transformers, sentence-transformers and PyLate, whose recorded vectors agree; with "
    "`eager` a vector depends on its neighbors. Models trained under FlashAttention say so by "
    "`do_query_expansion: false`, which is obeyed",
)

CLEARED = Difference(
    "LFM2-ColBERT under transformers before 5.4",
    "the short convolutions read a query's hidden expansion where it is alone, and zeros there in a batch",
    "zeros there, as transformers 5.24",
    "the class is transformers'; LFM2.5-ColBERT's own code never clears them, and neither do we",
)
SECOND = Difference(
    "PyLate's files on a tokenizer that puts no token before a text (Qwen2, Qwen3)",
    "PyLate puts its marker behind the first token, the text's own; sentence-transformers before it",
    "as PyLate",
    "the models are trained with it",
)

FAMILIES = {
    "colbert": Family(
        model_types=(*ENCODERS, *DECODERS),
        about="ColBERT: sentence-transformers' `MultiVectorEncoder`, PyLate's and ColBERT's own files",
        make_profile=make_profile,
        is_of=lambda files: colbert_form(files) is not None,
        rank=3,
        kind="late interaction",
        stock="BertModel, ModernBertModel, XLMRobertaModel, Lfm2Model, Qwen3Model and similar",
        modalities="text (a query, a document)",
        pooling="none: a projection of each token, but for those that the files skip",
        prompt="marker or prefix of the side; a query is filled up with masks, by its files",
        tests=("tests/models/late/",),
        differences=(FAR_MASKS, CLEARED, SECOND),
    )
}
