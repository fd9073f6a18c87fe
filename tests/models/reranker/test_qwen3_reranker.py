"""Qwen3-Reranker against the script of its model card, on a small random checkpoint."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from service.errors import InputError
from service.model.packed.segments import plan_segments
from service.prompt.detect import load_profile
from service.prompt.prompt import Prompt
from tests.conftest import TOLERANCE
from tests.models.reranker.checkpoints import QWEN3_RERANKER, change_config, make_judge
from tests.models.reranker.test_cross_encoders import pooled
from tests.models.served import Served
from tests.models.text.texts import TEXTS

PAIRS = [(TEXTS[i], TEXTS[(7 * i + 3) % len(TEXTS)]) for i in range(0, len(TEXTS), 2)]
PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
TASK = "Given a web search query, retrieve relevant passages that answer the query"
MAX_LENGTH = 8192


class Script:
    """The model card's code, a pair at a time."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.yes, self.no = (self.tokenizer.convert_tokens_to_ids(word) for word in ("yes", "no"))
        self.ends = [self.tokenizer.encode(text, add_special_tokens=False) for text in (PREFIX, SUFFIX)]

    def token_ids(self, query: str, document: str, instruction: str = TASK) -> list[int]:
        text = f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}"
        most = MAX_LENGTH - sum(map(len, self.ends))
        body = self.tokenizer(text, truncation="longest_first", max_length=most)["input_ids"]
        return [*self.ends[0], *body, *self.ends[1]]

    @torch.no_grad()
    def score(self, token_ids: list[int]) -> float:
        logits = self.model(torch.tensor([token_ids])).logits[0, -1]
        both = torch.stack([logits[self.no], logits[self.yes]])
        return float(torch.nn.functional.log_softmax(both, dim=0)[1].exp())

    def check(self, served: Served, pairs: list[tuple[str, str]]) -> list[Prompt]:
        """Fail where tokens or scores differ; the prompts."""
        prompts = [served.pair(*pair) for pair in pairs]
        assert [prompt.plan.ids for prompt in prompts] == [self.token_ids(*pair) for pair in pairs]
        theirs = np.array([self.score(prompt.plan.ids) for prompt in prompts])
        assert np.abs(served.scores(prompts) - theirs).max() <= TOLERANCE
        assert np.ptp(theirs) > 100 * TOLERANCE
        return prompts


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder = tmp_path_factory.mktemp("judge") / "ours"
    return Served(make_judge(folder, is_tied=request.param, template=QWEN3_RERANKER))


@pytest.fixture(scope="module")
def script(served: Served) -> Script:
    return Script(served.folder)


def test_pairs_have_the_scripts_tokens_and_scores_in_a_batch_and_alone(served: Served, script: Script) -> None:
    prompts = script.check(served, PAIRS)
    alone = np.concatenate([served.scores([prompt]) for prompt in prompts])
    assert np.abs(alone - served.scores(prompts)).max() <= TOLERANCE


def test_an_instruction_takes_the_place_of_the_default(served: Served, script: Script) -> None:
    other = "Find the other letter"
    assert served.pair("a", "b", other).plan.ids == script.token_ids("a", "b", other)
    assert served.pair("a", "b", " ") == served.pair("a", "b")


def test_a_long_pair_is_cut_as_the_script_cuts_it_and_never_on_the_left(served: Served, script: Script) -> None:
    long = "word after word " * 4_000
    for pair in (("a query", long), (long, "a document")):
        prompt = served.pair(*pair)
        assert prompt.plan.ids == script.token_ids(*pair)
        assert len(prompt.plan.ids) == MAX_LENGTH
    with pytest.raises(InputError, match="cut at the right only"):
        served.pair("a query", long, side="left")


def test_pairs_of_one_query_share_their_beginning_and_have_their_own_scores(served: Served, script: Script) -> None:
    prompts = script.check(served, [(" ".join(TEXTS[:6]), document) for document in TEXTS])
    token_ids, lengths = np.concatenate([one.plan.ids for one in prompts]), [len(one.plan.ids) for one in prompts]
    assert len(plan_segments(token_ids, lengths, np.zeros(0, np.int64)).tokens) < sum(lengths) / 2
    assert served.model.backbone.language is not None  # the decoder that shares


@pytest.mark.parametrize(
    "keys", [{"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}, {"attention_bias": True}]
)
def test_other_layers_run_on_the_stock_modules(tmp_path: Path, keys: dict[str, object]) -> None:
    folder = make_judge(tmp_path / "ours", is_tied=True, template=QWEN3_RERANKER)
    change_config(folder, layer_types=None, **keys)
    if "attention_bias" in keys:
        weights = load_file(folder / "model.safetensors")
        names = [name for name in weights if "self_attn." in name and name.endswith("_proj.weight")]
        weights |= {name.replace(".weight", ".bias"): torch.randn(len(weights[name])) * 0.1 for name in names}
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    served = Served(folder)
    assert served.model.backbone.language is None
    Script(folder).check(served, PAIRS[:4])


def test_without_its_template_it_is_what_the_family_or_files_that_pool_say(tmp_path: Path) -> None:
    folder = make_judge(tmp_path / "Qwen3-Reranker-0.6B", is_tied=True)
    assert not load_profile(folder, "qwen3").is_reranker
    Script(folder).check(Served(folder, "qwen3_reranker"), PAIRS[:3])
    pooled(folder, "pooling_mode_lasttoken")
    assert (load_profile(folder).outputs, load_profile(folder).pooling) == (("dense",), "last_token")
