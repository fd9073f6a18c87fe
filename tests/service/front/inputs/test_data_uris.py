"""Texts that are a medium's data URI and nothing else."""

import pytest

from service.front.inputs.checking import uri_kind


@pytest.mark.parametrize(
    "text",
    [
        "data:image/png;base64,iVBORw0KGgo=",
        "DATA:Image/PNG;Base64,iVBORw0KGgo=",
        " \n data:image/jpeg;base64,_9j_4AAQ \r\n",
        "data:image/svg+xml;charset=utf-8,%3Csvg%20/%3E",
        "data:image/png;name=a.png;base64,AAAA",
        "data:image/png;base64,data:image/png;base64,AAAA",
        "data:image/png;base64,AAAA\nBBBB\r\n  CC==\n",
        "data:image/png;base64,",
        "data:video/mp4;base64,AAAA",
        "data:video/jpeg;base64,AAAA,BBBB",
        "data:audio/wav;base64,UklGRg==",
        "data:application/pdf;base64,JVBERi0=",
        "data:Application/PDF;base64,JVBERi0=",
    ],
)
def test_a_data_uri_of_a_medium(text: str) -> None:
    assert uri_kind(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "data",
        "data:",
        "data:text/plain;base64,AAAA",
        "data:application/json,{}",
        "data:application/pdfa;base64,AAAA",
        "data:image/png",
        "data:image/png;base64 AAAA",
        "data:image/png;base64,AAAA and more",
        "data:image/png;base64,AAAA data:image/png;base64,AAAA",
        "data:image/png;base64,AAAA\nis an image.",
        "An image: data:image/png;base64,AAAA",
        "data:image/ is a media type, data:video/ another",
        "date: 2026-01-01",
        "https://example.com/a.png",
    ],
)
def test_another_text(text: str) -> None:
    assert not uri_kind(text)


@pytest.mark.parametrize(
    "text",
    [
        "data:image/" + "a" * 10**6,
        "data:image/png;base64," + "a" * 10**6 + " !",
        "data:image/png," + "\n \t" * 10**6 + "!",
        "data:image/a;" + ";a" * 10**6,
        " " * 10**6 + "data:image/png,a !",
    ],
)
def test_a_long_text_is_passed_over_once(text: str) -> None:
    """A search that goes back would take hours here."""
    assert not uri_kind(text)
