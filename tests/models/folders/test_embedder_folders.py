"""Embedders' folders in the layouts of sentence-transformers 5.4 and 6, transformers 4 and 5 and the hub.

Each is equal to its reference, or refused by a sentence that names the file and the key. The reference is
sentence-transformers on the same folder, but for what transformers 5 lost (`LOST`).
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from service.checkpoint.errors import CheckpointError, UnsupportedModelError
from service.checkpoint.hub import CHECKPOINT
from service.prompt.build import PromptBuilder
from service.prompt.detect import load_profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from tests.conftest import TOLERANCE
from tests.models.folders.embedder_changes import (
    MODULES,
    SPECIALS,
    TOKENIZER,
    listed,
    listing,
    old_names,
    stripping,
    with_dense,
    without_normalize_file,
)
from tests.models.folders.folders import GONE, Folder, Whole, edit, read
from tests.models.text.checkpoints import make_checkpoint
from tests.models.text.conftest import serve

TEXTS = [
    "The KITTEN purrs when somebody strokes it behind the ears, bread and tea, " * 2,
    "École 快速 x",
    "a bread b",
    ".",
]
BERT, NAMES = "sentence_bert_config.json", "config_sentence_transformers.json"
CUT = {"max_seq_length": 16}
CLASS = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
FAST = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"}

EQUAL = [
    Folder("the third of seven names", "distilbert", {BERT: GONE, "sentence_distilbert_config.json": CUT}),
    Folder("the last of seven names", "bert", {BERT: GONE, "sentence_xlnet_config.json": CUT}),
    Folder("an empty file before another", "bert", {BERT: Whole({}), "sentence_albert_config.json": CUT}),
    Folder(
        "a file with something before another",
        "bert",
        {BERT: CUT, "sentence_albert_config.json": {"max_seq_length": 9}},
    ),
    Folder("an older name of the tokenizer's arguments", "bert", {BERT: {"tokenizer_args": {"model_max_length": 16}}}),
    Folder("the tokenizer's arguments", "roberta", {BERT: {"processor_kwargs": {"model_max_length": 16}}}),
    Folder(
        "both names of the tokenizer's arguments",
        "bert",
        {BERT: {"tokenizer_args": {"model_max_length": 12}, "processor_kwargs": {"model_max_length": 20}}},
    ),
    Folder(
        "a length beside the tokenizer's argument", "bert", {BERT: CUT | {"processor_kwargs": {"model_max_length": 12}}}
    ),
    Folder(
        "a length beside a shorter one of the tokenizer's file",
        "bert",
        {BERT: {"max_seq_length": 24}, TOKENIZER: {"model_max_length": 16}},
    ),
    Folder(
        "no length but the tokenizer's",
        "xlm_roberta",
        {BERT: {"max_seq_length": None}, TOKENIZER: {"model_max_length": 16}},
    ),
    Folder("the older name of a tokenizer's length", "bert", {TOKENIZER: Whole(FAST | {"max_len": 16})}),
    Folder(
        "an argument that the class reads",
        "bert",
        {BERT: {"processor_kwargs": {"do_lower_case": False}}, TOKENIZER: CLASS},
    ),
    Folder("lower case asked of sentence-transformers", "roberta", {BERT: {"do_lower_case": True}}),
    Folder(
        "arguments that change nothing",
        "bert",
        {
            BERT: {
                "model_args": {"attn_implementation": "sdpa", "add_pooling_layer": False},
                "config_args": {"hidden_act": "gelu"},
                "unpad_inputs": False,
            }
        },
    ),
    Folder("modules in their older places", "bert", change=old_names),
    Folder("Normalize without a file", "bert", change=without_normalize_file),
    Folder(
        "switches beside the pooling's mode",
        "bert",
        {"1_Pooling/config.json": {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}},
    ),
    Folder(
        "a switch that is no boolean",
        "xlm_roberta",
        {"1_Pooling/config.json": Whole({"embedding_dimension": 32, "pooling_mode_cls_token": 1})},
    ),
    Folder("Dense with a residual of equal lengths", "bert", change=with_dense(out_features=32, use_residual=True)),
    Folder("Dense with a residual of other lengths", "bert", change=with_dense(out_features=16, use_residual=True)),
    Folder("a length cut behind Normalize", "bert", {NAMES: {"truncate_dim": 20}}),
    Folder("a length cut without Normalize", "mpnet", {NAMES: {"truncate_dim": 20}}),
    Folder("a length cut behind Dense and Normalize", "gemma3_text", {NAMES: {"truncate_dim": 24}}),
    Folder("a length cut that is longer than a vector", "bert", {NAMES: {"truncate_dim": 400}}),
    Folder("a default prompt", "xlm_roberta", {NAMES: {"default_prompt_name": "passage"}}),
    Folder(
        "a prompt that is null",
        "bert",
        {NAMES: {"prompts": {"query": "q: ", "document": None}, "default_prompt_name": "query"}},
    ),
    Folder("scores by dot products", "mpnet", {NAMES: {"similarity_fn_name": "dot"}}),
    Folder("none of sentence-transformers' files", "bert", {MODULES: GONE, NAMES: GONE, BERT: GONE}),
    Folder("names that say nothing, without modules", "distilbert", {MODULES: GONE, BERT: GONE}),
    Folder("BERT's class with other ends", "bert", {TOKENIZER: CLASS | {"cls_token": "[MASK]"}}),
    Folder(
        "BERT's class over a file without ends", "bert", {TOKENIZER: CLASS, "tokenizer.json": {"post_processor": None}}
    ),
    Folder("BERT's class with another unknown token", "bert", {TOKENIZER: CLASS | {"unk_token": "[MASK]"}}),
    Folder("BERT's class without lower case", "bert", {TOKENIZER: CLASS | {"do_lower_case": False}}),
    Folder(
        "special_tokens_map.json against tokenizer_config.json",
        "bert",
        {TOKENIZER: CLASS, "special_tokens_map.json": {"cls_token": "[PAD]"}},
    ),
    Folder("words of added_tokens_decoder alone", "bert", change=listing(TOKENIZER)),
    Folder(
        "words of added_tokens_decoder alone, by BERT's class", "bert", {TOKENIZER: CLASS}, change=listing(TOKENIZER)
    ),
    Folder("words of tokenizer.json alone", "bert", change=listing("tokenizer.json")),
    Folder(
        "words of tokenizer.json that BERT's class does not list",
        "bert",
        {TOKENIZER: CLASS | listed(*SPECIALS)},
        change=listing("tokenizer.json"),
    ),
    Folder("words of added_tokens.json", "bert", change=listing("added_tokens.json")),
    Folder("words that take blanks by one file", "bert", change=stripping),
    Folder("words that take blanks by one file, by BERT's class", "bert", {TOKENIZER: CLASS}, change=stripping),
    Folder("flags for ends that agree", "mistral", {TOKENIZER: {"add_bos_token": True, "add_eos_token": True}}),
    Folder(
        "flags of the tokenizer's arguments that agree",
        "mistral",
        {BERT: {"processor_kwargs": {"add_bos_token": True, "add_eos_token": True}}},
    ),
    Folder("padding on the left of relative positions", "qwen3", {TOKENIZER: {"padding_side": "left"}}),
    Folder("special tokens that are not parsed", "bert", {TOKENIZER: {"split_special_tokens": True}}),
]


REFUSED = [
    Folder(
        "vectors of images that are cut",
        "builtin",
        {NAMES: {"truncate_dim": 8}},
        r"config_sentence_transformers\.json has truncate_dim 8",
    ),
    Folder(
        "images of another size",
        "builtin",
        {BERT: {"processing_kwargs": {"image": {"max_pixels": 4096}}}},
        r"sentence_bert_config\.json has processing_kwargs\.image\.max_pixels 4096",
    ),
    Folder(
        "another similarity of images",
        "builtin",
        {NAMES: {"similarity_fn_name": "manhattan"}},
        r"config_sentence_transformers\.json has similarity_fn_name 'manhattan'",
    ),
    Folder(
        "an argument for the configuration",
        "bert",
        {BERT: {"config_args": {"hidden_act": "relu"}}},
        r"sentence_bert_config\.json has config_args\.hidden_act 'relu'",
    ),
    Folder(
        "its newer name",
        "bert",
        {BERT: {"config_kwargs": {"num_hidden_layers": 1}}},
        r"sentence_bert_config\.json has config_kwargs\.num_hidden_layers 1",
    ),
    Folder(
        "an argument for the model",
        "bert",
        {BERT: {"model_kwargs": {"quantization_config": {"bits": 4}}}},
        r"sentence_bert_config\.json has model_kwargs\.quantization_config",
    ),
    Folder(
        "an argument for the tokenizer",
        "bert",
        {"sentence_xlnet_config.json": {"tokenizer_args": {"truncation_side": "left"}}, BERT: GONE},
        r"sentence_xlnet_config\.json has truncation_side 'left'",
    ),
    Folder(
        "one that is not known",
        "bert",
        {BERT: {"processor_kwargs": {"stride": 3}}},
        r"sentence_bert_config\.json has processor_kwargs\.stride 3",
    ),
    Folder(
        "texts cut at the left",
        "bert",
        {TOKENIZER: {"truncation_side": "left"}},
        r"tokenizer_config\.json has truncation_side 'left'",
    ),
    Folder(
        "the same in tokenizer.json",
        "bert",
        {
            "tokenizer.json": {
                "truncation": {"direction": "Left", "max_length": 32, "strategy": "LongestFirst", "stride": 0}
            }
        },
        r"tokenizer\.json has truncation with direction 'Left'",
    ),
    Folder(
        "padding at the left of counted positions",
        "bert",
        {TOKENIZER: {"padding_side": "left"}},
        r"tokenizer_config\.json has padding_side 'left'",
    ),
    Folder(
        "padding that is attended to",
        "bert",
        {TOKENIZER: {"model_input_names": ["input_ids"]}},
        r"tokenizer_config\.json has model_input_names \['input_ids'\]",
    ),
    Folder(
        "a tokenizer of its own code",
        "bert",
        {TOKENIZER: {"auto_map": {"AutoTokenizer": ["tokenization.Mine", None]}}},
        r"tokenizer_config\.json has auto_map",
    ),
    Folder(
        "another tokenizer's folder",
        "bert",
        {BERT: {"tokenizer_name_or_path": "bert-base-uncased"}},
        r"sentence_bert_config\.json has tokenizer_name_or_path",
    ),
    Folder(
        "arguments for each call",
        "bert",
        {BERT: {"processing_kwargs": {"text": {"max_length": 8}}}},
        r"sentence_bert_config\.json has processing_kwargs",
    ),
    Folder(
        "an unknown key of the Transformer",
        "bert",
        {BERT: {"pool_layers": 3}},
        r"sentence_bert_config\.json has pool_layers 3",
    ),
    Folder(
        "another output of the Transformer",
        "bert",
        {BERT: {"module_output_name": "all_layer_embeddings"}},
        r"sentence_bert_config\.json has module_output_name",
    ),
    Folder(
        "an unknown key of the model",
        "bert",
        {NAMES: {"activation_fn": "torch.nn.Tanh"}},
        r"config_sentence_transformers\.json has activation_fn",
    ),
    Folder(
        "another similarity",
        "bert",
        {NAMES: {"similarity_fn_name": "euclidean"}},
        r"config_sentence_transformers\.json has similarity_fn_name 'euclidean'",
    ),
    Folder(
        "a length of nothing",
        "bert",
        {NAMES: {"truncate_dim": 0}},
        r"config_sentence_transformers\.json has truncate_dim 0",
    ),
    Folder(
        "Normalize into another name",
        "bert",
        {"2_Normalize/config.json": {"module_output_name": "normalized"}},
        r"2_Normalize/config\.json has module_output_name 'normalized'",
    ),
    Folder(
        "Normalize of another name",
        "bert",
        {"2_Normalize/config.json": {"module_input_name": "token_embeddings"}},
        r"2_Normalize/config\.json has module_input_name 'token_embeddings'",
    ),
    Folder(
        "an unknown key of the pooling",
        "bert",
        {"1_Pooling/config.json": {"layers": [1, 2]}},
        r"1_Pooling/config\.json has layers \[1, 2\]",
    ),
    Folder(
        "a prompt that is not pooled",
        "bert",
        {"1_Pooling/config.json": {"include_prompt": 0}},
        r"1_Pooling/config\.json has include_prompt",
    ),
    Folder(
        "two poolings",
        "bert",
        {"1_Pooling/config.json": {"pooling_mode": ["mean", "cls"]}},
        r"1_Pooling/config\.json pools by",
    ),
    Folder(
        "a pooling of null",
        "bert",
        {"1_Pooling/config.json": {"pooling_mode": None}},
        r"1_Pooling/config\.json pools by None",
    ),
    Folder(
        "no pooling's folder",
        "bert",
        {"1_Pooling": GONE},
        r"1_Pooling/config\.json is not there, which modules\.json names",
    ),
    Folder(
        "arguments of a module",
        "bert",
        change=edit(MODULES, lambda one: [one[0] | {"kwargs": ["task"]}, *one[1:]]),
        says=r"modules\.json has kwargs \['task'\]",
    ),
    Folder(
        "two modules of one name",
        "bert",
        change=edit(MODULES, lambda one: [one[0], one[1] | {"name": "0"}, one[2]]),
        says=r"modules\.json has two modules of the name '0'",
    ),
    Folder(
        "an unknown key of Dense",
        "gemma3_text",
        {"2_Dense/config.json": {"scale": 0.5}},
        r"2_Dense/config\.json has scale 0\.5",
    ),
    Folder(
        "prompts without modules.json",
        "bert",
        {MODULES: GONE},
        r"config_sentence_transformers\.json with prompts and no modules\.json",
    ),
    Folder(
        "a length without modules.json",
        "distilbert",
        {MODULES: GONE, BERT: CUT},
        r"sentence_bert_config\.json with max_seq_length and no modules\.json",
    ),
    Folder(
        "an end that no file has",
        "mistral",
        {TOKENIZER: {"add_eos_token": True, "eos_token": "</s>"}},
        r"tokenizer_config\.json has add_eos_token True and eos_token '</s>'",
    ),
    Folder(
        "an end that one file denies",
        "mistral",
        {TOKENIZER: {"add_eos_token": False}},
        r"tokenizer_config\.json has add_eos_token False .* tokenizer\.json puts",
    ),
    Folder(
        "arguments that take an end away",
        "mistral",
        {BERT: {"tokenizer_args": {"add_eos_token": True}}},
        r"sentence_bert_config\.json.* have add_eos_token True",
    ),
    Folder(
        "an added word with another number",
        "bert",
        change=listing(TOKENIZER, first=1),
        says=r"tokenizer_config\.json gives the added token 'kitten' the id \d+",
    ),
    Folder(
        "a class with an unknown token that is not there",
        "bert",
        {TOKENIZER: CLASS | {"unk_token": "<unk>"}},
        r"tokenizer_config\.json has unk_token '<unk>'",
    ),
    Folder(
        "a class with an end that is not there",
        "bert",
        {TOKENIZER: CLASS | {"sep_token": "</s>"}},
        r"tokenizer_config\.json has sep_token '</s>'",
    ),
    Folder(
        "a class that is not read",
        "xlm_roberta",
        {TOKENIZER: {"tokenizer_class": "CamembertTokenizer"}},
        r"tokenizer_config\.json has tokenizer_class 'CamembertTokenizer'",
    ),
    Folder(
        "random tokens",
        "roberta",
        change=edit("tokenizer.json", lambda one: one | {"model": one["model"] | {"dropout": 0.1}}),
        says=r"tokenizer\.json has dropout 0\.1",
    ),
    Folder(
        "an entry of the vocabulary without an embedding",
        "bert",
        {"config.json": {"vocab_size": 200}},
        r"tokenizer\.json has the token .* config\.json vocab_size 200",
    ),
    Folder(
        "BERT's tokenizer's own expression of Mistral",
        "bert",
        {TOKENIZER: {"fix_mistral_regex": True}},
        r"tokenizer_config\.json has fix_mistral_regex True",
    ),
]


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The checkpoint of a family, made when it is first asked for."""
    made: dict[str, Path] = {"builtin": CHECKPOINT}

    def start(name: str) -> Path:
        if name not in made:
            made[name] = make_checkpoint(name, tmp_path_factory.mktemp(name) / "checkpoint")
        return made[name]

    return start


@pytest.mark.parametrize("row", EQUAL, ids=lambda row: row.what)
def test_a_folder_is_equal_to_its_reference(row: Folder, start: Callable[[str], Path], tmp_path: Path) -> None:
    served = serve(row.make(start(row.start), tmp_path / "folder"))
    theirs = served.reference.encode(TEXTS, batch_size=2)
    assert np.abs(served.vectors(TEXTS, side="right") - theirs).max() <= TOLERANCE


FLAGS = {"add_bos_token": True, "add_eos_token": True}


@pytest.mark.parametrize("start_of", ["mistral", "llama", "qwen3", "gemma3_text"])
@pytest.mark.parametrize("has_head", [True, False])
def test_an_end_that_a_flag_asks_for_is_added(
    start_of: str, has_head: bool, start: Callable[[str], Path], tmp_path: Path
) -> None:
    """As E5-Mistral is released: transformers 5 drops the flags of its file, and obeys them where they are given."""
    template = read(start(start_of), "tokenizer.json")["post_processor"]
    first = next(i for i, piece in enumerate(template["single"]) if "Sequence" in piece)
    single = template["single"][0 if has_head else first : first + 1]
    row = Folder(
        "",
        start_of,
        {TOKENIZER: FLAGS | HEAD[start_of], "tokenizer.json": {"post_processor": template | {"single": single}}},
    )
    folder = row.make(start(start_of), tmp_path / "folder")
    served = serve(folder)
    theirs = SentenceTransformer(str(folder), device="cpu", processor_kwargs=dict(FLAGS))
    end = read(folder, TOKENIZER)["eos_token"]
    assert served.tokenizer.id_to_token(served.token_ids("x")[-1]) == end
    assert np.abs(served.vectors(TEXTS, side="right") - theirs.encode(TEXTS, batch_size=2)).max() <= TOLERANCE


HEAD = {"qwen3": {"bos_token": "<|im_start|>"}, "mistral": {}, "llama": {}, "gemma3_text": {}}


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.what)
def test_a_folder_is_refused_by_file_and_key(row: Folder, start: Callable[[str], Path], tmp_path: Path) -> None:
    folder = row.make(start(row.start), tmp_path / "folder")
    with pytest.raises((CheckpointError, UnsupportedModelError), match=row.says):
        load(folder)


def load(folder: Path) -> None:
    profile = load_profile(folder)
    PromptBuilder(profile, PromptTokenizer(folder, lower_case=profile.lower_case))


def test_the_table_has_its_rows() -> None:
    assert len(EQUAL) + len(REFUSED) >= 60
