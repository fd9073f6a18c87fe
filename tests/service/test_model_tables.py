"""Several models: named by flag, environment and tables of the file; every mistake says where it stands."""

import argparse
import re
import shlex
from pathlib import Path

import pytest

from service.cli import main
from service.settings.model_tables import OF_ONE_MODEL
from service.settings.serve_arguments import add_settings
from service.settings.setting_sources import load_settings
from service.settings.settings import Settings, SettingsError
from tests.conftest import ROOT

FILE = """
dtype = "float32"
max-queue-requests = 100

[models.search]
model = "builtin"
max-tokens = 512

[models.rank]
model = "org/reranker"
revision = "v2"
served-name = ["second", "third"]
dtype = "bfloat16"
"""


def from_file(tmp_path: Path, content: str, flags: dict[str, str | list[str]] | None = None) -> Settings:
    config = tmp_path / "cenote.toml"
    config.write_text(content)
    return load_settings(flags or {}, {}, config)


def plan(settings: Settings) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.model, one.served_name) for one in settings.of_each_model]


@pytest.mark.parametrize(
    ("flags", "environ"),
    [
        ({"model": ["a=builtin", "b=./x=y"]}, {}),
        ({"model": ["a=builtin,b=./x=y"]}, {}),
        ({}, {"CENOTE_MODEL": "a=builtin,b=./x=y"}),
    ],
)
def test_each_named_model_has_settings_of_its_own(flags: dict[str, list[str]], environ: dict[str, str]) -> None:
    assert plan(load_settings(flags, environ)) == [("builtin", ("a",)), ("./x=y", ("b",))]


def test_one_model_is_served_as_before_with_a_name_or_without() -> None:
    assert load_settings({"model": ["./folder,with,commas"]}, {}).model == "./folder,with,commas"
    named = load_settings({"model": ["a=builtin"], "served_name": ["b"]}, {})
    assert (named.models, plan(named)) == ((), [("builtin", ("a", "b"))])


def test_a_table_overrides_what_holds_for_all(tmp_path: Path) -> None:
    settings = from_file(tmp_path, FILE)
    search, rank = settings.of_each_model
    assert (search.dtype, search.max_tokens, search.max_queue_requests) == ("float32", 512, 100)
    assert (rank.dtype, rank.max_tokens, rank.revision) == ("bfloat16", 0, "v2")
    assert rank.served_name == ("rank", "second", "third")
    assert settings.dtype == "float32"


def test_a_flag_overrides_a_table_of_its_name_and_adds_others(tmp_path: Path) -> None:
    settings = from_file(tmp_path, FILE, {"model": ["rank=./mine", "more=builtin"]})
    assert [one.model for one in settings.of_each_model] == ["builtin", "./mine", "builtin"]
    assert settings.models[1].dtype == "bfloat16"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"model": ["builtin", "b=builtin"]}, ["--model", "'builtin'", "NAME=ID"]),
        ({"model": ["a=builtin", "a=other"]}, ["--model", "'a'", "twice"]),
        ({"model": ["a=builtin", "b=builtin"], "revision": "v1"}, ["--revision", "'v1'", "[models.NAME]"]),
        ({"model": ["a=builtin", "b=builtin"], "served_name": ["x"]}, ["--served-name", "[models.NAME]"]),
    ],
)
def test_a_mistake_among_several_is_named(flags: dict[str, str | list[str]], words: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(flags, {})
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("content", "flags", "words"),
    [
        ('[models.a]\nmodel = "x"\nport = 1', {}, ["models.a.port", "one of breaker_wait_s"]),
        ("[models.a]\nmax-tokens = 1", {}, ["[models.a]", "`model`"]),
        ('[models.a]\nmodel = "x"\nmax-tokens = "many"', {}, ["models.a.max-tokens", "'many'"]),
        ('[models."a b"]\nmodel = "x"', {}, ["models.a b", "name"]),
        ("models = 3", {}, ["models", "[models.NAME]"]),
        ('[models.a]\nmodel = "x"', {"model": ["y"]}, ["--model", "[models.a]", "NAME=ID"]),
    ],
)
def test_a_mistake_in_a_table_is_named(
    tmp_path: Path, content: str, flags: dict[str, str | list[str]], words: list[str]
) -> None:
    with pytest.raises(SettingsError) as caught:
        from_file(tmp_path, content, flags)
    for word in words:
        assert word in str(caught.value)


PAGE = (ROOT / "docs" / "several-models.md").read_text()
SEARCH, RANK = "Qwen/Qwen3-VL-Embedding-2B", "Qwen/Qwen3-VL-Reranker-2B"


def test_the_page_s_commands_serve_two_models_and_three() -> None:
    parser, plans = argparse.ArgumentParser(), []
    add_settings(parser)
    for command in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        flags = vars(parser.parse_args(shlex.split(command)[2:]))
        del flags["config"]
        plans.append(plan(load_settings(flags, {})))
    adapters = [("./law-lora", ("law",)), ("./code-lora", ("code",)), ("Qwen/Qwen3-Embedding-0.6B", ("base",))]
    assert plans == [[(SEARCH, ("search",)), (RANK, ("rank",))], adapters]


def test_the_page_s_file_is_one(tmp_path: Path) -> None:
    (content,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    search, rank = from_file(tmp_path, content).of_each_model
    assert (search.device, search.dtype, search.encoder_cache_bytes) == ("cuda:0", "bfloat16", 1 << 30)
    assert (rank.device, rank.max_tokens, rank.encoder_cache_bytes) == ("cuda:1", 8192, 512 << 20)
    assert search.max_queue_requests == rank.max_queue_requests == 4096


def test_the_page_names_settings_of_one_model_alone() -> None:
    named = {name.replace("-", "_") for name in re.findall(r"`([a-z-]+)`", PAGE.partition("A table may have")[2])}
    assert named & set(Settings.__struct_fields__) <= OF_ONE_MODEL | {"port"}


def test_what_several_resolve_to_is_shown_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["models", "search=builtin,again=builtin"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.count("qwen3-vl-embedding") == 2
