"""Embedders' folders in the layouts of sentence-transformers 5.4 and 6, transformers 4 and 5 and the hub."""

from pathlib import Path
from typing import Any

import torch
from sentence_transformers.base.modules import Dense

from tests.models.folders.bases import CONFIG, DENSE, MODULES, NAMES, TOKENIZER
from tests.models.folders.bases import SETTINGS as BERT
from tests.models.folders.edits import Edit, modules, put, read, remove, retensor, tensors, turn, without, write
from tests.models.folders.row import Row, by_key, by_words

POOLING = "1_Pooling/config.json"
CUT, CLASS = put(BERT, max_seq_length=16), {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
FAST = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"}
WORDS = ("kitten", "bread")
"""Words that two rows of the embedding are for, behind the vocabulary."""


def added(token_id: int, content: str, **flags: bool) -> dict[str, Any]:
    return {"id": token_id, "content": content, "single_word": False, "lstrip": False, "rstrip": False} | flags


def listed(*tokens: dict[str, Any]) -> dict[str, Any]:
    """`added_tokens_decoder` of tokenizer_config.json."""
    every = {str(one["id"]): {key: value for key, value in one.items() if key != "id"} for one in tokens}
    return {"added_tokens_decoder": every}


SPECIALS = [
    added(i, f"[{name}]", normalized=False, special=True) for i, name in enumerate(("PAD", "UNK", "CLS", "SEP", "MASK"))
]


def with_rows(folder: Path) -> None:
    """Two more rows of the embedding, for added words."""

    def more(found: dict[str, torch.Tensor]) -> None:
        name = next(one for one in found if one.endswith("word_embeddings.weight"))
        rows = torch.randn(2, found[name].shape[1], generator=torch.Generator().manual_seed(1))
        found[name] = torch.cat([found[name], rows])

    retensor(more)(folder)
    put(CONFIG, vocab_size=read(folder, CONFIG)["vocab_size"] + 2)(folder)


def listing(place: str, *, first: int = 0) -> Edit:
    """Added words that one file has and the other has not."""

    def edit(folder: Path) -> None:
        with_rows(folder)
        tokenizer = read(folder, "tokenizer.json")
        start = len(tokenizer["model"]["vocab"]) + first
        words = [added(start + i, word, normalized=True, special=False) for i, word in enumerate(WORDS)]
        if place == "tokenizer.json":
            put(place, added_tokens=[*tokenizer["added_tokens"], *words])(folder)
        elif place == "added_tokens.json":
            write(place, {one["content"]: one["id"] for one in words})(folder)
        else:
            put(place, **listed(*tokenizer["added_tokens"], *words))(folder)

    return edit


def stripping(folder: Path) -> None:
    """Added words of both files, by one of which they take the blanks around them."""
    listing("tokenizer.json")(folder)
    both = {"lstrip": True, "rstrip": True}
    words = [one | (both if one["content"] in WORDS else {}) for one in read(folder, "tokenizer.json")["added_tokens"]]
    put(TOKENIZER, **listed(*words))(folder)


WITHOUT_NORMALIZE_FILE = remove("2_Normalize")
"""As released before sentence-transformers 5.4: git keeps no empty folder."""
OLD = "sentence_transformers.models"
OLD_NAMES = [
    modules((f"{OLD}.Transformer", ""), (f"{OLD}.Pooling", "1_Pooling"), (f"{OLD}.Normalize", "2_Normalize")),
    write(POOLING, {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}),
    WITHOUT_NORMALIZE_FILE,
]  # fmt: skip
"""Modules by their import paths before release 6, and the pooling's switches."""


def with_dense(**config: Any) -> Edit:
    """A Dense module in front of Normalize."""

    def edit(folder: Path) -> None:
        torch.manual_seed(3)
        (folder / "2_Dense").mkdir()
        Dense(32, activation_function=torch.nn.GELU(), **config).save(str(folder / "2_Dense"))
        dense = {"idx": 2, "name": "dense", "path": "2_Dense", "type": DENSE}
        turn(MODULES, lambda entries: [*entries[:2], dense, *entries[2:]])(folder)

    return edit


def arguments(**keys: Any) -> Edit:
    return put(BERT, processor_kwargs=keys)


EQUAL = [
    Row("the third of seven names", "distilbert",
        [remove(BERT), put("sentence_distilbert_config.json", max_seq_length=16)]),
    Row("the last of seven names", "bert", [remove(BERT), put("sentence_xlnet_config.json", max_seq_length=16)]),
    Row("an empty file before another", "bert",
        [write(BERT, {}), put("sentence_albert_config.json", max_seq_length=16)]),
    Row("a file with something before another", "bert", [CUT, put("sentence_albert_config.json", max_seq_length=9)]),
    Row("an older name of the tokenizer's arguments", "bert", [put(BERT, tokenizer_args={"model_max_length": 16})]),
    Row("the tokenizer's arguments", "roberta", [arguments(model_max_length=16)]),
    Row("both names of the tokenizer's arguments", "bert",
        [put(BERT, tokenizer_args={"model_max_length": 12}), arguments(model_max_length=20)]),
    Row("a length beside the tokenizer's argument", "bert", [CUT, arguments(model_max_length=12)]),
    Row("a length beside a shorter one of the tokenizer's file", "bert",
        [put(BERT, max_seq_length=24), put(TOKENIZER, model_max_length=16)]),
    Row("no length but the tokenizer's", "xlm_roberta",
        [put(BERT, max_seq_length=None), put(TOKENIZER, model_max_length=16)]),
    Row("the older name of a tokenizer's length", "bert", [write(TOKENIZER, FAST | {"max_len": 16})]),
    Row("an argument that the class reads", "bert", [arguments(do_lower_case=False), put(TOKENIZER, **CLASS)]),
    Row("lower case asked of sentence-transformers", "roberta", [put(BERT, do_lower_case=True)]),
    Row("arguments that change nothing", "bert",
        [put(BERT, model_args={"attn_implementation": "sdpa", "add_pooling_layer": False}),
         put(BERT, config_args={"hidden_act": "gelu"}, unpad_inputs=False)]),
    Row("modules in their older places", "bert", OLD_NAMES),
    Row("Normalize without a file", "bert", [WITHOUT_NORMALIZE_FILE]),
    Row("switches beside the pooling's mode", "bert",
        [put(POOLING, pooling_mode_mean_tokens=True, pooling_mode_cls_token=False)]),
    Row("a switch that is no boolean", "xlm_roberta",
        [write(POOLING, {"embedding_dimension": 32, "pooling_mode_cls_token": 1})]),
    Row("Dense with a residual of equal lengths", "bert", [with_dense(out_features=32, use_residual=True)]),
    Row("Dense with a residual of other lengths", "bert", [with_dense(out_features=16, use_residual=True)]),
    Row("a length cut behind Normalize", "bert", [put(NAMES, truncate_dim=20)]),
    Row("a length cut without Normalize", "mpnet", [put(NAMES, truncate_dim=20)]),
    Row("a length cut behind Dense and Normalize", "gemma3_text", [put(NAMES, truncate_dim=24)]),
    Row("a length cut that is longer than a vector", "bert", [put(NAMES, truncate_dim=400)]),
    Row("a default prompt", "xlm_roberta", [put(NAMES, default_prompt_name="passage")]),
    Row("a prompt that is null", "bert",
        [put(NAMES, prompts={"query": "q: ", "document": None}, default_prompt_name="query")]),
    Row("scores by dot products", "mpnet", [put(NAMES, similarity_fn_name="dot")]),
    Row("none of sentence-transformers' files", "bert", [remove(MODULES, NAMES, BERT)]),
    Row("names that say nothing, without modules", "distilbert", [remove(MODULES, BERT)]),
    Row("BERT's class with other ends", "bert", [put(TOKENIZER, **CLASS, cls_token="[MASK]")]),
    Row("BERT's class over a file without ends", "bert",
        [put(TOKENIZER, **CLASS), turn("tokenizer.json", lambda one: one | {"post_processor": None})]),
    Row("BERT's class with another unknown token", "bert", [put(TOKENIZER, **CLASS, unk_token="[MASK]")]),
    Row("BERT's class without lower case", "bert", [put(TOKENIZER, **(CLASS | {"do_lower_case": False}))]),
    Row("special_tokens_map.json against tokenizer_config.json", "bert",
        [put(TOKENIZER, **CLASS), put("special_tokens_map.json", cls_token="[PAD]")]),
    Row("words of added_tokens_decoder alone", "bert", [listing(TOKENIZER)]),
    Row("words of added_tokens_decoder alone, by BERT's class", "bert", [put(TOKENIZER, **CLASS), listing(TOKENIZER)]),
    Row("words of tokenizer.json alone", "bert", [listing("tokenizer.json")]),
    Row("words of tokenizer.json that BERT's class does not list", "bert",
        [put(TOKENIZER, **CLASS, **listed(*SPECIALS)), listing("tokenizer.json")]),
    Row("words of added_tokens.json", "bert", [listing("added_tokens.json")]),
    Row("words that take blanks by one file", "bert", [stripping]),
    Row("words that take blanks by one file, by BERT's class", "bert", [put(TOKENIZER, **CLASS), stripping]),
    Row("flags for ends that agree", "mistral", [put(TOKENIZER, add_bos_token=True, add_eos_token=True)]),
    Row("flags of the tokenizer's arguments that agree", "mistral",
        [arguments(add_bos_token=True, add_eos_token=True)]),
    Row("padding on the left of relative positions", "qwen3", [put(TOKENIZER, padding_side="left")]),
    Row("special tokens that are not parsed", "bert", [put(TOKENIZER, split_special_tokens=True)]),
    Row("a pooler that is not there", "bert", [without("pooler")]),
    Row("buffers of older releases", "bert", [tensors(**{"embeddings.position_ids": torch.arange(8)[None]})]),
]  # fmt: skip
XLNET = "sentence_xlnet_config.json"
LEFT = {"direction": "Left", "max_length": 32, "strategy": "LongestFirst", "stride": 0}
REFUSED = [
    *by_key("builtin", NAMES, truncate_dim=8, similarity_fn_name="manhattan"),
    *by_key("builtin", BERT, processing_kwargs={"image": {"max_pixels": 4096}}),
    *by_key("bert", BERT, config_args={"hidden_act": "relu"}, config_kwargs={"num_hidden_layers": 1},
            processor_kwargs={"stride": 3}, processing_kwargs={"text": {"max_length": 8}},
            tokenizer_name_or_path="bert-base-uncased", pool_layers=3, module_output_name="all_layer_embeddings"),
    *by_key("bert", BERT, {"model_kwargs": {"quantization_config": {"bits": 4}}}),
    *by_key("bert", TOKENIZER, truncation_side="left", padding_side="left"),
    *by_key("bert", TOKENIZER, model_input_names=["input_ids"]),
    *by_key("bert", TOKENIZER, {"auto_map": {"AutoTokenizer": ["tokenization.Mine", None]}}),
    *by_key("xlm_roberta", TOKENIZER, tokenizer_class="BarthezTokenizer"),
    *by_key("bert", NAMES, activation_fn="torch.nn.Tanh", similarity_fn_name="euclidean", truncate_dim=0),
    *by_key("bert", "2_Normalize/config.json", module_output_name="normalized", module_input_name="token_embeddings"),
    *by_key("bert", POOLING, layers=[1, 2]),
    Row("the prompt is not pooled, as a number", "bert", [put(POOLING, include_prompt=0)],
        rf"{POOLING} has include_prompt false"),
    *by_key("gemma3_text", "2_Dense/config.json", scale=0.5),
    Row("texts cut at the left by an older file", "bert",
        [remove(BERT), put(XLNET, tokenizer_args={"truncation_side": "left"})],
        r"sentence_xlnet_config\.json has truncation_side 'left'"),
    Row("the same in tokenizer.json", "bert", [put("tokenizer.json", truncation=LEFT)],
        "truncation with direction 'Left'"),
    Row("two poolings", "bert", [put(POOLING, pooling_mode=["mean", "cls"])], r"1_Pooling/config\.json pools by"),
    Row("a pooling of null", "bert", [turn(POOLING, lambda one: one | {"pooling_mode": None})],
        r"1_Pooling/config\.json pools by None"),
    Row("no pooling's folder", "bert", [remove("1_Pooling")],
        r"1_Pooling/config\.json is not there, which modules\.json"),
    Row("arguments of a module", "bert", [turn(MODULES, lambda one: [one[0] | {"kwargs": ["task"]}, *one[1:]])],
        r"modules\.json has kwargs \['task'\]"),
    Row("two modules of one name", "bert", [turn(MODULES, lambda one: [one[0], one[1] | {"name": "0"}, one[2]])],
        r"modules\.json has two modules of the name '0'"),
    Row("prompts without modules.json", "bert", [remove(MODULES)], rf"{NAMES} with prompts and no modules\.json"),
    Row("a length without modules.json", "distilbert", [remove(MODULES), CUT],
        rf"{BERT} with max_seq_length and no modules\.json"),
    Row("an end that no file has", "mistral", [put(TOKENIZER, add_eos_token=True, eos_token="</s>")],
        rf"{TOKENIZER} has add_eos_token True and eos_token '</s>'"),
    Row("an end that one file denies", "mistral", [put(TOKENIZER, add_eos_token=False)],
        rf"{TOKENIZER} has add_eos_token False .* tokenizer\.json puts"),
    Row("arguments that take an end away", "mistral", [put(BERT, tokenizer_args={"add_eos_token": True})],
        rf"{BERT}.* have add_eos_token True"),
    Row("an added word with another number", "bert", [listing(TOKENIZER, first=1)],
        rf"{TOKENIZER} gives the added token 'kitten' the id \d+"),
    Row("a class with an unknown token that is not there", "bert", [put(TOKENIZER, **CLASS, unk_token="<unk>")],
        rf"{TOKENIZER} has unk_token '<unk>'"),
    Row("a class with an end that is not there", "bert", [put(TOKENIZER, **CLASS, sep_token="</s>")],
        rf"{TOKENIZER} has sep_token '</s>'"),
    Row("random tokens", "roberta",
        [turn("tokenizer.json", lambda one: one | {"model": one["model"] | {"dropout": 0.1}})],
        r"tokenizer\.json has dropout 0\.1"),
    Row("an entry of the vocabulary without an embedding", "bert", [put(CONFIG, vocab_size=200)],
        r"tokenizer\.json has the token .* config\.json vocab_size 200"),
    *by_words("bert", {
        r"lacks 1 tensors.*layer\.1\.attention\.self\.query\.weight": without("layer.1.attention.self.query.weight"),
        r"lacks 16 tensors.*auto_map\), which is never run here": lambda folder: (
            without("layer.1.")(folder), put(CONFIG, auto_map={"AutoModel": "modeling.OtherModel"})(folder)
        ),
    }, at_load=True),
    *by_words("gemma3_text", {
        r"3_Dense has tensors .* expected .*linear\.bias": without("bias", "3_Dense/model.safetensors"),
        r"3_Dense has no model\.safetensors": remove("3_Dense/model.safetensors"),
        "2_Dense takes 16 numbers, but gets 32": put("2_Dense/config.json", in_features=16),
    }, at_load=True),
    Row("adapters of tasks", "qwen3", [write("adapters/retrieval/adapter_config.json", {"peft_type": "LORA"})],
        r"has the adapters of its tasks.*/adapters/TASK; its tasks: retrieval$"),
    *(Row(f"a {name} generator alone", f"{name} generator", [], "which several models share")
      for name in ("llama", "mistral", "gemma3_text")),
    Row("a class whose mask nobody knows", "llama", [put(CONFIG, architectures=["ReasonIRModel"], is_causal=None)],
        r"config\.json names code of its own .*'ReasonIRModel'.* no is_causal"),
    *by_words("llama", {
        "rope type dynamic; supported: default":
            put(CONFIG, rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}),
    }, at_load=True),
]  # fmt: skip
