"""The live server asked by plain HTTP, with nothing of the client under test in between.

In: a body as JSON. Out: its answer, or its vectors. Only the standard library and numpy: every client's environment has
those, and no client's own HTTP library vouches for itself.
"""

import base64
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

SAMPLES = Path(__file__).parents[2] / "service" / "model" / "builtin" / "samples"

MODEL = "builtin"
DIMENSIONS = 256
MINILM, OPENAI, LATE = "all-MiniLM-L6-v2", "text-embedding-3-small", "late"
"""Models of the second server: of texts up to 256 tokens, longer ones are cut, and its name for clients that know
OpenAI's models alone; and one with a vector for each token."""
LONG_TEXTS = [f"chunk {num}: " + "a sentence that goes on and on. " * num for num in (0, 5, 60, 250)]
"""The last two are over 256 tokens."""
QUERY = "Retrieve images or text relevant to the user's query."
"""The instruction of `search_query`."""

TEXTS = ["a red circle", "", "a blue square", "  ", "two green triangles beside a star"]
"""Empty and blank ones stand between the others: frameworks send them."""


LOOKED_FOR = "a red circle"
CANDIDATES = ["two green triangles", "a red circle beside a square", "", "a blue star"]
"""Documents for rerankers; an empty one stands between the others here too."""


class Plain:
    """The server by its address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and answer."""
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def vectors(self, body: dict[str, Any]) -> np.ndarray:
        """Every vector of a `/v1/embeddings` request, in order."""
        status, answer = self.post("/v1/embeddings", body)
        assert status == 200, answer
        assert [entry["index"] for entry in answer["data"]] == list(range(len(answer["data"])))
        return np.array([entry["embedding"] for entry in answer["data"]], "<f4")

    def message(self, path: str, body: dict[str, Any]) -> str:
        """The message of a refused request."""
        status, answer = self.post(path, body)
        assert status >= 400, answer
        return str(answer["error"]["message"])


def assert_cut(got: Any, texts: Plain) -> None:
    """The vectors are those of `LONG_TEXTS` cut at the model's limit; without the setting they would be refused."""
    body = {"model": MINILM, "input": LONG_TEXTS}
    assert_same(got, texts.vectors(body | {"truncate_prompt_tokens": -1}))
    assert "tokens" in texts.message("/v1/embeddings", body | {"truncate": "NONE"})


def assert_ranked(got: list[tuple[int, float]], plain: Plain, top_n: int | None = None, **how: Any) -> None:
    """Index and score of each document are those of the `top_n` best of `CANDIDATES`, best first."""
    status, answer = plain.post("/score", {"queries": LOOKED_FOR, "documents": CANDIDATES, **how})
    assert status == 200, answer
    want = sorted(enumerate(one["score"] for one in answer["data"]), key=lambda one: -one[1])[:top_n]
    assert [index for index, _ in got] == [index for index, _ in want]
    assert_same([score for _, score in got], np.array([score for _, score in want], "<f4"))


def assert_texts_ranked(got: list[tuple[str, float]], plain: Plain, top_n: int | None = None, **how: Any) -> None:
    """The same of clients that give the texts themselves."""
    assert_ranked([(CANDIDATES.index(text), score) for text, score in got], plain, top_n, **how)


def numbered_texts(num: int) -> list[str]:
    """Texts whose vectors all differ, so that a wrong order shows."""
    return [f"picture number {i}" for i in range(num)]


def image(name: str = "red-circle-blue-square") -> str:
    """A sample of the built-in model as a data URI."""
    return "data:image/png;base64," + base64.b64encode((SAMPLES / f"{name}.png").read_bytes()).decode()


def image_part(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def assert_same(got: Any, want: np.ndarray) -> None:
    """Equal but for the last bits, which depend on what else was in the engine's batch."""
    np.testing.assert_allclose(np.array(got, "<f4"), want, rtol=0, atol=1e-6)
