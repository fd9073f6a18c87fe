"""Text models of transformers: pooling, prefixes and lengths are in their own files, and most differ in names alone.

GTE and NomicBert come in their native forms, and as they were released, with other names in config.json
(`released_config.py`). NomicBert's shorter vectors want a layer norm before the cut, which nothing in its files says,
so none are offered. SPLADE is BERT, DistilBERT, GTE or ModernBERT whose masked language model weighs the vocabulary's
entries; files with a Router weigh queries by a table instead (`role_profiles.py`).
"""

from dataclasses import replace
from functools import partial

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.released_config import ALIBI
from service.checkpoint.sentence_settings import find_settings
from service.checkpoint.sparse_files import is_splade
from service.checkpoint.tokenizer_settings import max_length
from service.checkpoint.weight_files import list_weight_files, read_header
from service.outputs.kinds import find_heads
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import make_text_profile, text_family

ROBERTAS = ("xlm-roberta", "roberta", "camembert")
GATED = "geglu"
T5_TOKENS = 512
"""Longest text of T5's training, where no file says more."""
PADDING = 1
"""Number of RoBERTa's padding token where config.json does not say."""


def first_position(files: CheckpointFiles) -> int:
    """Number of a text's first position: after that of the padding token, as fairseq counts; of most models 0.

    512 tokens need 514 positions.
    """
    if files.model_type not in (*ROBERTAS, "mpnet"):
        return 0
    padding = PADDING if files.model_type == "mpnet" else files.config.get("pad_token_id", PADDING)
    return padding + 1 if isinstance(padding, int) else PADDING + 1


def make_roberta(files: CheckpointFiles) -> Profile:
    """See `make_text_profile`; with BGE-M3's heads beside it, it gives sparse and token vectors too."""
    profile = make_text_profile(files, name="xlm_roberta", first_position=first_position(files))
    if not (heads := find_heads(files.folder)):
        return profile
    if profile.dimensions != files.config["hidden_size"]:
        raise CheckpointError(
            f"{files.folder} has {', '.join(path.name for path in heads.values())} and vectors of {profile.dimensions} "
            f"numbers; supported with heads for tokens: {files.config['hidden_size']}, the model's own width"
        )
    return replace(profile, architecture="hybrid", outputs=(*profile.outputs, *heads))


def make_deberta(files: CheckpointFiles) -> Profile:
    """Where positions are relative alone, none is the last, and the Transformer module's own length counts.

    Source: sentence-transformers 6.2 `Transformer.__init__`.
    """
    settings, bound = find_settings(files), positive(files.config, "max_position_embeddings")
    is_said = "max_seq_length" in settings.content or "model_max_length" in settings.processor
    if is_said and files.config.get("position_biased_input") is False:
        bound = max_length(files) or bound
    return make_text_profile(files, name="deberta", bound=bound)


def make_t5(files: CheckpointFiles) -> Profile:
    """Positions are relative. The encoder's own class is named: T5's model wants a decoder's tokens too."""
    longest = max_length(files) or files.config.get("n_positions") or T5_TOKENS
    return make_text_profile(files, name="t5", width="d_model", bound=longest, model_class="T5EncoderModel")


def make_nomic_bert(files: CheckpointFiles) -> Profile:
    """Of those with experts transformers has none (`nomic_experts.py`)."""
    model_class = "NomicExperts" if files.config.get("num_experts") else ""
    return make_text_profile(files, name="nomic_bert", model_class=model_class)


def make_jina_bert(files: CheckpointFiles) -> Profile:
    """The tensors say which of its two forms it is."""
    if (kind := files.config.get("feed_forward_type")) != GATED:
        raise CheckpointError(f"config.json has feed_forward_type {kind!r}; supported of this model: {GATED!r}")
    names = [name for path in list_weight_files(files.folder) for name in read_header(path)]
    of_code = any(".layer_norm_q." in name for name in names)
    return make_text_profile(files, name="jina_bert", model_class="AlibiBertOfCode" if of_code else "AlibiBert")


SCALED = Difference(
    "nomic-embed-text with `rotary_scaling_factor`",
    "goes on beyond the trained positions: transformers unscaled, its own code scaled",
    "prompts end at `max_trained_positions`",
    "the references disagree from there on",
)

ENDLESS = Difference(
    "T5 whose files name no length",
    "texts of any length",
    "prompts end at 512 tokens",
    "the scores of its attention grow with the square",
)

FAMILIES = {
    "bert": text_family(  # MiniLM, E5, BGE, GTE, mxbai, Arctic
        ("bert",),
        "BERT, MiniLM, E5, BGE and similar",
        "BertModel",
        more_tests=("tests/journey/test_minilm.py",),
        name="bert",
    ),
    # attention adds relative positions, so it runs by equal lengths; so do MPNet and T5
    "deberta": text_family(("deberta-v2",), "DeBERTa v2 and v3", "DebertaV2Model", make_deberta),
    "distilbert": text_family(
        ("distilbert",),
        "DistilBERT: multi-qa-distilbert and similar",
        "DistilBertModel",
        name="distilbert",
        width="dim",
    ),
    "electra": text_family(("electra",), "ELECTRA", "ElectraModel", name="electra"),
    # a bidirectional encoder in Llama's shape, long texts in many languages
    "eurobert": text_family(("eurobert",), "EuroBERT", "EuroBertModel", name="eurobert"),
    "gte": text_family(  # of 2024, as released or in its native form (`released_config.py`)
        ("gte",),
        "GTE v1.5, gte-multilingual, Arctic Embed M 2.0 and others of type `new`",
        "GteModel",
        pooling="CLS",
        name="gte",
    ),
    "jina_bert": text_family(  # its type is BERT's; transformers has no class of it (`alibi_bert.py`)
        ("bert",),
        "Jina Embeddings v2: English, German, Spanish, Chinese and code",
        "none (JinaBertModel of its own code)",
        make_jina_bert,
        "mean",
        is_of=lambda files: files.config.get("position_embedding_type") == ALIBI,
        rank=1,
    ),
    "jina_embeddings_v3": text_family(  # in its native form; a checkpoint has the adapter of one task merged
        ("jina_embeddings_v3",),
        "Jina Embeddings v3, adapters merged",
        "JinaEmbeddingsV3Model",
        pooling="mean",
        name="jina-embeddings-v3",
    ),
    "modernbert": text_family(  # most layers attend in a window; Granite embedding R2 too
        ("modernbert",),
        "ModernBERT: gte-modernbert, modernbert-embed and similar",
        "ModernBertModel",
        name="modernbert",
    ),
    "mpnet": text_family(
        ("mpnet",),
        "MPNet: all-mpnet-base-v2 and similar",
        "MPNetModel",
        lambda files: make_text_profile(files, name="mpnet", first_position=first_position(files)),
        "mean, by its files",
    ),
    "nomic_bert": text_family(
        ("nomic_bert",),
        "NomicBert: nomic-embed-text, v2 with experts too",
        "NomicBertModel; none with experts",
        make_nomic_bert,
        "mean",
        "`search_query: `, `search_document: `",
        differences=(SCALED,),
    ),
    "t5": text_family(
        ("t5",),
        "T5's encoder: sentence-t5 and gtr-t5",
        "T5EncoderModel",
        make_t5,
        "mean, Dense",
        differences=(ENDLESS,),
    ),
    "xlm_roberta": text_family(
        ROBERTAS,
        "XLM-RoBERTa, RoBERTa and CamemBERT: multilingual E5, BGE-M3 with sparse and token vectors",
        "XLMRobertaModel, RobertaModel, CamembertModel",
        make_roberta,
        more_tests=("tests/models/hybrid/",),
    ),
    "splade": Family(
        model_types=("bert", "distilbert", "gte", "modernbert"),
        about="SPLADE and OpenSearch's sparse encoders, its doc-only ones among them",
        make_profile=partial(make_text_profile, name="splade"),
        is_of=lambda files: is_splade(files.folder),
        rank=2,
        kind="sparse",
        stock="BertForMaskedLM, DistilBertForMaskedLM, GteForMaskedLM, ModernBertForMaskedLM",
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
    ),
}
