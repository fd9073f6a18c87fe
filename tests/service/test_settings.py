"""Settings: four sources in order, units, and every mistake named."""

from pathlib import Path

import pytest

from service.setting_sources import load_settings
from service.settings import Settings, SettingsError


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(tmp_path: Path) -> None:
    config = tmp_path / "cenote.toml"
    config.write_text("port = 1\nhost = 'a'\nmax-batch-tokens = 7\n")
    settings = load_settings({"port": "3"}, {"CENOTE_PORT": "2", "CENOTE_HOST": "b", "HOME": "/"}, config)
    assert (settings.port, settings.host, settings.max_batch_tokens) == (3, "b", 7)
    assert settings.model == Settings().model == "builtin"


@pytest.mark.parametrize(("text", "num_bytes"), [("4096", 4096), ("2GiB", 2 << 30), ("16 MiB", 16 << 20), ("0", 0)])
def test_bytes_may_have_units(text: str, num_bytes: int) -> None:
    assert load_settings({"encoder_cache_bytes": text}, {}).encoder_cache_bytes == num_bytes


def test_a_switch_reads_true_and_false() -> None:
    assert load_settings({"strict_reference": "true"}, {}).strict_reference
    assert not load_settings({}, {"CENOTE_STRICT_REFERENCE": "false"}).strict_reference


@pytest.mark.parametrize(
    ("flags", "environ", "names"),
    [
        ({}, {"CENOTE_PROT": "1"}, ["CENOTE_PROT", "unknown setting", "did you mean CENOTE_PORT?"]),
        ({"port": "eighty"}, {}, ["--port", "'eighty'"]),
        ({"port": "70000"}, {}, ["--port", "65535"]),
        ({}, {"CENOTE_DTYPE": "int4"}, ["CENOTE_DTYPE", "int4"]),
        ({"encoder_cache_bytes": "2GB"}, {}, ["--encoder-cache-bytes", "2GB"]),
        ({"encoder_cache_bytes": "-1"}, {}, ["--encoder-cache-bytes"]),
    ],
)
def test_a_mistake_is_named(flags: dict[str, str], environ: dict[str, str], names: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(flags, environ)
    for name in names:
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("content", "name"), [("prot = 1", "prot"), ("port = 'x'", "port"), ("port = ", "cenote.toml")]
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
