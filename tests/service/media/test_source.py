"""Data URIs and base64 as clients write them; every other source is refused and never opened."""

import base64
from urllib.parse import quote

import pytest

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.source import read_source

DATA = bytes(range(256))
TEXT = base64.b64encode(DATA).decode()
UNPADDED = TEXT.rstrip("=")
URL_SAFE = base64.urlsafe_b64encode(DATA).decode()


@pytest.mark.parametrize(
    "text",
    [TEXT, f"data:image/png;base64,{TEXT}", f"data:;base64,{TEXT}", f"DATA:text/html;charset=utf-8;BASE64,{TEXT}"],
)
def test_a_data_uri_and_bare_base64_give_the_bytes_whatever_the_media_type_says(text: str) -> None:
    assert read_source(text, max_bytes=256) == DATA


def refusal(text: str, max_bytes: int) -> MediaError:
    with pytest.raises(MediaError) as caught:
        read_source(text, max_bytes=max_bytes, location=ErrorLocation("input[0]", 3))
    assert (caught.value.param, caught.value.index) == ("input[0]", 3)
    return caught.value


@pytest.mark.parametrize("text", ["http://example.com/a.png", "HTTPS://example.com/a.png"])
def test_a_url_is_refused_and_the_message_says_what_to_send(text: str) -> None:
    error = refusal(text, 10)
    assert error.code == "media_source_refused"
    assert "URL fetching is not enabled on this server" in error.message
    assert "data URI" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "file:///etc/passwd", "ftp://host/a", "C:\\images\\a.png", "javascript:alert(1)", "/etc/passwd", "../a.png",
        "~/a.png", "a.png", "\\\\host\\share",
    ],
)  # fmt: skip
def test_other_schemes_and_paths_are_refused_and_never_opened(text: str) -> None:
    assert refusal(text, 1000).code == "media_source_refused"


def test_the_name_of_an_existing_file_is_read_as_base64_and_the_file_stays_closed(tmp_path, monkeypatch) -> None:
    (tmp_path / "abcd").write_bytes(b"secret")
    monkeypatch.chdir(tmp_path)
    assert read_source("abcd", max_bytes=10) == base64.b64decode("abcd")


@pytest.mark.parametrize(
    "text",
    [
        "data:image/png," + TEXT, "data:image/png;base64", "data:image/png;base64,", "",
        "data:image/png;base64," + TEXT[:-1], URL_SAFE[:-2] + "++", TEXT[:20] + " " + TEXT[20:],
        TEXT[:20] + "\t" + TEXT[20:], TEXT[:20] + "\n " + TEXT[20:], " " + TEXT, TEXT.replace("=", "%253D"),
        "%41" * 40, f"data:image/png;base64,data:image/png;base64,{TEXT}", TEXT + "AAAA", "QU+-" * 64, "äöüß",
        "=", "QQ=", "Q===", "QUJD=", "QUJD==", "QUJD====",
    ],
)  # fmt: skip
def test_what_is_not_strict_base64_is_undecodable_and_no_part_of_a_librarys_text_is_attached(text: str) -> None:
    error = refusal(text, 10_000)
    assert error.code == "media_undecodable"
    assert error.__suppress_context__
    assert "padding" not in error.message.replace("whole padding", "")


def folded(text: str, end: str) -> str:
    return end.join(text[i : i + 76] for i in range(0, len(text), 76)) + end


@pytest.mark.parametrize(
    "text",
    [
        *(UNPADDED, URL_SAFE, URL_SAFE.rstrip("="), TEXT + "\n", UNPADDED + "\r\n", URL_SAFE + "\n\n"),
        *(folded(TEXT, "\n"), folded(TEXT, "\r\n"), folded(URL_SAFE, "\n"), folded(UNPADDED, "\r\n")),
        base64.encodebytes(DATA).decode(),
        quote(TEXT, safe=""),
        quote(TEXT, safe="+/"),
        TEXT.replace("+", "%2b").replace("/", "%2f").replace("=", "%3d"),
        quote(base64.encodebytes(DATA).decode(), safe=""),
    ],
)
@pytest.mark.parametrize("scheme", ["", "data:image/png;base64,"])
def test_base64_as_shells_and_tokens_have_it_in_lines_or_percent_encoded_gives_the_same_bytes(
    text: str, scheme: str
) -> None:
    assert read_source(scheme + text, max_bytes=256) == DATA
    error = refusal(scheme + text, 255)
    assert error.code == "media_too_large"
    assert "256 bytes" in error.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"data:image/png;base64,data:image/png;base64,{TEXT}", "begins twice"),
        (f"data:image/png;base64,DATA:image/png;base64,{TEXT}", "begins twice"),
        ("data:image/png;base64,data:,", "begins twice"),
        (quote(quote(TEXT, safe=""), safe=""), "percent-encoded"),
        ("%69VBORw0KGgo=" * 400, "percent-encoded"),
        (TEXT.replace("+", " "), "no spaces inside"),
    ],
)
def test_what_is_wrong_with_it_is_named(text: str, words: str) -> None:
    error = refusal(text, 10_000)
    assert error.code == "media_undecodable"
    assert words in error.message


def test_the_size_is_refused_from_the_length_of_the_base64_with_both_numbers() -> None:
    error = refusal("!" * 400, 255)  # not base64 at all: it was never decoded
    assert error.code == "media_too_large"
    assert "300 bytes" in error.message
    assert "255" in error.message


@pytest.mark.parametrize("num_bytes", [1, 2, 3, 4, 5, 6])
def test_the_estimate_is_exact_at_every_padding(num_bytes: int) -> None:
    text = base64.b64encode(b"x" * num_bytes).decode()
    assert read_source(text, max_bytes=num_bytes) == b"x" * num_bytes
    refusal(text, num_bytes - 1)
