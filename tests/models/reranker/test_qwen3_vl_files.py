"""Qwen3-VL-Reranker's files: how they are told from the embedder's, where the head lies, and what is cut."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from service.checkpoint.json_files import CheckpointError
from service.engine.startup.self_check import check_forward, known_answers
from service.errors import InputError
from service.media.resize.image_rule import PixelRule
from service.model.heads.score import load_answer_row
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Role, Turn
from service.prompt.detect import load_profile
from service.prompt.profile.profile import Profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation
from tests.builders import image_file
from tests.models.served import load

CHECKPOINT = Path(__file__).parent / "oracle" / "checkpoint"
FAMILY = "qwen3_vl_reranker"
NUM_LAST = 5
Change = Callable[[Path], object]
TEMPLATE = """<|im_start|>system
Judge whether the Document meets the requirements based on the Query and the Instruct provided. \
Note that the answer can only be "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: {{ messages | selectattr("role", "eq", "system") | map(attribute="content") | first \
| default("Given a search query, retrieve relevant candidates that answer the query.", true) \
}}<Query>:{{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
<Document>:{{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}<|im_end|>
<|im_start|>assistant

"""
MODULES = [{"type": "sentence_transformers.cross_encoder.modules.logit_score.LogitScore", "path": "1_LogitScore"}]


def copied(folder: Path) -> Path:
    """The oracle's checkpoint in another folder."""
    shutil.copytree(CHECKPOINT, folder)
    return folder


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "chat_template.jinja").write_text(TEMPLATE),
        lambda folder: further(folder).write_text(TEMPLATE),
        lambda folder: (folder / "chat_template.json").write_text(json.dumps({"chat_template": TEMPLATE})),
    ],
    ids=["template", "further template", "processor's"],
)
def test_a_template_says_that_it_is_a_reranker(tmp_path: Path, change: Change) -> None:
    folder = copied(tmp_path / "ours")
    change(folder)
    assert load_profile(folder).name == "qwen3-vl-reranker"


def further(folder: Path) -> Path:
    """A template beside the first."""
    (folder / "additional_chat_templates").mkdir()
    return folder / "additional_chat_templates" / "reranker.jinja"


def test_logit_scores_ids_count_and_its_template_must_be_the_familys(tmp_path: Path) -> None:
    folder = copied(tmp_path / "ours")
    (folder / "modules.json").write_text(json.dumps(MODULES))
    with pytest.raises(CheckpointError, match="LogitScore, and no chat template"):
        load_profile(folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    (folder / "1_LogitScore").mkdir()
    (folder / "1_LogitScore" / "config.json").write_text('{"true_token_id": 7, "false_token_id": null}')
    assert load_profile(folder).name == "qwen3-vl-reranker"
    tensors = load_file(folder / "model.safetensors")
    (embeddings,) = (tensor for name, tensor in tensors.items() if name.endswith("embed_tokens.weight"))
    assert torch.equal(load_answer_row(folder, torch.device("cpu"), torch.float32), embeddings[7].float())


def test_a_folder_that_calls_itself_a_reranker_and_has_no_such_file_is_not_guessed(tmp_path: Path) -> None:
    folder = copied(tmp_path / "Qwen3-VL-Reranker-2B")
    with pytest.raises(CheckpointError, match="--family"):
        load_profile(folder)
    assert load_profile(folder, FAMILY).is_reranker


def test_without_any_of_them_it_is_an_embedder_unless_the_family_is_named() -> None:
    assert not load_profile(CHECKPOINT).is_reranker
    profile = load_profile(CHECKPOINT, FAMILY)
    assert (profile.dimensions, profile.normalize, profile.max_tokens) == (1, False, 10_245)
    assert profile.is_reranker
    assert profile.activation == "sigmoid"


def test_a_tied_head_is_two_rows_of_the_embeddings_and_an_own_one_its_own(tmp_path: Path) -> None:
    folder = copied(tmp_path / "untied")
    vocab = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    tensors = load_file(folder / "model.safetensors")
    (embeddings,) = (tensor for name, tensor in tensors.items() if name.endswith("embed_tokens.weight"))
    own = torch.randn(embeddings.shape, generator=torch.Generator().manual_seed(3))
    save_file({**tensors, "lm_head.weight": own}, folder / "model.safetensors", {"format": "pt"})
    for is_tied in (True, False):  # a head in the file counts
        config = json.loads((folder / "config.json").read_text()) | {"tie_word_embeddings": is_tied}
        (folder / "config.json").write_text(json.dumps(config))
        row = load_answer_row(folder, torch.device("cpu"), torch.bfloat16)
        assert torch.equal(row, difference(own, vocab))
    config = json.loads((folder / "config.json").read_text()) | {"tie_word_embeddings": True}
    (folder / "config.json").write_text(json.dumps(config))
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    row = load_answer_row(folder, torch.device("cpu"), torch.bfloat16)
    assert torch.equal(row, difference(embeddings, vocab))


def difference(head: torch.Tensor, vocab: dict[str, int]) -> torch.Tensor:
    yes, no = (head[vocab[word]].bfloat16() for word in ("yes", "no"))
    return (yes - no).float()


def test_the_check_at_start_finds_a_wrong_head() -> None:
    model = load(CHECKPOINT, FAMILY)
    check_forward(model, known_answers(model))
    wrong = [-model.stock_rows(probe).numpy() for probe in model.backbone.probes()]
    with pytest.raises(Exception, match=r"gave cosine -(1|0\.99999)"):
        check_forward(model, wrong)


def test_a_vocabulary_without_yes_or_no_is_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path / "mute")
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"]["ney"] = content["model"]["vocab"].pop("no")
    content["model"]["merges"] = [pair for pair in content["model"]["merges"] if "".join(pair).strip() != "no"]
    (folder / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match="lacks `yes` or `no`"):
        load_profile(folder, FAMILY)


@pytest.fixture(scope="module")
def profile() -> Profile:
    return load_profile(CHECKPOINT, FAMILY)


@pytest.fixture(scope="module")
def tokenizer() -> PromptTokenizer:
    return PromptTokenizer(CHECKPOINT)


def side(role: Role, text: str, *, has_image: bool = False) -> Turn:
    image = image_file(Image.new("RGB", (96, 64), (9, 99, 199)), PixelRule(min_pixels=4_096))
    return Turn(role, (image, text) if has_image else (text,))


@pytest.mark.parametrize("images", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("limit", [10_245, 3_000, 400])
def test_a_long_pair_is_cut_as_the_official_script_cuts_it(
    profile: Profile, tokenizer: PromptTokenizer, images: tuple[bool, bool], limit: int
) -> None:
    whole = PromptBuilder(replace(profile, max_tokens=10**6), tokenizer)
    builder = PromptBuilder(profile, tokenizer)
    for query, document in (("a short query", "word " * 11_000), ("many words " * 11_000, "a document")):
        turns = (side("query", query, has_image=images[0]), side("document", document, has_image=images[1]))
        pair = Conversation(None, turns)
        token_ids = whole.build(pair, Truncation(10**6)).plan.ids
        cut = builder.build(pair, Truncation(limit, "right"))
        assert cut.plan.ids == officially_cut(token_ids, limit - NUM_LAST, profile.protected)
        assert cut.truncated
        for place in cut.placeholders:
            pads = cut.plan.ids[place.offset : place.offset + place.length]
            assert pads == [profile.pads["image"]] * place.length


def officially_cut(token_ids: list[int], max_length: int, specials: tuple[int, ...]) -> list[int]:
    """Special tokens, the first so many others, and the last five."""
    body, last = token_ids[:-NUM_LAST], token_ids[-NUM_LAST:]
    num_others = max_length - sum(token_id in specials for token_id in body)
    kept: list[int] = []
    for token_id in body:
        if token_id in specials:
            kept.append(token_id)
        elif num_others > 0:
            kept.append(token_id)
            num_others -= 1
    return kept + last


def test_a_pair_that_is_too_long_is_refused_where_it_may_not_be_cut_and_on_the_left(
    profile: Profile, tokenizer: PromptTokenizer
) -> None:
    pair = Conversation(None, (side("query", "query"), side("document", "word " * 11_000)))
    builder = PromptBuilder(profile, tokenizer)
    with pytest.raises(InputError) as refused:
        builder.build(pair, Truncation(10_245), param="documents[3]", index=3)
    assert refused.value.code == "context_length_exceeded"
    with pytest.raises(InputError, match="cut at the right only") as refused:
        builder.build(pair, Truncation(10_245, "left"), param="documents[3]", index=3)
    assert (refused.value.code, refused.value.param, refused.value.index) == ("invalid_request", "documents[3]", 3)


def test_a_conversation_that_is_no_pair_is_refused(profile: Profile, tokenizer: PromptTokenizer) -> None:
    turns = (Turn("user", ("a",)), Turn("document", ("b",)))
    with pytest.raises(InputError, match="turns of user, document; this model scores pairs"):
        PromptBuilder(profile, tokenizer).build(Conversation(None, turns), Truncation(100))
