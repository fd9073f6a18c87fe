"""Folders of token vectors, sparse ones, towers and vision-language models that ask for what is not served."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tests.models.folders.bases import CONFIG, MODULES, NAMES, PROCESSOR, SETTINGS, TOKENIZER
from tests.models.folders.edits import Edit, put, remove, retensor, tensors, turn, write
from tests.models.folders.row import Row, by_key, by_words
from tests.models.late.colberts import fixed
from tests.models.late.colmodernvbert_checkpoint import PLACES
from tests.models.sparse.checkpoints import DOCUMENT, QUERIES

POOLING = {"idx": 4, "name": "4", "path": "4_Pooling", "type": "sentence_transformers.models.HierarchicalTokenPooling"}
FURTHER = "additional_chat_templates"
MASK, PROJECTION = "2_MultiVectorMask/config.json", "1_Dense/config.json"
ST = "sentence_transformers"


def reordered(change: Callable[[list[Any]], list[Any]], base: str, says: str) -> Row:
    return Row(f"{base}: modules: {says}", base, [turn(MODULES, change)], says)


def encoder(name: str) -> Row:
    """One that is not packed, or causal, below a projection."""
    dense = {"path": "1_Dense", "type": "pylate.models.Dense.Dense"}
    edits: list[Edit] = [
        write(NAMES, {"model_type": "ColBERT"}),
        write(MODULES, [{"path": "", "type": f"{ST}.models.Transformer"}, dense]),
        remove("1_Pooling"),
        write(PROJECTION, {"in_features": 32, "out_features": 8, "activation_function": IDENTITY}),
    ]
    return Row(f"ColBERT on {name}", name, edits, f"model_type '{name}'.*late interaction")


IDENTITY = "torch.nn.modules.linear.Identity"
COLBERTS = [
    *by_words("colbert", {r"model_type 'MultiVectorEncoder'.*modules\.json": remove(MODULES)}),
    *by_words("stock bert", {
        rf"{NAMES} has {key}.*each": write(NAMES, {"prompts": {}, key: value})
        for key, value in {"model_type": "ColBERT", "query_prefix": "[Q] ", "document_length": 180}.items()
    }),
    *by_words("stock bert", {r"no matrix linear\.weight": put(CONFIG, architectures=["HF_ColBERT"])}),
    *by_key("colbert", NAMES, xtr_top_k=5),
    *by_key("colbert", MASK, {"keep_only_token_ids": [7]}, {"skiplist_tasks": ["corpus"]}, skiplist_words="!"),
    *by_key("colbert", "3_Normalize/config.json", module_input_name="sentence_embedding"),
    *by_key("colbert", PROJECTION, module_input_name="sentence_embedding", module_output_name="projected"),
    *by_key("colbert", PROJECTION, use_residual="yes"),
    *by_key("colbert", SETTINGS, {"processing_kwargs": {"text": {}}}),
    *by_words("colbert", {
        "document_length .* is 'all'": put(SETTINGS, document_length="all"),
        "query_expansion": put(SETTINGS, query_expansion={"strategy": "most", "length": 8}),
        "length of a late-interaction model is 0": put(SETTINGS, query_expansion=fixed(0)),
        r"'\[HM\]'": put(SETTINGS, query_expansion=fixed(32, token="[HM]")),
        "1024 positions": put(SETTINGS, query_expansion=fixed(4096)),
        "query_length is 8": put(SETTINGS, query_length=8),
    }),
    reordered(lambda one: [*one, POOLING], "colbert", "HierarchicalTokenPooling"),
    reordered(lambda one: [one[0], one[3], one[1], one[2]], "colbert", "Transformer, Normalize, Dense"),
    reordered(lambda one: [*one, one[3]], "colbert", "two modules of the name '3'"),
    reordered(lambda one: one[1:], "colbert", "Dense, MultiVectorMask, Normalize"),
    reordered(lambda one: [{**one[0], "path": "0_Transformer"}, *one[1:]], "colbert", "a folder of its own"),
    reordered(lambda one: [one[0], {**one[1], "path": "../1_Dense"}], "colbert", "not a folder below it"),
    reordered(lambda one: [one[0], {**one[1], "type": "xtr.Dense"}], "colbert", "'xtr.Dense'"),
    reordered(lambda one: one[:1], "pylate", "no Dense"),
    encoder("mpnet"),
    encoder("qwen3_5_text"),
]  # fmt: skip
PAGE = "visual_prompt_prefix"


def without_projection(found: dict[str, torch.Tensor]) -> None:
    for end in ("weight", "bias"):
        del found[f"custom_text_proj.{end}"]


def of_vlm(**keys: object) -> Edit:
    return turn(CONFIG, lambda one: one | {"vlm_config": one["vlm_config"] | keys})


def of_part(part: str, **keys: object) -> Edit:
    return turn(CONFIG, lambda one: one | {part: one[part] | keys})


def of_images(**keys: object) -> Edit:
    return turn("processor_config.json", lambda one: one | {"image_processor": one["image_processor"] | keys})


def another_place(folder: Path) -> None:
    path = folder / "tokenizer.json"
    path.write_text(path.read_text().replace(PLACES[-1], "<row_5_col_5>"))


NO_PROJECTION = [put(CONFIG, architectures=["Qwen2_5_VLModel"]), retensor(without_projection)]
PAGES = [
    *by_words("colqwen2.5", {
        "query_prefix 3": put(CONFIG, cenote={"query_prefix": 3}),
        "query_end_tokens 0": put(CONFIG, cenote={"query_end_tokens": 0}),
        "object is needed": put(CONFIG, cenote=["a"]),
        r"custom_text_proj\.weight without custom_text_proj\.bias": tensors(**{"custom_text_proj.bias": None}),
        r"no linear layer custom_text_proj over the decoder's 64 numbers":
            tensors(**{"custom_text_proj.weight": torch.ones(128, 32)}),
    }),
    Row("no projection", "colqwen2.5", NO_PROJECTION, "--family", folder="plain"),
    Row("no projection, named", "colqwen2.5", NO_PROJECTION, "no linear layer custom_text_proj", family="colqwen2_5"),
    *by_words("colqwen2.5 of transformers", {
        "vlm_config of 'qwen2_audio'; supported: 'qwen2_vl' and": put(CONFIG, vlm_config={"model_type": "qwen2_audio"}),
    }),
    *by_words("colqwen3", {
        "embed_dim 128, but custom_text_proj gives 320": put(CONFIG, model_type="colqwen3", embed_dim=128),
        "dims 321, but custom_text_proj gives 320": put(CONFIG, model_type="ops_colqwen3", dims=321),
        "dims 'all'; a positive integer": put(CONFIG, model_type="ops_colqwen3", dims="all"),
        "mask_non_image_embeddings True": put(CONFIG, mask_non_image_embeddings=True),
        r"image_mean \[0\.4, 0\.4, 0\.4\]; supported": write(PROCESSOR, {"image_mean": [0.4, 0.4, 0.4]}),
        f"{PAGE} '<image>Descr": write("processor_config.json", {PAGE: "<image>Describe."}),
    }),
    *by_words("colpali", {
        "custom_text_proj over the decoder's 32 numbers": tensors(**{"custom_text_proj.weight": torch.ones(128, 16)}),
        "mask_non_image_embeddings True": put(CONFIG, mask_non_image_embeddings=True),
        "model of 'paligemma' with 'gemma2' and": of_part("text_config", model_type="gemma2"),
        "use_bidirectional_attention false": of_part("text_config", use_bidirectional_attention=False),
        "image_token_index 9 .* numbers <image> 4": put(CONFIG, image_token_index=9),
        "images of 56 pixels and image_seq_length 16; config.json has image_size 28":
            of_part("vision_config", image_size=28),
        "has image_seq_length|image_seq_length 9": put(PROCESSOR, image_seq_length=9),
        "scales by": put(PROCESSOR, image_mean=[0.4, 0.4, 0.4]),
        f"{PAGE} '<image>a'": put("processor_config.json", **{PAGE: "<image>a"}),
    }),
    *by_words("colpali of transformers", {
        "query_prefix 3; strings": put("processor_config.json", query_prefix=3),
        "vlm_config of 'qwen2_vl' with": of_vlm(model_type="qwen2_vl"),
    }),
    *by_words("colsmol", {
        r"has no linear layer linear$": tensors(**{"linear.weight": None}),
        "model of 'idefics3' with 'mistral'": of_part("text_config", model_type="mistral"),
        "scale_factor 3; the first has": put(CONFIG, scale_factor=3),
        "image_token_id 9, and": put(CONFIG, image_token_id=9),
        "query_end_tokens 0": put(CONFIG, cenote={"query_end_tokens": 0}),
    }),
    *by_words("colsmol, sentence-transformers", {
        r"processing_kwargs \{'text'": put(SETTINGS, processing_kwargs={"text": {"max_length": 3}}),
        "prompts .*supported for pages": put(NAMES, prompts={"query": "a"}),
        "1 Dense; supported for pages": put(PROJECTION, activation_function="torch.nn.modules.Tanh"),
        "skips nothing": put(MASK, skiplist_words=["a"]),
        "keep_only_token_ids": put(MASK, keep_only_token_ids=[4]),
        "for a query; .text. is needed there, once": write(f"{FURTHER}/{ST}.jinja", "<image>"),
        "truncate_dim 64": put(NAMES, truncate_dim=64),
        "query_length": put(SETTINGS, query_length=9),
    }),
    *by_words("colqwen3.5", {
        "head_dims: several heads": put(CONFIG, head_dims=[128, 320]),
        "retrieval_attention_contract 'window'; supported": put(CONFIG, retrieval_attention_contract="window"),
        "dim 64, but custom_text_proj gives 128": put(CONFIG, dim=64),
        "patch_size 14; supported: 16": put(PROCESSOR, patch_size=14),
    }),
    *by_words("colmodernvbert", {
        "vlm_config of 'idefics3'": of_vlm(model_type="idefics3"),
        "image_token_id 9, and tokenizer.json numbers <image> 4": of_vlm(image_token_id=9),
        "pixel_shuffle_factor 3; the first has": of_vlm(pixel_shuffle_factor=3),
        "image_seq_len 4; .* which are 1 tokens": of_vlm(pixel_shuffle_factor=4),
        f"{PAGE} '<image>'; supported": put("processor_config.json", **{PAGE: "<image>"}),
        "do_image_splitting False; supported: True": of_images(do_image_splitting=False),
        "image_mean": of_images(image_mean=[0.4, 0.4, 0.4]),
        "supported: a longest_edge of each": of_images(size={"height": 64, "width": 64}),
        "at most 4096": of_images(size={"longest_edge": 8192}),
        "resample 9; supported: 0 to 5": of_images(resample=9),
        "tiles of 64 pixels .* image_size 32": of_images(max_image_size={"longest_edge": 64}),
        "lacks the added tokens <row_4_col_4>": another_place,
    }),
]  # fmt: skip
NORMALIZE = {"path": "2_Normalize", "type": f"{ST}.base.modules.normalize.Normalize"}


def router(change: Callable[[dict[str, Any]], object]) -> Edit:
    def changed(found: dict[str, Any]) -> dict[str, Any]:
        change(found)
        return found

    return turn("router_config.json", changed)


def place(number: int, **keys: str) -> Callable[[list[Any]], list[Any]]:
    return lambda one: [entry | (keys if i == number else {}) for i, entry in enumerate(one)]


def outside(one: dict[str, Any]) -> None:
    one["types"]["../outside"] = one["types"][QUERIES]
    one["structure"]["query"] = ["../outside"]


SPARSE = [
    *by_key("splade", "1_SpladePooling/config.json", pooling_strategy="mean", activation_function="gelu"),
    *by_key("splade", SETTINGS, transformer_task="feature-extraction"),
    *by_words("splade", {"MultiVectorEncoder": put(NAMES, model_type="MultiVectorEncoder")}),
    reordered(place(0, path="0_Transformer"), "splade", r"modules\.json has .*Transformer in a folder of its own"),
    reordered(place(1, path="../1_SpladePooling"), "splade", r"modules\.json has .*not a folder below it"),
    reordered(place(1, type="another.SpladePooling"), "splade", r"modules\.json has .*'another\.SpladePooling'"),
    reordered(place(0, type=f"{ST}.sparse_encoder.modules.SparseAutoEncoder"), "splade", "SparseAutoEncoder, Splade"),
    reordered(lambda one: [*one, NORMALIZE], "splade", r"modules\.json has .*Normalize; supported with SpladePooling"),
    *by_words("inference free", {
        r"has no model\.safetensors": remove(f"{QUERIES}/model.safetensors"),
        r"has weight of shape \[7\]; the vocabulary has":
            tensors(f"{QUERIES}/model.safetensors", weight=torch.ones(7)),
        "another normalizer than .*one tokenizer for queries and documents":
            turn(f"{QUERIES}/tokenizer.json", lambda one: one | {"normalizer": None}),
        "has the routes document of Transformer, SpladePooling; supported: the routes query":
            router(lambda one: one["structure"].pop("query")),
        "query of SparseStaticEmbedding, SpladePooling":
            router(lambda one: one["structure"]["query"].append("document_1_SpladePooling")),
        "has route_mappings": router(lambda one: one["parameters"].update(route_mappings={"(None, 'text')": "x"})),
        "document of another.Transformer": router(lambda one: one["types"].update({DOCUMENT: "another.Transformer"})),
        "not a folder below it": router(outside),
    }),
]  # fmt: skip


def of_vision(**keys: object) -> Edit:
    return turn(CONFIG, lambda one: one | {"vision_config": one["vision_config"] | keys})


def of_audio(**keys: object) -> Edit:
    return turn(CONFIG, lambda one: one | {"audio_config": one["audio_config"] | keys})


TOWERS = [
    *by_key("clip", PROCESSOR, resample=9),
    *by_key("clip", CONFIG, projection_dim=0),
    *by_key("siglip2-naflex", PROCESSOR, patch_size=16),
    *by_key("siglip", TOKENIZER, padding_side="left"),
    *by_words("clip", {
        "longest_edge": put(PROCESSOR, size={"longest_edge": 40}),
        "crop_size": put(PROCESSOR, crop_size={"height": 32, "width": 30}),
        rf"{PROCESSOR} switches off do_resize": put(PROCESSOR, do_resize=False),
        rf"{PROCESSOR} switches off .*do_normalize": put(PROCESSOR, do_normalize=False),
        "squares of 32 pixels": put(PROCESSOR, crop_size=30),
        "no crop; supported: what ends in a square": put(PROCESSOR, do_center_crop=False),
        r"preprocessor_config\.json cannot be read": remove(PROCESSOR),
    }),
    *by_words("siglip2-naflex", {"max_num_patches 'x'": put(PROCESSOR, max_num_patches="x")}),
    *by_words("siglip", {
        "equal height and width": put(PROCESSOR, size={"height": 32, "width": 40}),
        "pad_token None": put(TOKENIZER, pad_token=None),
        "48 for texts and 64 for images": of_vision(hidden_size=64),
        "vision_use_head False": of_vision(vision_use_head=False),
    }),
    *by_key("clap", PROCESSOR, truncation="random", padding="mirror", sampling_rate=0, hop_length="160"),
    *by_key("clap", PROCESSOR, frequency_max=50, feature_size=32),
    *by_words("clap", {
        "enable_fusion False": of_audio(enable_fusion=False),
        "num_mel_bins 32": of_audio(num_mel_bins=32),
        "frames": of_audio(spec_size=64),
    }),
]  # fmt: skip
VLMS = [
    Row("nothing is guessed, and the error says what to say", "qwen2_vl", [],
        r"'qwen2_vl'.*--family.*cenote\.family.*gme_qwen2_vl \(GME-Qwen2-VL.*vlm2vec \(VLM2Vec",
        folder="segment-of-a-model"),
    Row("a class of Qwen3-VL whose mask nobody knows", "builtin",
        [put(CONFIG, architectures=["Qwen3VLBidirectionalModel"])],
        r"config\.json has architectures \['Qwen3VLBidirectionalModel'\]; supported of an embedder"),
    Row("a family of nobody", "qwen2_vl", [], "'no-such' is unknown; known: .*gme_qwen2_vl", family="no-such"),
    Row("a family of another type", "qwen2_vl", [], "the family qwen3_vl is of 'qwen3_vl'", family="qwen3_vl"),
    *by_words("qwen2_vl", {
        r"image_token_id 4, but tokenizer\.json numbers <\|image_pad\|> 5": put(CONFIG, image_token_id=4),
        "patch_size 16": put(CONFIG, vision_config={"patch_size": 16}),
        "hidden_size 0": put(CONFIG, hidden_size=0),
        "an object is needed": put(CONFIG, cenote=["gme"]),
    }, folder="gme"),
]  # fmt: skip
OTHERS = [*COLBERTS, *PAGES, *SPARSE, *TOWERS, *VLMS]
