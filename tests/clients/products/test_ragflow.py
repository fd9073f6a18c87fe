"""RAGFlow's classes, which are in no package: their calls, by the very clients that they call, and read as they do.

Source: infiniflow/ragflow, `rag/llm/embedding_model.py` at 0105193 and `rag/llm/rerank_model.py` at 5b404a9.
"""

from typing import Any
from urllib.parse import urljoin

import cohere
import numpy as np
import ollama
import openai
import pytest
import requests

from tests.clients.plain import CANDIDATES, LOOKED_FOR, MODEL, TEXTS, Plain, assert_ranked, assert_same

REQUEST = {"model": MODEL, "query": LOOKED_FOR, "documents": CANDIDATES, "top_n": len(CANDIDATES)}
JSON = {"Content-Type": "application/json", "Authorization": "Bearer unused"}


def test_openai_api_compatible_and_vllm(plain: Plain) -> None:
    """`OpenAI_APIEmbed`, and with it `GPUStackEmbed`."""
    client = openai.OpenAI(api_key="unused", base_url=urljoin(f"{plain.url}/v1", "v1"))
    asked: dict[str, Any] = {"encoding_format": "float", "extra_body": {"drop_params": True}}
    answer = client.embeddings.create(input=TEXTS, model=MODEL, **asked)
    assert_same([one.embedding for one in answer.data], plain.vectors({"input": TEXTS}))
    assert answer.usage.total_tokens > 0


def test_ollama(plain: Plain) -> None:
    """`OllamaEmbed`: texts by one route, a query by the older one."""
    client = ollama.Client(host=plain.url)
    asked: dict[str, Any] = {"model": MODEL, "options": {"use_mmap": True}, "keep_alive": -1}
    assert_same(client.embed(input=TEXTS, **asked)["embeddings"], plain.vectors({"input": TEXTS}))
    assert_same([client.embeddings(prompt=TEXTS[0], **asked)["embedding"]], plain.vectors({"input": TEXTS[0]}))


def test_tei(plain: Plain) -> None:
    """`HuggingFaceEmbed`."""
    answer = requests.post(f"{plain.url}/embed", json={"inputs": TEXTS}, timeout=60)
    assert_same(answer.json(), plain.vectors({"input": TEXTS}))
    answer = requests.post(f"{plain.url}/embed", json={"inputs": TEXTS[0]}, timeout=60)
    assert_same([answer.json()[0]], plain.vectors({"input": TEXTS[0]}))


def test_nvidia(plain: Plain) -> None:
    """`NvidiaEmbed`, whose documents are queries too."""
    asked = {"input": TEXTS, "input_type": "query", "model": MODEL, "encoding_format": "float", "truncate": "END"}
    answer = requests.post(f"{plain.url}/v1/embeddings", json=asked, headers=JSON, timeout=60).json()
    assert_same([one["embedding"] for one in answer["data"]], plain.vectors({"input": TEXTS, "input_type": "query"}))
    assert answer["usage"]["total_tokens"] > 0


def scattered(results: list[Any], name: str = "relevance_score") -> list[tuple[int, float]]:
    """Scores put at their documents' places, which RAGFlow sorts itself."""
    rank = np.zeros(len(CANDIDATES))
    for one in results:
        rank[one["index"]] = one[name]
    return sorted(enumerate(rank.tolist()), key=lambda one: -one[1])


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank"])
def test_rerank_of_openai_api_compatible(path: str, plain: Plain) -> None:
    """`OpenAI_APIRerank` and `LocalAIRerank`: older releases drop the base URL's path, later ones add to it."""
    answer = requests.post(plain.url + path, json=REQUEST, headers=JSON, timeout=60).json()
    assert_ranked(scattered(answer["results"]), plain)


def test_rerank_of_siliconflow(plain: Plain) -> None:
    """`SILICONFLOWRerank`, which reads the cost in Cohere's place."""
    more = {"return_documents": False, "max_chunks_per_doc": 1024, "overlap_tokens": 80}
    answer = requests.post(f"{plain.url}/v1/rerank", json=REQUEST | more, headers=JSON, timeout=60).json()
    assert_ranked(scattered(answer["results"]), plain)
    assert answer["meta"]["tokens"]["input_tokens"] + answer["meta"]["tokens"]["output_tokens"] > 0


def test_rerank_of_cohere_and_vllm(plain: Plain) -> None:
    """`CoHereRerank`."""
    client = cohere.Client(api_key="unused", base_url=plain.url)
    answer = client.rerank(**REQUEST, return_documents=False)
    assert_ranked(scattered([one.dict() for one in answer.results]), plain)


def test_rerank_of_tei(plain: Plain) -> None:
    """`HuggingfaceRerank`."""
    asked = {"query": LOOKED_FOR, "texts": CANDIDATES, "raw_scores": False, "truncate": True}
    answer = requests.post(f"{plain.url}/rerank", json=asked, headers={"Content-Type": "application/json"}, timeout=60)
    assert_ranked(scattered(answer.json(), "score"), plain)


def test_rerank_of_nvidia(plain: Plain) -> None:
    """`NvidiaRerank`, at the path that NIM has."""
    passages = [{"text": text} for text in CANDIDATES]
    asked = {"query": {"text": LOOKED_FOR}, "passages": passages, "truncate": "END", "top_n": len(passages)}
    answer = requests.post(f"{plain.url}/v1/ranking", json={"model": MODEL} | asked, headers=JSON, timeout=60).json()
    assert_ranked(scattered(answer["rankings"], "logit"), plain)
