"""Decoders as embedders: causal or made bidirectional by their files, which say pooling, prefixes and lengths.

Of a generator without modules of sentence-transformers nobody knows what makes a vector, and where a folder's own code
decides which tokens see each other, config.json has to say it by `is_causal`, which transformers reads.
"""

from dataclasses import replace
from functools import partial

from service.checkpoint.colbert_files import colbert_form
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.reranker_kind import architecture, module_kinds
from service.prompt.profile.decoder_profile import make_decoder_profile
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import make_text_profile, text_family

QWEN3_MIN_DIMENSIONS = 32
"""Shortest matryoshka prefix of Qwen3-Embedding's model card."""
GEMMA_DIMENSIONS = (128, 256, 512)
"""Lengths of the model card of EmbeddingGemma below the full 768."""
LFM2_BOTH_WAYS, LFM2_OF_TOKENS = "Lfm2BidirectionalModel", "Lfm2ModelOfTokens"
VOYAGE = "modeling_qwen3_bidirectional.Qwen3BidirectionalModel"
"""Its `AutoModel` of `auto_map`; `architectures` says `Qwen3ForCausalLM`."""
JINA_DIMENSIONS = (32, 64, 128, 256, 512, 768)
"""Lengths of the model cards of jina-embeddings-v5-text below or at the full 768 and 1024."""
VOYAGE_DIMENSIONS = (256, 512, 1024)
"""Lengths of its model card below the full 2048."""


def is_embedder(files: CheckpointFiles) -> bool:
    """True if modules say what makes its vectors: a language model alone may as well be a reranker, or neither."""
    return bool(module_kinds(files)) or not architecture(files).endswith("ForCausalLM")


def is_voyage(files: CheckpointFiles) -> bool:
    """True if the folder names the code of voyage-4-nano, whose vectors have `num_labels` numbers."""
    own = files.config.get("auto_map")
    return isinstance(own, dict) and str(own.get("AutoModel")).rpartition("--")[2] == VOYAGE


def make_voyage(files: CheckpointFiles) -> Profile:
    """Qwen3 in both directions, and a matrix behind it."""
    name = VOYAGE.partition(".")[2]
    made = make_decoder_profile(
        files, name="voyage", width="num_labels", matryoshka=VOYAGE_DIMENSIONS, is_known=True, model_class=name
    )
    return replace(made, architecture=f"projected:{name}")


def make_lfm2(files: CheckpointFiles) -> Profile:
    """Of which class it is decides what its short convolutions see; transformers has the causal one alone.

    LFM2.5-ColBERT has other code under the same name than LFM2.5-Embedding: there they see hidden tokens, too.
    """
    both_ways = architecture(files) == LFM2_BOTH_WAYS
    of_code = LFM2_OF_TOKENS if colbert_form(files) else LFM2_BOTH_WAYS
    return make_decoder_profile(
        files, name="lfm2", model_class=of_code if both_ways else "PackedLfm2Model", is_known=both_ways
    )


def make_jina_v5(files: CheckpointFiles) -> Profile:
    """Its own code pools the last token and brings it to length 1, and has prefixes for queries and documents."""
    made = make_text_profile(files, name="jina-embeddings-v5", pooling="last_token", matryoshka=JINA_DIMENSIONS)
    return replace(made, normalize=True)


TASK = "`Instruct: {instruction}\\nQuery:`; documents bare"
MEAN_OR_LAST = "mean or last token, by its files"
PADDED = Difference(
    "LFM2.5-Embedding in a padded batch, by its own code under transformers 4; LFM2.5-ColBERT by its own under any",
    "padding reaches into the short convolutions of the texts beside it",
    "as each text alone; transformers 5 clears padding first, too",
    "a vector must not depend on its neighbors",
)
decoder = partial(text_family, make_profile=make_decoder_profile, pooling=MEAN_OR_LAST, is_of=is_embedder)
"""A family of decoders; a generator alone is none of them."""

FAMILIES: dict[str, Family] = {
    "gemma": decoder(("gemma",), "Gemma as an embedder", "GemmaModel", name="gemma"),
    "gemma2": decoder(  # scores are capped, and every other layer attends in a window
        ("gemma2",), "Gemma 2: bge-multilingual-gemma2", "Gemma2Model", pooling="last token", name="gemma2"
    ),
    "gemma3_text": decoder(  # made bidirectional
        ("gemma3_text",),
        "EmbeddingGemma 300M",
        "Gemma3TextModel",
        pooling="mean, two Dense",
        name="embeddinggemma",
        matryoshka=GEMMA_DIMENSIONS,
    ),
    "jina_embeddings_v5": text_family(
        ("qwen3", "eurobert"),
        "jina-embeddings-v5-text small and nano, of one task: MODEL/adapters/TASK",
        "Qwen3Model, EuroBertModel",
        make_profile=make_jina_v5,
        pooling="last token",
        prompt="`Query: `, `Document: `, by its files",
        is_of=lambda files: architecture(files) == "JinaEmbeddingsV5Model",
        rank=1,
        more_tests=("tests/models/adapters/",),
    ),
    "lfm2": decoder(
        ("lfm2",),
        "LFM2.5-Embedding, and causal LFM2",
        "Lfm2Model, both ways by our own code",
        make_profile=make_lfm2,
        pooling="CLS",
        differences=(PADDED,),
    ),
    "llama": decoder(
        ("llama",), "Llama-type embedders, bidirectional (is_causal false) or causal", "LlamaModel", name="llama"
    ),
    "llama_bidirec": text_family(
        ("llama_bidirec",),
        "NVIDIA's bidirectional Llama: llama-nemotron-embed 1B and 300M, llama-embed-nemotron-8b",
        "LlamaModel without the causal mask",
        make_decoder_profile,
        "mean, CLS or last token, by `pooling` of config.json and its files",
        name="llama-bidirectional",
        model_class="LlamaBidirectionalModel",
        is_known=True,
    ),
    "ministral3": decoder(
        ("ministral3",),
        "Ministral 3: Nemotron-3-Embed 1B and 8B, bidirectional by is_causal",
        "Ministral3Model",
        pooling="mean, by `pooling` of config.json and its files",
        name="ministral3",
    ),
    "mistral": decoder(  # E5-Mistral, SFR-Embedding, Linq-Embed
        ("mistral",),
        "Mistral-type embedders: E5-Mistral",
        "MistralModel",
        pooling="last token",
        prompt="`Instruct: {instruction}\\nQuery: `; documents bare",
        name="mistral",
    ),
    "qwen2": decoder(
        ("qwen2",),
        "Qwen2: gte-Qwen2, stella_en_1.5B, jina-code-embeddings, inf-retriever, KaLM-embedding-mini",
        "Qwen2Model",
        name="qwen2",
    ),
    "qwen3": decoder(  # causal, the last token is pooled, documents stand bare, queries name a task
        ("qwen3",),
        "Qwen3-Embedding 0.6B, 4B and 8B, and fine-tunes of them",
        "Qwen3Model",
        pooling="last token",
        prompt=TASK,
        name="qwen3-embedding",
        min_dimensions=QWEN3_MIN_DIMENSIONS,
    ),
    "qwen3_5_text": decoder(  # linear attention, whose state is of one prompt: they run by equal lengths
        ("qwen3_5_text",), "Qwen3.5's text model as an embedder", "Qwen3_5TextModel", name="qwen3.5"
    ),
    "voyage": text_family(
        ("qwen3",),
        "voyage-4-nano",
        "Qwen3Model without the causal mask, and a linear layer",
        make_voyage,
        "mean",
        is_of=is_voyage,
        rank=1,
    ),
}
