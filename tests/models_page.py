"""Writes docs/models.md, a table of all model families made from `FAMILIES`: `make docs`."""

from collections.abc import Iterable
from typing import get_args

from service.prompt.families import FAMILIES
from service.prompt.profile.family import Kind
from tests.code_map import ROOT
from tests.models.used.models import USED
from tests.models.used.row import Used

PAGE = ROOT / "docs" / "models.md"

HEAD = """# Models

The family is chosen by the checkpoint's own files, or by `--family` and its name; a start with a checkpoint of no
family ends with the nearest ones ([how to add one](../service/prompt/README.md)). Each row is equal to its reference
within 1e-5 in float32, in mixed batches and alone, in the test that it names. Made by `make docs`.

`cenote models FOLDER` prints the resolved plan of a checkpoint, or why it cannot be served.
"""
SERVED = """
## Models that people serve

The most used ones of 2026, by what they give. Of their released files the keys were looked up, as far as they can be
seen; random folders with these keys are given to the loader, and a test holds this table to what it says. That vectors
are the references' was proven on random folders of each family, in the tests that the tables below name.

"""
ABOUT: dict[Kind, tuple[str, str]] = {
    "vision-language": (
        "Vision-language models",
        """The encoder cache keeps an image's features (a video's by pairs of frames); the result cache keeps vectors.
An item's parts are read in the reference's order, or by `part_order: as_written` where they stand
([which models take it](media.md#the-order-of-parts)).

Several embedders share Qwen2-VL's architecture and only names tell them apart: `--family gme_qwen2_vl` chooses one, or
`"cenote": {"family": "gme_qwen2_vl"}` in config.json; where neither does, the start ends with the choices.""",
    ),
    "late interaction": (
        "Late interaction",
        """An item has a vector for each token of its prompt, template and visual tokens alike, of unit length unless a
ColBERT's files say otherwise. `POST /v2/embed` answers them with the types `multi_float`, `multi_base64`, `multi_int8`,
`multi_uint8`, `multi_binary` and `multi_ubinary`, each in a field of its own; `/v1/embeddings` refuses such a model.
All vectors of an answer together may take `--max-features-bytes`, in the formats asked for: 64 pages of 700 tokens are
23 MB in `multi_float`, and 0.7 MB in `multi_ubinary`. MaxSim is `(queries @ pages.T).max(1).sum()`. The encoder cache
keeps a page's features.

`pool_factor` joins the vectors of a document's tokens that are similar (Clavié et al. 2024), all but the first: 2
leaves half of them, 3 a third, each the mean of a group at length 1. Pages and ColBERT's documents of up to 4,096
vectors are pooled; queries are refused. The vectors are those of sentence-transformers' `HierarchicalTokenPooling`, in
the order of the text.

ColQwen2.5, ColPali, ColSmol and similar models are released as [adapters](#adapters) over a base of their own. A base
alone is served as well, with the projection that its training began with: its name says what it is. Where a folder has
sentence-transformers' modules with a Dense, that is the projection, and the chat template that the files name says what
stands around a page and a query: the vectors are those of `MultiVectorEncoder`, and else those of colpali-engine.

BGE-M3 (below) has token vectors beside its dense one, of all tokens but the first; its own score divides MaxSim by the
number of the query's tokens.

ColBERT's text models have two sides, and `input_type` chooses: `search_query` (or `query`) is a query, all else and a
request without one a document. Markers or prefixes, lengths, the masks that a query is filled up with (attended to or
not), tokens whose vectors are dropped and projections are the files'. A text that is longer than its side allows is cut
unless `truncate` is `NONE`. The three forms are those of sentence-transformers 6 (`MultiVectorEncoder`), PyLate
(`pylate.models.Dense.Dense`) and ColBERT itself (`HF_ColBERT`, `artifact.metadata`). Scores are the plain sum, or its
mean with `similarity_fn_name: meanmaxsim`. Refused by name: other modules and keys, encoders that are causal.""",
    ),
    "text": (
        "Text models",
        """`instruction` (or a system message) is the prefix itself, put in front as it stands, like `prompt=` of
sentence-transformers. `input_type` picks the checkpoint's own: `search_query` (or `query`) its `query` prompt,
`search_document` (or `document`, `passage`) its `document`, `passage` or `corpus`, the first that is there: files that
hold `"document": ""` beside a `passage` prompt, as sentence-transformers 5 and later save E5, have no prefix for
`search_document`; `input_type: passage` has it. An `instruction` takes its place.
Where query prompts name a task (Qwen3-Embedding), an instruction is that task. The result cache keeps vectors. Models
that pool by the mean offer [late chunking](api.md#late-chunking), jina-embeddings-v4 too; a chunk of which the
tokenizer makes no token (a lone CRLF, to BERT's) is refused with its place, since it has no mean.""",
    ),
    "sparse": (
        "Sparse encoders",
        """An item has a weight for each of a few entries of the vocabulary. `POST /v2/embed` answers them with the type
`sparse`, as `{"indices": [...], "values": [...]}` with rising indices, and `/embed_sparse` as text-embeddings-inference
does; `/v1/embeddings` and streams refuse such a model. Scores are dot products. The logits of a batch are never there
together: they are pooled by chunks of tokens. The result cache keeps vectors. Where the files have a `Router`, as
OpenSearch's doc-only models do (`opensearch-neural-sparse-encoding-doc-v2-distill`), `input_type: query` is weights of
a table, without a forward; [the API](api.md#sparse-vectors) says what a text without `input_type` is.""",
    ),
    "two towers": (
        "Two-tower models",
        """An item is one text, or one image or audio file: both in one item, two images or an instruction are refused,
and every `input_type` means the same. Images are resized and cropped as the checkpoint's own `preprocessor_config.json`
says, bit for bit like transformers' PIL processors. The encoder cache keeps the final vector, so a repeated image costs
no forward; `/v1/image_embeds` gives and takes it.""",
    ),
    "images": (
        "Images alone",
        """An item is one image; a text is refused by name, and token ids and instructions likewise. Images are resized
and cropped as the checkpoint's own `preprocessor_config.json` says: BitImageProcessor and SiglipImageProcessor by
Pillow, bit for bit, and DINOv3ViTImageProcessor in float32 as torch does it. The encoder cache keeps the final vector,
and `/v1/image_embeds` gives and takes it. Refused by name: folders of another class of these types (classifiers, depth,
backbones), ConvNeXt's DINOv3, and C-RADIO and others that come with code of their own.""",
    ),
    "reranker": (
        "Rerankers",
        """A reranker scores pairs of a query and a document: its vector is one number, the logit. Its files tell
it from the embedder of the same architecture: a class that ends in ForSequenceClassification, modules of a
`CrossEncoder` (LogitScore, or Pooling with layers after it), or Qwen3-Reranker's chat template. Names and cards do not;
`--family qwen3_reranker` and `--family bge_gemma_reranker` take a folder whose files do not say. Prompts are those of
the folder's own chat template where it has one for pairs; a document that is too long is cut before the words that
follow it. A file's key that would be another score is done as sentence-transformers does it, or refused by name:
several labels, other activations than `Sigmoid` and `Identity`, listwise rerankers (jina-reranker-v3) and those of
code of their own (jina-reranker-m0).

A score is on the scale that the files give: `activation_fn` of config_sentence_transformers.json, else of config.json,
else a sigmoid, which is sentence-transformers' default. With `Identity` it is the logit itself, below 0 and above 1:
so in ettin-reranker, MS MARCO's, zerank and mxbai-rerank-v2. A scale that a card alone promises (zerank's
`sigmoid(x / 5)`) is the client's to make; `raw_scores` gives the logit of any of them.""",
    ),
}
REFUSED = """
## Memory

Of every family: what an engine process takes without a model (400 MiB), and its weights, the number of parameters
times 4 bytes in float32 and 2 in bfloat16 and float16, whatever their file has. On a CPU in float32 there are under
100 MiB more; while it starts the mapped file stands beside them. In bfloat16 on a CPU the mapped file is counted
while its pages are in memory, and matrices in the layout of the products are copies. On a GPU weights lie there, and
nothing was measured. Caches and the pixels' arena come on top, up to [their limits](settings.md)
(`--encoder-cache-bytes`, `--result-cache-bytes`, `--prefix-cache-bytes`, `--pixel-arena-bytes`), and the tensors of
one batch, which its tokens bound.

Measured of random weights of these shapes, saved in bfloat16, on two cores: the engine's resident memory, in MiB.

| shape | parameters | dtype | weights | ready | of it not in a file | most while it starts |
| --- | ---: | --- | ---: | ---: | ---: | ---: |
| BERT base | 109 M | float32 | 415 | 897 | 775 | 1,031 |
| BERT base | 109 M | bfloat16 | 208 | 595 | 309 | 595 |
| XLM-R large (BGE-M3) | 567 M | float32 | 2,162 | 2,669 | 2,547 | 3,655 |
| XLM-R large (BGE-M3) | 567 M | bfloat16 | 1,081 | 1,011 | 311 | 1,011 |
| Qwen3-Embedding-0.6B | 596 M | float32 | 2,273 | 2,724 | 2,605 | 3,815 |
| Qwen3-Embedding-0.6B | 596 M | bfloat16 | 1,136 | 2,140 | 1,176 | 2,157 |

## Adapters

`--model` takes a LoRA adapter of peft's (`adapter_config.json`, `adapter_model.safetensors`), by its hub id or folder,
over a base of every family: the base that `base_model_name_or_path` names is found likewise, and the two are merged
when they are loaded (`W + scale · B @ A` in float32), equal to peft's `merge_and_unload`. Read are `r`, `lora_alpha`,
`use_rslora`, `rank_pattern`, `alpha_pattern`, `use_dora`, `bias`, `modules_to_save`, and the keys that choose layers
(`target_modules`, `exclude_modules`, `layers_to_transform`, `layers_pattern`), which have to name the layers of the
tensors. Refused by name: embeddings' LoRA, `lora_bias`, `target_parameters`, `trainable_token_indices`, weights that
the adapter's making changed (`pissa`, `olora`, `loftq`, ...), all keys that are not known, and a change of the rows by
which a judge scores. Files of sentence-transformers are the adapter's where it has a `modules.json`, and else the
base's; those of the tokenizer and processor are the adapter's, where it has them. Links to both lie in a folder below
`~/.cache/cenote/adapters` (`XDG_CACHE_HOME` moves it). Over a quantized base the sum is not quantized again, as peft's
would be.

A checkpoint that has adapters of several tasks beside its weights, in `adapters/` (jina-embeddings-v5-text a folder
for each, jina-embeddings-v4 one file for all), is served with one of them: `--model MODEL/adapters/TASK`, where MODEL
is its folder or hub id, as in `jinaai/jina-embeddings-v5-text-small/adapters/retrieval`. MODEL alone is refused with
the names of its tasks, since no vector is of its weights alone.

Several adapters of one base on one address [share its memory](several-models.md#adapters-of-one-base).

## Quantized weights

Weights that their makers quantized are dequantized when they are loaded, matrix by matrix, to the dtype that is served:
the memory is that of the whole model. No library of these formats is needed. What activations or a cache of keys,
quantized too, would lose is not imitated. `quantization_config` of config.json says which it is, and each of its keys
is obeyed or refused by name.

Each is proven on small random folders of the released layout.

| `quant_method` | what is read | equal to |
| --- | --- | --- |
| `compressed-tensors` | `float-quantized` FP8, scales of matrices, outputs or blocks | compressed-tensors |
| `fp8` | `weight_scale_inv` of blocks, or of matrices | transformers, `dequantize=True` |
| `awq` | 4 bits, `gemm` | AutoAWQ's formula, on matrices that its packing gives |
| `gptq` | 2, 4 and 8 bits, `gptq` and `gptq_v2`, `desc_act` | gptqmodel's formula, likewise |
| `bitsandbytes` | NF4, double quantization too, of any storage type | bitsandbytes, on what transformers saves |

Products are made in the number format of the scales, as the formats' own code makes them. A projection or a head that
is read by rows has to be in floats. Other methods, integers of compressed-tensors, MXFP8 and NVFP4 are refused.

## Checkpoints that are refused

The start, and `cenote models FOLDER` before it, refuses in one sentence: an `adapter_config.json` beside the weights or
in `adapters/`, quantized weights other than those above, a file that is cut short, rope types that depend on the batch,
and a `modules.json` without Pooling, or with Dense and the like where the model is of neither texts nor pages. Code
of a checkpoint (`auto_map`) is never run; a decoder that brings some for `AutoModel` and whose config.json has no
`is_causal` is refused, since nobody then knows which tokens see each other. Tensors that the model does not know end
the start too, except heads of other tasks and buffers, which are logged; `"cenote": {"unread_tensors": ["beginning of
their names", ...]}` in config.json lets others pass. Where `tokenizer_config.json` and `tokenizer.json` disagree, the
former counts, as transformers' classes have it.

The chat template of a Qwen3-VL-Embedding is what its reference makes prompts by: one that joins instruction, texts and
images otherwise is refused, with what it writes. A folder without any has the family's.

A key of sentence-transformers' files that changes vectors is obeyed, or refused with its file and name, and so is one
that is not known: `config_args` that change config.json, `processing_kwargs`, `truncation_side: left`,
`similarity_fn_name` other than `cosine` and `dot`, `kwargs` of a module. Without a `modules.json` those files may say
nothing, since sentence-transformers then reads none of them. Added tokens beyond the embedding's rows are read as text.
"""
DIFFERENCES = """
## Differences from the references

Cases in which vectors differ on purpose.

| case | reference | here | reason |
| --- | --- | --- | --- |
| a special token in a client's text or instruction: `[SEP]`, `[CLS]`, `<s>`, `<\\|im_end\\|>`, ... | parses it: the token itself | characters like any others; `--strict-reference` parses it, but never tokens that stand for media | a text cannot end its turn, put another token at the pooled place or pretend to be an image; of 25,784 docstrings that are rich in them 36 differ, cosine 0.91 to 0.999 |
| texts beyond 128 characters for each token of the limit (16,384 at least), where tokens have no bound in bytes (WordPiece, Unigram) | tokenizes all of it, then cuts | refused, or cut there before it is tokenized | a megabyte of blanks would be tokenized for one token; such a text differs only if the part beyond would have counted |
| `add_eos_token` or `add_bos_token` true in tokenizer_config.json, where tokenizer.json adds no such token (E5-Mistral as released) | transformers 5 drops the flags and pools the text's last word; transformers 4 and the cards' code add the token | added | the models are trained with it |
| an added token that the embedding has no row for (EmbeddingGemma's `<image_soft_token>`, under `--strict-reference`) | an index error | its characters | there is no vector of it |
| PNG in RGB with a transparent color (`tRNS`): Qwen3-VL, GME, Ops-MM, VLM2Vec, jina-v4, nomic | transformers 5's processors paint it white, older releases kept it | the stored color; `"image_background": "#ffffff"` paints it white | the embedders' own scripts convert to it |
"""  # noqa: E501


def models_page() -> str:
    """The whole page."""
    sections = "".join(_section(kind) for kind in get_args(Kind))
    rows = [
        _row(case.what, case.reference, case.here, case.why)
        for family in FAMILIES.values()
        for case in family.differences
    ]
    return HEAD + SERVED + _served() + sections + REFUSED + DIFFERENCES + "".join(rows)


def _served() -> str:
    columns = ("of", "models", "`model_type`, class", "here")
    rows = [_row(kind, ", ".join(one.names), *_told(one)) for kind, found in USED.items() for one in found]
    return f"{_row(*columns)}{_row(*['---'] * len(columns))}{''.join(rows)}"


def _told(one: Used) -> tuple[str, str]:
    """What config.json says of a model, and what is made of it here."""
    said = [str(name) for name in (one.config.get("model_type"), *(one.config.get("architectures") or ())[:1]) if name]
    here = f"`{one.family}`" if one.family else "; ".join(filter(None, (f"refused: {one.refused}", one.why)))
    chosen = " by `--family`" if one.chosen else " by `MODEL/adapters/TASK`" if one.tasks else ""
    return ", ".join(f"`{name}`" for name in said), here + chosen


def _section(kind: Kind) -> str:
    title, about = ABOUT[kind]
    columns = ("family", "`model_type`", "class in transformers", "modalities", "pooling", "prompt", "test")
    rows = [
        _row(
            f"{family.about}: `{name}`",
            ", ".join(f"`{model_type}`" for model_type in family.model_types),
            family.stock,
            family.modalities,
            family.pooling,
            family.prompt,
            ", ".join(f"`{path}`" for path in family.tests),
        )
        for name, family in FAMILIES.items()
        if family.kind == kind
    ]
    return f"\n## {title}\n\n{about}\n\n{_row(*columns)}{_row(*['---'] * len(columns))}{''.join(rows)}"


def _row(*cells: str) -> str:
    return "| " + " | ".join(_escaped(cells)) + " |\n"


def _escaped(cells: Iterable[str]) -> Iterable[str]:
    return (cell.replace("|", "\\|") for cell in cells)


if __name__ == "__main__":
    PAGE.write_text(models_page())
