"""Text models of transformers: pooling, prefixes and lengths are in their own files, and most differ in names alone.

NomicBert comes in its native form, and as nomic-embed-text was released, with GPT-2's names in config.json. Its shorter
vectors want a layer norm before the cut, which nothing in its files says, so none are offered. SPLADE is BERT,
DistilBERT or ModernBERT whose masked language model weighs the vocabulary's entries; files with a Router weigh queries
by a table instead (`role_profiles.py`).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.sparse_files import is_splade
from service.outputs.kinds import find_heads
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import make_text_profile, text_family

ROBERTAS = ("xlm-roberta", "roberta")
PADDING = 1
"""Number of RoBERTa's padding token where config.json does not say."""
AS_RELEASED: Mapping[str, object] = {
    "n_embd": 768,
    "n_head": 12,
    "n_inner": 3072,
    "n_layer": 12,
    "activation_function": "swiglu",
    "causal": False,
    "layer_norm_epsilon": 1e-12,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "num_experts": None,
    "parallel_block": False,
    "prenorm": False,
    "qkv_proj_bias": False,
    "rotary_emb_base": 1000,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "use_rms_norm": False,
}
"""Transformers' values for a released config.json, of which it reads none of these names."""
NATIVE = {"n_layer": "num_hidden_layers"}
"""Names that transformers does read in their place."""


def first_position(files: CheckpointFiles) -> int:
    """Number of a text's first position: after that of the padding token, as fairseq counts; of most models 0.

    512 tokens need 514 positions.
    """
    if files.model_type not in (*ROBERTAS, "mpnet"):
        return 0
    padding = PADDING if files.model_type == "mpnet" else files.config.get("pad_token_id", PADDING)
    return padding + 1 if isinstance(padding, int) else PADDING + 1


def make_roberta(files: CheckpointFiles) -> Profile:
    """See `make_text_profile`; with BGE-M3's heads beside it, it gives sparse and token vectors too.

    Raises:
        CheckpointError: there are heads, and vectors are not as wide as the model.
    """
    profile = make_text_profile(files, name="xlm_roberta", first_position=first_position(files))
    if not (heads := find_heads(files.folder)):
        return profile
    if profile.dimensions != files.config["hidden_size"]:
        raise CheckpointError(
            f"{files.folder} has {', '.join(path.name for path in heads.values())} and vectors of {profile.dimensions} "
            f"numbers; supported with heads for tokens: {files.config['hidden_size']}, the model's own width"
        )
    return replace(profile, architecture="hybrid", outputs=(*profile.outputs, *heads))


def make_nomic_bert(files: CheckpointFiles) -> Profile:
    """Released files give lengths as `n_embd` and `n_positions`.

    Where they scale positions, no more are offered than were trained: transformers reads no `rotary_scaling_factor`.

    Raises:
        CheckpointError: files are missing, damaged, or say what transformers would not read.
    """
    config = files.config
    if "hidden_size" in config or "n_embd" not in config:
        return make_text_profile(files, name="nomic_bert")
    for key, value in AS_RELEASED.items():
        is_read = NATIVE.get(key) in config
        if not is_read and config.get(key, value) not in (value, None):
            raise CheckpointError(
                f"config.json has {key} {config[key]!r}; supported with the names of the release: {value!r}"
            )
    is_scaled = config.get("rotary_scaling_factor") is not None
    positions = "max_trained_positions" if is_scaled else "n_positions"
    return make_text_profile(files, name="nomic_bert", width="n_embd", positions=positions)


SCALED = Difference(
    "nomic-embed-text with `rotary_scaling_factor`",
    "goes on beyond the trained positions: transformers unscaled, its own code scaled",
    "prompts end at `max_trained_positions`",
    "the references disagree from there on",
)

FAMILIES = {
    "bert": text_family(  # MiniLM, E5, BGE, GTE, mxbai, Arctic
        ("bert",),
        "BERT, MiniLM, E5, BGE and similar",
        stock="BertModel",
        make_profile=partial(make_text_profile, name="bert"),
        more_tests=("tests/journey/test_minilm.py",),
    ),
    "distilbert": text_family(
        ("distilbert",),
        "DistilBERT: multi-qa-distilbert and similar",
        stock="DistilBertModel",
        make_profile=partial(make_text_profile, name="distilbert", width="dim"),
    ),
    "eurobert": text_family(  # a bidirectional encoder in Llama's shape, long texts in many languages
        ("eurobert",),
        "EuroBERT",
        stock="EuroBertModel",
        make_profile=partial(make_text_profile, name="eurobert"),
    ),
    "gte": text_family(  # of 2024 in its native form: gte-base-en-v1.5, gte-multilingual-base, Arctic Embed M 2.0
        ("gte",),
        "GTE v1.5 and gte-multilingual",
        stock="GteModel",
        make_profile=partial(make_text_profile, name="gte"),
        pooling="CLS",
    ),
    "jina_embeddings_v3": text_family(  # in its native form; a checkpoint has the adapter of one task merged
        ("jina_embeddings_v3",),
        "Jina Embeddings v3, adapters merged",
        stock="JinaEmbeddingsV3Model",
        make_profile=partial(make_text_profile, name="jina-embeddings-v3"),
        pooling="mean",
    ),
    "modernbert": text_family(  # most layers attend in a window; Granite embedding R2 too
        ("modernbert",),
        "ModernBERT: gte-modernbert, modernbert-embed and similar",
        stock="ModernBertModel",
        make_profile=partial(make_text_profile, name="modernbert"),
    ),
    "mpnet": text_family(  # attention adds relative positions, so it runs by equal lengths
        ("mpnet",),
        "MPNet: all-mpnet-base-v2 and similar",
        stock="MPNetModel",
        make_profile=lambda files: make_text_profile(files, name="mpnet", first_position=first_position(files)),
        pooling="mean, by its files",
    ),
    "nomic_bert": text_family(
        ("nomic_bert",),
        "NomicBert: nomic-embed-text",
        stock="NomicBertModel",
        make_profile=make_nomic_bert,
        pooling="mean",
        prompt="`search_query: `, `search_document: `",
        differences=(SCALED,),
    ),
    "xlm_roberta": text_family(
        ROBERTAS,
        "XLM-RoBERTa and RoBERTa: multilingual E5, BGE-M3 with sparse and token vectors",
        stock="XLMRobertaModel, RobertaModel",
        make_profile=make_roberta,
        more_tests=("tests/models/hybrid/",),
    ),
    "splade": Family(
        model_types=("bert", "distilbert", "modernbert"),
        about="SPLADE and OpenSearch's sparse encoders, its doc-only ones among them",
        make_profile=partial(make_text_profile, name="splade"),
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
    ),
}
