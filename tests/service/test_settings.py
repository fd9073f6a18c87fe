"""Settings: four sources in order, units, and every mistake named."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import inspect

from schemas.parsing.paths import types_at
from service.settings.setting_sources import load_settings
from service.settings.settings import FIELDS, FIXED, REPLACED, Settings, SettingsError

NUMBERS = [
    name
    for name, field in FIELDS.items()
    if any(isinstance(one, inspect.IntType | inspect.FloatType) for one in types_at(field.type, ""))
]


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(tmp_path: Path) -> None:
    config = tmp_path / "cenote.toml"
    config.write_text("port = 1\nhost = 'a'\nmax-batch-tokens = 7\n")
    settings = load_settings({"port": "3"}, {"CENOTE_PORT": "2", "CENOTE_HOST": "b", "HOME": "/"}, config)
    assert (settings.port, settings.host, settings.max_batch_tokens) == (3, "b", 7)
    assert settings.model == Settings().model == "builtin"


@pytest.mark.parametrize(
    ("text", "num_bytes"),
    [
        ("4096", 4096),
        ("2GiB", 2 << 30),
        ("16 MiB", 16 << 20),
        ("1GB", 10**9),
        ("1.5gb", 1_500_000_000),
        ("512kb", 512_000),
        ("0", 0),
    ],
)
def test_bytes_may_have_units(text: str, num_bytes: int) -> None:
    assert load_settings({"encoder_cache_bytes": text}, {}).encoder_cache_bytes == num_bytes


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[model.rank]\nmodel = 'x'\n", r"unknown table \[model\]; did you mean \[models.rank\]\?"),
        ("[modelz.rank]\nmodel = 'x'\n", r"unknown table \[modelz\]; did you mean \[models.rank\]\?"),
        ("[model]\nname = 'x'\n", r"unknown table \[model\]; did you mean \[models.NAME\]\?"),
        ("[server]\nport = 1\n", r"unknown table \[server\]; settings stand at the top of the file"),
        ("[models.rank]\nmodel = 'x'\ndtyp = 'y'\n", r"models.rank.dtyp: .*; did you mean dtype\?"),
    ],
)
def test_an_unknown_table_or_key_of_one_is_named_with_the_one_that_is_meant(
    tmp_path: Path, text: str, told: str
) -> None:
    (config := tmp_path / "cenote.toml").write_text(text)
    with pytest.raises(SettingsError, match=told):
        load_settings({}, {}, config)


def test_a_switch_reads_true_and_false() -> None:
    assert load_settings({"strict_reference": "true"}, {}).strict_reference
    assert not load_settings({}, {"CENOTE_STRICT_REFERENCE": "false"}).strict_reference


@pytest.mark.parametrize(
    ("flags", "environ", "names"),
    [
        ({}, {"CENOTE_PROT": "1"}, ["CENOTE_PROT", "unknown setting", "did you mean CENOTE_PORT?"]),
        ({"video_timeout_s": "3"}, {}, ["--video-timeout-s", "no setting any more", "use --decode-timeout-s"]),
        ({}, {"CENOTE_BREAKER_DEATHS": "3"}, ["CENOTE_BREAKER_DEATHS", "use CENOTE_BREAKER_WAIT_S"]),
        ({"engine_load_s": "60"}, {}, ["--engine-load-s", "always 1800 s"]),
        ({"port": "eighty"}, {}, ["--port", "'eighty'"]),
        ({"port": "70000"}, {}, ["--port", "65535"]),
        ({}, {"CENOTE_DTYPE": "int4"}, ["CENOTE_DTYPE", "int4"]),
        ({"encoder_cache_bytes": "2GBit"}, {}, ["--encoder-cache-bytes", "2GBit", "a size such as 1GiB"]),
        ({"encoder_cache_bytes": "-1"}, {}, ["--encoder-cache-bytes"]),
        ({"device": "gpu"}, {}, ["--device", "'gpu'", "auto, cpu, cuda or cuda:N"]),
        ({"device": "cuda:x"}, {}, ["--device"]),
        ({}, {"CENOTE_DEVICE": "mps"}, ["CENOTE_DEVICE", "auto, cpu, cuda or cuda:N"]),
    ],
)
def test_a_mistake_is_named(flags: dict[str, str], environ: dict[str, str], names: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(flags, environ)
    for name in names:
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("max-answer-bytes = 1", "no setting any more; use max_queue_bytes"),
        ("models = {a = {model = 'x', engine_load_s = 1}}", "always 1800 s"),
        ("prot = 1", "prot"),
        ("port = 'x'", "port"),
        ("port = ", "cenote.toml"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, content: str, name: str) -> None:
    config = tmp_path / "cenote.toml"
    config.write_text(content)
    with pytest.raises(SettingsError, match=name):
        load_settings({}, {}, config)


@pytest.mark.parametrize(
    ("flags", "environ", "content"),
    [
        ({"served_name": ["a", "b, c"]}, {}, ""),
        ({}, {"CENOTE_SERVED_NAME": "a,b,c"}, ""),
        ({}, {}, "served-name = ['a', 'b', 'c']"),
        ({}, {}, "served_name = 'a, b, c'"),
    ],
)
def test_a_list_may_come_in_any_form(
    tmp_path: Path, flags: dict[str, list[str]], environ: dict[str, str], content: str
) -> None:
    (tmp_path / "cenote.toml").write_text(content)
    assert load_settings(flags, environ, tmp_path / "cenote.toml").served_name == ("a", "b", "c")


@pytest.mark.parametrize("value", [["a", ""], ["a,,b"], "", ["a,"]])
def test_an_empty_name_is_refused(value: str | list[str]) -> None:
    with pytest.raises(SettingsError, match="--served-name"):
        load_settings({"served_name": value}, {})


def test_no_setting_of_before_has_come_back() -> None:
    assert not {*REPLACED, *FIXED} & {*FIELDS}
    assert {*REPLACED.values()} <= {*FIELDS}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_without_an_end_is_refused(name: str, tmp_path: Path) -> None:
    """A wait of `inf` fails where a thread waits, hours after the start; the settings of a table are read alike."""
    config = tmp_path / "cenote.toml"
    for written in ("nan", "inf", "-inf", "-1", "1e400", f"{1 << 62}"):
        with pytest.raises(
            SettingsError, match=rf"--{name.replace('_', '-')}: got '{written}', expected .*from [\d.]+ to"
        ):
            load_settings({name: written}, {})
    for written in ("nan", "inf", f"{1 << 62}"):
        config.write_text(f"{name} = {written}\n")
        with pytest.raises(SettingsError, match=rf"{name}: got {written}, expected .* to \d+"):
            load_settings({}, {}, config)


@pytest.mark.parametrize(
    ("name", "absurd", "most"),
    [("threads", "10000", 1024), ("decode_workers", "10000", 256), ("max_connections", "1000000000", 1_000_000)],
)
def test_more_threads_or_files_than_a_system_has_are_refused(name: str, absurd: str, most: int) -> None:
    with pytest.raises(SettingsError, match=f"got '{absurd}', expected an integer from . to {most}"):
        load_settings({name: absurd}, {})
    assert getattr(load_settings({name: str(most)}, {}), name) == most


UNNAMED = {"words": "some/model", "shapes": "builtin"}


@pytest.mark.parametrize("flags", [{}, {"port": "1"}, {"dtype": "float32"}])
def test_models_that_are_served_where_none_is_named(flags: dict[str, str]) -> None:
    models = load_settings(flags, {}, None, UNNAMED).models
    assert [(one.model, one.served_name) for one in models] == [("some/model", ("words",)), ("builtin", ("shapes",))]


@pytest.mark.parametrize(
    ("flags", "environ"),
    [
        ({"model": "builtin"}, {}),
        ({}, {"CENOTE_MODEL": "builtin"}),
        ({"served_name": "mine"}, {}),
        ({"weights": "int8"}, {}),
        ({"models": {"mine": {"model": "builtin"}}}, {}),
    ],
)
def test_who_names_a_model_gets_no_other(flags: dict[str, Any], environ: dict[str, str]) -> None:
    settings = load_settings(flags, environ, None, UNNAMED)
    assert [one.model for one in settings.of_each_model] == ["builtin"]
