"""Requests of every kind that makes series move: texts, images old and new, a video, mistakes."""

from tests.conftest import data_uri, frames_part, image, image_part, inputs, text_part
from tests.deploy.confined_server import ConfinedServer
from tests.video_file import video

EMBED = "/v1/embeddings"


def one_round(server: ConfinedServer, number: int) -> None:
    """Send some of everything, as in a busy minute; images of the last round come again.

    Args:
        server: whom to ask.
        number: of the round; each has texts and images that no other has.
    """
    texts = [f"text {number} {n}" for n in range(4)]
    asked = [
        (EMBED, {"input": [*texts, texts[0], "the same text every time"]}, 200),
        ("/v2/embed", {"texts": texts, "input_type": "search_document", "embedding_types": ["float"]}, 200),
        (EMBED, inputs(*(image_part(image(seed)) for seed in (number, number, number + 1))), 200),
        (EMBED, inputs(frames_part([image(number), image(number + 1)])), 200),
        (EMBED, inputs(text_part("a text beside")) | {"dimension": 8}, 400),
        (EMBED, inputs(image_part(data_uri(b"no image"))), 422),
    ]
    for path, body, status in asked:
        answer = server.http.post(path, json=body)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:300]}"


def one_video(server: ConfinedServer) -> None:
    """A video file, which a process of its own decodes."""
    clip = data_uri(video(12), "mp4").replace("data:image/", "data:video/", 1)
    answer = server.http.post(EMBED, json=inputs({"type": "video_url", "video_url": {"url": clip}, "fps": 1}))
    assert answer.status_code == 200, answer.text[:300]
