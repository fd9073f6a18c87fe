"""Text encoders of transformers that differ in names alone: pooling, prefixes and lengths are in their own files."""

from functools import partial

from service.prompt.profile.text_profile import make_text_profile, text_family

GEMMA_DIMENSIONS = (128, 256, 512)
"""Lengths of the model card of EmbeddingGemma below the full 768."""

MPNET_FIRST_POSITION = 2
"""Positions 0 and 1 are of padding, as in RoBERTa."""

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
    "gemma3_text": text_family(  # made bidirectional
        ("gemma3_text",),
        "EmbeddingGemma 300M",
        stock="Gemma3TextModel",
        make_profile=partial(make_text_profile, name="embeddinggemma", matryoshka=GEMMA_DIMENSIONS),
        pooling="mean, two Dense",
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
    "llama": text_family(  # `is_causal` is false in config.json of Llama-Nemotron-Embed
        ("llama",),
        "Llama-type embedders, bidirectional (is_causal false) or causal",
        stock="LlamaModel",
        make_profile=partial(make_text_profile, name="llama"),
        pooling="mean or last token, by its files",
    ),
    "mistral": text_family(  # E5-Mistral, SFR-Embedding, Linq-Embed
        ("mistral",),
        "Mistral-type embedders: E5-Mistral",
        stock="MistralModel",
        make_profile=partial(make_text_profile, name="mistral"),
        pooling="last token",
        prompt="`Instruct: {instruction}\\nQuery: `; documents bare",
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
        make_profile=partial(make_text_profile, name="mpnet", first_position=MPNET_FIRST_POSITION),
        pooling="mean, by its files",
    ),
}
