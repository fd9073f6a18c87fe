"""Which strings are media: data URIs always, URLs of media files on hosts that are allowed, and nothing else."""

import pytest

from schemas.content.audio import AudioUrlPart
from schemas.content.file import FilePart
from schemas.content.parts import ImageUrlPart
from schemas.content.video import VideoUrlPart
from service.errors import InputError, ServiceError
from service.front.inputs.media_strings import is_medium, with_media_strings
from service.front.job import Job, JobInput, PlacedMedia
from service.front.tenant import ANYONE
from service.media.fetch.policy import FetchPolicy, parse_host_list
from service.prompt.truncation import Truncation

POLICY = FetchPolicy(allowed=parse_host_list("example.com", "hosts", patterns=True))
ALL = ("text", "image", "video", "audio")
URI = "data:image/png;base64,AAAA"


def job(*texts: str, per_item: bool = False) -> Job:
    inputs = [JobInput(f"input[{index}]", text) for index, text in enumerate(texts)]
    return Job(inputs=inputs, truncation=Truncation(512), asks=(), tenant=ANYONE, per_item=per_item)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (URI, ImageUrlPart),
        ("data:video/mp4;base64,AAAA", VideoUrlPart),
        ("data:audio/wav;base64,AAAA", AudioUrlPart),
        ("data:application/pdf;base64,AAAA", FilePart),
        ("https://example.com/a/b.PNG", ImageUrlPart),
        (" http://example.com/b.jpeg?size=3#x\n", ImageUrlPart),
        ("https://example.com/b.mp4", VideoUrlPart),
        ("https://example.com/b.wav", AudioUrlPart),
        ("https://example.com/b.pdf", FilePart),
    ],
)
def test_a_medium_is_read_where_the_text_stood(text: str, kind: type) -> None:
    assert is_medium(text)
    read = with_media_strings(job("a door", text), ALL, POLICY)
    assert read.inputs[0].source == "a door"
    source = read.inputs[1].source
    assert isinstance(source, PlacedMedia)
    assert isinstance(source.part, kind)
    assert read.inputs[1].media == (source,)
    assert (source.param, source.content_param, source.index) == ("input[1]", "input[1]", 1)


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/page",
        "https://example.com/page.html",
        "https://example.com/?file=a.png",
        "https://example.com/a.png is red",
        "see https://example.com/a.png",
        "https://elsewhere.org/a.png",
        "https://example.com:9/a.png",
        "https://user@example.com/a.png",
        "http://",
        "https://example.com/" + "a" * 10_000 + ".png",
        "data",
        "how do I ride a bicycle?",
    ],
)
def test_any_other_text_is_a_text(text: str) -> None:
    assert [one.source for one in with_media_strings(job(text), ALL, POLICY).inputs] == [text]


def test_urls_are_texts_where_none_is_fetched_and_data_uris_are_not() -> None:
    read = with_media_strings(job("https://example.com/a.png", URI), ALL, FetchPolicy())
    assert [type(one.source) for one in read.inputs] == [str, PlacedMedia]


@pytest.mark.parametrize("text", [URI, "https://example.com/a.png"])
def test_it_is_refused_where_the_model_does_not_take_it(text: str) -> None:
    with pytest.raises(InputError, match="of an image; this model takes text only") as caught:
        with_media_strings(job("a", text), ("text",), POLICY)
    assert (caught.value.code, caught.value.param, caught.value.index) == ("unsupported_modality", "input[1]", 1)
    alone = with_media_strings(job("a", text, per_item=True), ("text",), POLICY).inputs
    assert alone[0].source == "a"
    assert isinstance(alone[1].source, ServiceError)
