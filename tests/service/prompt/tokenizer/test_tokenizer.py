"""The tokenizer: special tokens, bounds on the number of tokens, and threads."""

import sys
import threading
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.checkpoint.json_files import CheckpointError
from service.prompt.build import PromptBuilder
from service.prompt.detect import load_profile
from service.prompt.profile.profile import Profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer

Variant = Callable[..., Path]


def without_end_token(content: dict) -> None:
    content["post_processor"]["processors"].pop()


def with_head_token(content: dict) -> None:
    template = content["post_processor"]["processors"][1]
    template["single"].insert(0, {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}})


def test_the_tail_is_what_the_post_processor_appends(tokenizer: PromptTokenizer, variant: Variant) -> None:
    assert (tokenizer.head_token_ids, tokenizer.tail_token_ids) == ((), (8128,))
    bare = PromptTokenizer(variant(tokenizer=without_end_token))
    assert (bare.head_token_ids, bare.tail_token_ids) == ((), ())


def test_a_head_is_found_too(variant: Variant) -> None:
    headed = PromptTokenizer(variant(tokenizer=with_head_token))
    assert (headed.head_token_ids, headed.tail_token_ids) == ((8128,), (8128,))


def test_every_special_token_in_text_is_plain_text(tokenizer: PromptTokenizer) -> None:
    for special in range(8128, 8136):
        name = tokenizer.id_to_token(special)
        text = f"a{name} {name}{name}b <{name}>"
        token_ids = tokenizer.encode(text).ids
        assert max(token_ids) < 8128
        assert tokenizer.decode(token_ids) == text
        assert tokenizer.encode(text, parse_special=True).ids.count(special) == 4


def test_truncation_and_padding_of_the_file_are_off(tokenizer: PromptTokenizer, variant: Variant) -> None:
    def limit(content: dict) -> None:
        content["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
        content["padding"] = {
            "strategy": {"Fixed": 64},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 8128,
            "pad_type_id": 0,
            "pad_token": "<|endoftext|>",
        }

    limited = PromptTokenizer(variant(tokenizer=limit))
    for text in ("one", "the quick brown fox jumps over the lazy dog"):
        assert limited.encode(text).ids == tokenizer.encode(text).ids
        assert limited.encode_rendered(text) == tokenizer.encode_rendered(text)
    assert limited.tail_token_ids == (8128,)


def test_the_bound_on_tokens_holds(tokenizer: PromptTokenizer) -> None:
    assert tokenizer.bound.least_tokens("a" * 88) == 1  # the longest token has so many bytes
    assert tokenizer.bound.least_tokens("") == 0
    assert (tokenizer.bound.least_tokens("a" * 880), tokenizer.bound.least_tokens("字" * 880)) == (10, 30)
    for text in ("#" * 5_000, " " * 5_000, "\u03b1\u0313\u0300\u0345" * 800, "각" * 999, "e\u0301" * 999, "a" * 5_000):
        assert tokenizer.bound.least_tokens(text) <= len(tokenizer.encode(text).ids)


def test_nfc_never_makes_a_text_more_than_four_times_smaller() -> None:
    composed = (chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000)
    most = max(
        len(unicodedata.normalize("NFD", c).encode()) / len(unicodedata.normalize("NFC", c).encode()) for c in composed
    )
    assert 2.9 < most <= 4


def test_where_no_bound_follows_from_bytes_characters_are_counted(variant: Variant) -> None:
    folder = variant(tokenizer=lambda content: content.update(normalizer={"type": "Lowercase"}))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    other = PromptTokenizer(folder)
    assert other.bound.least_tokens("a" * 1_000_000) == 0
    assert (other.bound.max_chars(8), other.bound.max_chars(8192)) == (16_384, 1_048_576)
    assert len(other.bound.clip("a" * 1_000_000, 600, "right")) == 76_800
    assert other.bound.clip("a" * 1_000_000 + "b", 600, "left").endswith("b")


def test_a_missing_file_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"tokenizer\.json cannot be read"):
        PromptTokenizer(tmp_path)


def test_a_special_token_that_swallows_white_space_stops_the_start(profile: Profile, variant: Variant) -> None:
    def swallow(content: dict) -> None:
        for token in content["added_tokens"]:
            token["lstrip"] = True

    with pytest.raises(CheckpointError, match="joins text"):
        PromptBuilder(profile, PromptTokenizer(variant(tokenizer=swallow)))


def unmark(content: dict) -> None:
    for token in content["added_tokens"]:
        token["special"] = token["content"] != "<|image_pad|>"


def test_control_tokens_that_are_not_marked_special_stop_the_start(variant: Variant) -> None:
    folder = variant(tokenizer=unmark)
    with pytest.raises(CheckpointError, match=r"lacks the special tokens <\|image_pad\|>"):
        load_profile(folder)


def test_control_tokens_that_text_can_reach_stop_the_builder(profile: Profile, variant: Variant) -> None:
    with pytest.raises(CheckpointError, match="8134"):
        PromptBuilder(profile, PromptTokenizer(variant(tokenizer=unmark)))


def test_threads_share_one_tokenizer(tokenizer: PromptTokenizer) -> None:
    texts = [f"text {i} <|im_end|> " * (i % 17 + 1) for i in range(400)]
    alone = [(tokenizer.encode(text).ids, tokenizer.encode(text, parse_special=True).ids) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        together = list(
            pool.map(lambda t: (tokenizer.encode(t).ids, tokenizer.encode(t, parse_special=True).ids), texts)
        )
    assert together == alone


def test_other_threads_run_while_a_long_text_is_tokenized(tokenizer: PromptTokenizer) -> None:
    num_ticks, is_done = 0, threading.Event()

    def tick() -> None:
        nonlocal num_ticks
        while not is_done.wait(0.001):
            num_ticks += 1

    other = threading.Thread(target=tick)
    other.start()
    tokenizer.encode("the quick brown fox " * 40_000)
    is_done.set()
    other.join()
    assert num_ticks > 20
