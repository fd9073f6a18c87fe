"""Promises of every kind of output over HTTP, asked of each model of the table; then those of one kind alone."""

import base64
import json
import re
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling

from schemas.endpoints.embed import EmbedResponse
from tests.builders import image_bytes
from tests.conftest import ROOT, TOLERANCE, LiveServer, data_uri, image_part
from tests.ingest.program import Program
from tests.models.over_http.model import FEW, items
from tests.models.over_http.models import MODELS
from tests.models.over_http.running import Running, is_said, near, refusal
from tests.models.text.texts import TEXTS
from tests.models.vlm.images import LARGE, TALL, image
from tests.recipe import ADDRESS

NDJSON = {"content-type": "application/x-ndjson"}


def of(*names: str) -> Any:
    """Of these models, which have the promise alone."""
    marked = [pytest.param(n, marks=[pytest.mark.slow] if MODELS[n].is_slow else []) for n in names]
    return pytest.mark.parametrize("running", marked, indirect=True)


def having(attribute: str) -> Any:
    """Of the models that have something of the table."""
    return of(*(name for name, model in MODELS.items() if getattr(model, attribute)))


def test_its_card(running: Running) -> None:
    card = running.card
    assert {key: card[key] for key in running.model.card} == running.model.card
    assert card["id"] == running.folder.name


@having("vectors")
def test_both_sides_have_the_references_vectors_together_alone_and_again(running: Running) -> None:
    queries, documents = running.model.queries, list(running.model.documents)
    for _ in range(2):  # the second answer may come from a cache, but of no other side
        if running.model.kind != "float":
            assert near(running.vectors(queries, "query"), running.want("query", queries))
        assert near(running.vectors(documents), running.want("document", documents))
    if running.model.kind == "float":
        messages = [[{"role": "user", **item}] for item in items(documents)]
        for body in ({"inputs": items(documents)}, {"messages": messages}):
            found = running.server.vectors({**body, "input_type": "search_document"})
            assert near(list(found), running.want("document", documents))
    for one in documents[:3]:
        assert near(running.vectors([one]), running.want("document", [one]))


@having("scores")
def test_scores_are_the_references(running: Running) -> None:
    model, server = running.model, running.server
    assert model.scores is not None
    queries, documents = model.queries, list(model.documents)
    want, asked = model.scores(running.reference, queries, documents), items(documents)
    size = max(1.0, float(np.abs(want).max()))
    for query, row in zip(queries, want, strict=True):
        found = server.ask("/v1/rerank", {"query": query, "documents": asked}).json()["results"]
        assert [one["index"] for one in found] == list(np.argsort(-row, kind="stable"))
        scores = [one["relevance_score"] for one in found]
        np.testing.assert_allclose(scores, -np.sort(-row), rtol=0, atol=10 * TOLERANCE * size)
    num = min(len(queries), len(documents))
    data = server.ask("/score", {"queries": queries[:num], "documents": asked[:num]}).json()["data"]
    np.testing.assert_allclose([one["score"] for one in data], np.diag(want), rtol=0, atol=10 * TOLERANCE * size)


@having("refused")
def test_what_it_does_not_give_is_refused_by_name(running: Running) -> None:
    decoded = running.server.metric("cenote_pictures_decoded_total")
    for path, body, *said in running.model.refused:
        error = refusal(running.server, path, body)
        assert is_said(error, *said), (path, body, said, error)
    assert running.server.metric("cenote_pictures_decoded_total") == decoded
    if running.model.kind in ("sparse", "score"):
        answer = running.server.http.post("/v1/embeddings/stream", content=b'{"input": "a"}\n', headers=NDJSON)
        assert answer.status_code == 400


@having("bad")
def test_a_bad_item_keeps_its_place_empty_and_the_others_have_their_vectors(running: Running) -> None:
    assert running.model.bad is not None
    body, place, empty = running.model.bad
    raw = json.dumps(body | {"on_error": "per_item", "embedding_types": list(empty)}).encode()
    answer = running.server.http.post("/v2/embed", content=raw, headers={"content-type": "application/json"}).json()
    assert {kind: rows[place] for kind, rows in answer["embeddings"].items()} == empty
    assert all(rows[0] for rows in answer["embeddings"].values())
    assert [error["index"] for error in answer["errors"]] == [place]


@having("too_large")
def test_an_answer_that_would_be_too_large_is_refused_before_the_model_runs(running: Running) -> None:
    assert running.model.too_large is not None
    server, most = running.server, running.model.flags[1]
    before = server.metric("cenote_batch_inputs_count")
    error = refusal(server, "/v2/embed", running.model.too_large)
    assert is_said(error, "too_many_inputs", "", f"one answer may hold {most}" if running.model.kind != "float" else "")
    if running.model.kind == "multi_float":
        assert server.metric("cenote_batch_inputs_count") == before
        asked = running.model.too_large | {"embedding_types": ["multi_ubinary"]}  # a number is a bit
        assert sum(map(len, running.embed(asked)["embeddings"]["multi_ubinary"])) * 512 > int(most)
        many = items([image(100 + seed, 700, 560) for seed in range(16)])
        error = refusal(server, "/v1/rerank", {"query": "x", "documents": many})
        assert is_said(error, "too_many_inputs", "documents", "")
    server.ask("/v2/embed", {"texts": FEW[:4]})
    assert server.metric("cenote_answer_bytes") == 0


@of("colqwen2", "colbert", "bge-m3")
def test_every_number_format_holds_the_same_vectors_of_tokens(running: Running) -> None:
    kinds = [f"multi_{kind}" for kind in ("float", "base64", "int8", "uint8", "binary", "ubinary")]
    found = running.embed({"texts": FEW[:6], "embedding_types": kinds})["embeddings"]
    assert set(found) == set(kinds)
    for index, want in enumerate(running.numbers(found["multi_float"], "multi_float")):
        width = want.shape[1]
        raw = np.frombuffer(base64.b64decode(found["multi_base64"][index]), "<f4").reshape(want.shape)
        assert np.array_equal(raw, want)
        bits = np.array(found["multi_ubinary"][index], np.uint8)
        assert np.array_equal(np.unpackbits(bits, axis=1)[:, :width], want >= 0)
        assert np.array_equal(np.array(found["multi_binary"][index]), bits.astype(int) - 128)
        levels = np.clip(np.floor((want + 4 / width**0.5) / (8 / width**0.5 / 255)), 0, 255)
        assert np.abs(np.array(found["multi_uint8"][index]) - levels).max() <= 1  # a level's edge may round either way
        assert np.array_equal(np.array(found["multi_int8"][index]), np.array(found["multi_uint8"][index]) - 128)


@of("colqwen2", "colbert", "bge-m3")
def test_vllms_pooling_gives_the_same_vectors_of_tokens(running: Running) -> None:
    """`token_embed`, which a model without dense vectors need not be told."""
    texts, server = FEW[:6], running.server
    want = running.embed({"texts": texts, "embedding_types": ["multi_float"], "input_type": "search_document"})
    asked = {"input": texts, "task": "token_embed", "truncate_prompt_tokens": -1}
    answer = server.ask("/pooling", asked).json()["data"]
    assert [(one["object"], one["index"]) for one in answer] == [("pooling", index) for index in range(len(texts))]
    found = running.numbers([one["data"] for one in answer], "multi_float")
    assert near(found, running.numbers(want["embeddings"]["multi_float"], "multi_float"))
    encoded = server.ask("/pooling", asked | {"encoding_format": "base64"}).json()["data"]
    for one, other in zip(encoded, found, strict=True):
        assert near([np.frombuffer(base64.b64decode(one["data"]), "<f4").reshape(other.shape)], [other])
    has_dense = "dense" in running.card["outputs"]
    (untold,) = server.ask("/pooling", {"input": texts[:1]}).json()["data"]
    assert np.ndim(untold["data"]) == (1 if has_dense else 2)
    if not has_dense:
        assert is_said(refusal(server, "/pooling", {"input": "a", "task": "embed"}), "invalid_request", "task", "")


@of("colqwen2", "colmodernvbert", "colpali adapter", "gme", "clip", "siglip2-naflex", "dinov2", "dinov3")
def test_an_image_that_comes_twice_is_encoded_once_and_its_features_stand_in_for_it(running: Running) -> None:
    page, server = image(91, 140, 90), running.server
    counts = [server.metric("cenote_vision_encodes_total")]
    for asked in ([page, page], [page]):
        assert near(running.vectors(asked), running.want("document", asked))
    counts.append(server.metric("cenote_vision_encodes_total"))
    (entry,) = server.ask("/v1/image_embeds", {"images": [image_part(data_uri(image_bytes(page)))]}).json()["data"]
    body = {"inputs": [{"content": [entry["part"]]}], "embedding_types": [running.model.kind]}
    again = running.numbers(running.embed(body)["embeddings"][running.model.kind])
    assert near(again, running.want("document", [page]))
    counts.append(server.metric("cenote_vision_encodes_total"))
    assert np.diff(counts).tolist() == [1, 0]


@of("colqwen2.5 adapter", "gme")
def test_a_page_that_was_seen_before_a_restart_is_not_encoded_again(
    running: Running, tmp_path_factory: pytest.TempPathFactory
) -> None:
    disk, page, encodes = str(tmp_path_factory.mktemp("disk")), image(31, 70, 190), []
    for _ in range(2):
        running.server.stop()
        running._flags = ("--disk-cache", disk)
        before = running.start().metric("cenote_vision_encodes_total")  # that of the known question
        assert near(running.vectors([page]), running.want("document", [page]))
        encodes.append(running.server.metric("cenote_vision_encodes_total") - before)
    assert encodes == [1, 0]


@of("colqwen2")
def test_a_large_answer_comes_in_pieces_and_is_valid(running: Running) -> None:
    pages = [image(200 + seed, 700, 560) for seed in range(4)]
    body = {"images": [data_uri(image_bytes(page)) for page in pages]}
    with running.server.http.stream("POST", "/v2/embed", json=body) as answer:
        pieces = list(answer.iter_raw())
    assert answer.headers["transfer-encoding"] == "chunked"
    assert len(pieces) > 2
    found = json.loads(b"".join(pieces))
    got = running.numbers(found["embeddings"]["multi_float"])
    assert near(got, running.want("document", pages))
    assert found["meta"]["tokens"]["input_tokens"] == sum(map(len, got))
    whole = running.server.ask("/v2/embed", body | {"embedding_types": ["multi_base64"]})
    assert int(whole.headers["content-length"]) == len(whole.content)
    assert running.server.metric("cenote_result_cache_entries") == 0, "no vectors of tokens are kept"
    older = running.server.ask("/v1/embed", {"texts": FEW[:2], "embedding_types": ["multi_float"]}).json()
    assert older["embeddings"] == running.embed({"texts": FEW[:2]})["embeddings"]


@of("colmodernvbert")
def test_features_that_do_not_fit_their_grid_are_refused(running: Running) -> None:
    from safetensors.numpy import load, save

    (entry,) = running.server.ask("/v1/image_embeds", {"images": [image_part(data_uri(image_bytes(TALL)))]}).json()[
        "data"
    ]
    wrong = entry["part"]["image_embeds"] | {"image_grid_thw": [1, 1, 2]}
    silent = base64.b64encode(save(load(base64.b64decode(wrong["image_embeds"])))).decode()  # without metadata
    for features, words in (
        (wrong, "the file says that its grids are 1,4,2, got 1,1,2"),
        (wrong | {"image_embeds": silent}, r"sum of \(4 \+ 2\) x H x W and the whole image over 1 grids is"),
    ):
        content = [{"type": "image_embeds", "image_embeds": features}]
        error = refusal(running.server, "/v2/embed", {"inputs": [{"content": content}]})
        assert is_said(error, "invalid_image_embeds", "", words)


@of("colbert")
def test_a_text_that_is_longer_than_its_side_is_cut_or_refused(running: Running) -> None:
    long = " ".join(TEXTS[:6])
    for side, most in (("query", 32), ("document", 40)):
        assert near(running.vectors([long], side), running.want(side, [long]))
        error = refusal(running.server, "/v2/embed", {"texts": [long], "input_type": side, "truncate": "NONE"})
        assert is_said(error, "context_length_exceeded", "", f"maximum context length is {most} tokens")


@of("colbert", "doc-only")
def test_whatever_is_no_query_is_a_document_and_neither_answers_for_the_other(running: Running) -> None:
    want = {side: running.want(side, FEW) for side in ("query", "document")}
    for said in ("document", "passage", "search_document", "clustering", None, "query", "search_query"):
        asked = {"texts": FEW} if said is None else {"texts": FEW, "input_type": said}
        answer = running.embed(asked)
        side = "query" if said and "query" in said else "document"
        assert near(running.numbers(answer["embeddings"][running.model.kind]), want[side])
    names = running.card["input_types"]
    assert (names["search_query"], names["passage"]) == ("query", "document")


@of("colbert by means", "colqwen2.5 adapter")
@pytest.mark.parametrize("factor", [1.5, 4, 500])
def test_documents_vectors_are_joined_as_by_sentence_transformers(running: Running, factor: float) -> None:
    """In any order; a query's never, and by a factor of one none."""
    pages = running.model.documents == MODELS["colqwen2"].documents
    asked = [TALL, LARGE] if pages else FEW
    plain = running.vectors(asked, input_type="document") if not pages else running.vectors(asked)
    want = [one.numpy() for one in HierarchicalTokenPooling(factor).pool([torch.from_numpy(one) for one in plain])]
    got = running.vectors(asked, pool_factor=factor)
    for rows, wanted in zip(got, want, strict=True):
        assert rows.shape == wanted.shape
        nearest = np.linalg.norm(rows[:, None] - wanted[None], axis=2).argmin(axis=1)
        assert sorted(nearest) == list(range(len(wanted)))
        assert np.abs(rows - wanted[nearest]).max() <= TOLERANCE * max(1.0, np.abs(wanted).max())
    assert all(np.array_equal(*both) for both in zip(running.vectors(asked, pool_factor=1), plain, strict=True))
    body = {"inputs": items(asked), "pool_factor": factor, "embedding_types": ["multi_float", "multi_ubinary"]}
    found = running.embed(body)["embeddings"]
    for floats, bits in zip(found["multi_float"], found["multi_ubinary"], strict=True):
        assert np.array_equal(np.unpackbits(np.array(bits, np.uint8), axis=1), np.array(floats) >= 0)


@of("colbert", "colqwen2")
def test_what_is_not_joined_is_refused(running: Running) -> None:
    for factor in (0, 0.5, -1, "2"):
        error = refusal(running.server, "/v2/embed", {"texts": ["a"], "pool_factor": factor})
        assert error["param"] == "pool_factor"
    said = refusal(running.server, "/v2/embed", {"texts": ["a"], "input_type": "query", "pool_factor": 2})
    if running.model.queries == MODELS["colqwen2"].queries:
        assert is_said(
            refusal(running.server, "/v2/embed", {"texts": ["a"], "pool_factor": 2}), "", "texts[0]", "query"
        )
    else:
        assert is_said(said, "invalid_request", "pool_factor", "only documents are pooled")


@of("splade")
def test_repeated_texts_cost_one_forward_and_get_the_same_bits(running: Running) -> None:
    body = {"texts": ["a text that is new here"] * 5}
    first = running.embed(body)["embeddings"]["sparse"]
    before = running.server.metric("cenote_result_cache_hits_total")
    assert first == running.embed(body)["embeddings"]["sparse"] == [first[0]] * 5
    assert running.server.metric("cenote_result_cache_hits_total") == before + 5


@of("splade")
def test_tokens_as_keys_are_the_vocabularys_entries_with_the_same_weights(running: Running) -> None:
    texts, model = FEW[:6], running.reference
    found = running.embed({"texts": texts, "embedding_types": ["sparse_tokens", "sparse"]})["embeddings"]
    assert list(found) == ["sparse", "sparse_tokens"]
    for text, by_id, by_token in zip(texts, found["sparse"], found["sparse_tokens"], strict=True):
        assert list(by_token.values()) == by_id["values"]
        assert list(by_token) == model.tokenizer.convert_ids_to_tokens(by_id["indices"])
        wanted = dict(model.decode(model.encode(text)))
        assert by_token == pytest.approx({token: float(weight) for token, weight in wanted.items()}, abs=TOLERANCE)
    assert any(token.startswith("##") for token in by_token), "as they stand in the vocabulary"
    alone = running.embed({"texts": texts, "embedding_types": ["sparse_tokens"]})["embeddings"]
    assert alone == {"sparse_tokens": found["sparse_tokens"]}


@of("splade", "doc-only", "bge-m3")
def test_tei_has_the_same_weights_as_pairs(running: Running) -> None:
    server, texts = running.server, FEW[:6]
    side = {"prompt_name": "document"} if running.model.card.get("looks_queries_up") else {}
    ours = running.embed({"texts": texts, "embedding_types": ["sparse"], "input_type": "document"})["embeddings"][
        "sparse"
    ]
    pairs = server.ask("/embed_sparse", {"inputs": texts} | side).json()
    assert [[one["index"] for one in row] for row in pairs] == [one["indices"] for one in ours]
    weights = [[one["value"] for one in row] for row in pairs]  # where a tensor lies decides the order of its sums
    assert weights == [pytest.approx(one["values"], rel=0, abs=TOLERANCE) for one in ours]
    (alone,) = server.ask("/embed_sparse", {"inputs": texts[0], "truncate": True} | side).json()
    assert [one["value"] for one in alone] == pytest.approx(weights[0], rel=0, abs=TOLERANCE)
    if side:  # TEI has no room for a warning
        error = refusal(server, "/embed_sparse", {"inputs": "a red bicycle"})
        assert is_said(error, "", "", "`prompt_name`: got none.*search_query")
        told = running.embed({"texts": texts})
        assert told["embeddings"]["sparse"] == ours
        assert "no `input_type`: the inputs were embedded as documents" in told["meta"]["warnings"][0]
        assert "warnings" not in running.embed({"texts": texts, "input_type": "document"})["meta"]


@of("doc-only")
def test_ingest_stores_documents(running: Running, tmp_path: Any) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(FEW)))
    Program(source, "--to", out, "--outputs", "sparse", "--server", running.server.url).end()
    lines = sorted((json.loads(line) for line in out.read_text().splitlines()), key=lambda line: int(line["id"]))
    assert near(running.numbers([line["sparse"] for line in lines]), running.want("document", FEW))


@of("splade")
def test_the_page_writes_what_elasticsearch_takes(running: Running) -> None:
    """docs/api.md's block as printed; the products of its query and documents are those of the vectors by id."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/api.md").read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block.replace(ADDRESS, running.server.url), names)
    lines = [json.loads(line) for line in names["bulk"].splitlines()][1::2]
    assert [line["text"] for line in lines] == names["TEXTS"]
    asked = names["query"]["query"]["sparse_vector"]["query_vector"]
    documents, queries = running.vectors(names["TEXTS"]), running.vectors(["red bicycles"], input_type="query")
    assert len(asked) == np.count_nonzero(queries[0])
    for line, document in zip(lines, documents, strict=True):
        found = sum(weight * asked.get(token, 0.0) for token, weight in line["weights"].items())
        assert found == pytest.approx(float(document @ queries[0]), rel=1e-5)


@of("bge-m3")
@pytest.mark.parametrize(
    "kinds", [["float", "sparse", "multi_float"], ["sparse"], ["multi_float"], ["sparse", "float"]]
)
def test_all_kinds_together_and_each_alone_are_the_references(running: Running, kinds: list[str]) -> None:
    want = running.reference.all(FEW)
    for _ in range(2):  # the second answer may come from a cache, but of no other kind
        found = running.embed({"texts": FEW, "embedding_types": kinds})["embeddings"]
        assert set(found) == set(kinds)
        for place, kind in enumerate(("float", "sparse", "multi_float")):
            if kind == "sparse" and kind in kinds:
                for one, (_, sparse, _) in zip(found[kind], want, strict=True):
                    assert one["indices"] == sorted(sparse)
                    assert one["values"] == pytest.approx([sparse[i] for i in one["indices"]], abs=TOLERANCE)
            elif kind in kinds:
                assert near(running.numbers(found[kind], kind), [one[place].numpy() for one in want])
    data = running.server.ask("/v1/embeddings", {"input": FEW}).json()["data"]
    assert near([np.array(one["embedding"]) for one in data], [one[0].numpy() for one in want])
    score = running.server.ask("/v1/rerank", {"query": FEW[0], "documents": FEW[:2]}).json()["results"][0]
    assert abs(score["relevance_score"] - 1) <= TOLERANCE


@of("gme")
def test_an_image_under_two_instructions_is_encoded_once_and_a_search_query_has_its_own(running: Running) -> None:
    shown, server, script = image(77, 140, 90), running.server, running.reference
    before = server.metric("cenote_vision_encodes_total")
    for instruction in ("Represent the colors.", "Represent the shapes."):
        body = {"inputs": items([shown]), "instruction": instruction}
        assert near(server.vectors(body), [script("", [shown], instruction)])
        assert near(running.vectors([shown], instruction=instruction), [script("", [shown], instruction)])
    assert server.metric("cenote_vision_encodes_total") == before + 1
    assert near(
        running.vectors(["a dog"], "query"), [script("a dog", [], "Find an image that matches the given text.")]
    )


@of("dot products")
def test_ingest_lays_a_store_out_for_its_products(running: Running) -> None:
    import argparse

    from service.ingest.arguments import add_arguments, options_of
    from service.ingest.plan import make_layout, make_plan

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = options_of(parser.parse_args(["texts.jsonl", "--to", "out.jsonl"]))
    assert make_layout(running.card, make_plan(running.card, options)).by_dot


def test_a_dense_model_has_no_other_kinds(builtin: LiveServer) -> None:
    for kind, words in (
        ("multi_float", "got multi_float"),
        ("sparse", "builtin gives one vector of an input, as any of"),
    ):
        error = refusal(builtin, "/v2/embed", {"texts": ["x"], "embedding_types": ["float", kind]})
        assert is_said(error, "", "embedding_types[1]", words)
    assert is_said(refusal(builtin, "/embed_sparse", {"inputs": "a"}), "", "", "builtin gives no sparse vectors")
    error = refusal(builtin, "/v2/embed", {"texts": ["a"], "pool_factor": 2})
    assert is_said(
        error, "", "pool_factor", "for documents of late-interaction models, and the `outputs` of builtin are dense"
    )
    assert builtin.http.get("/v1/models").json()["data"][0]["outputs"] == ["dense"]
    answer = builtin.ask("/v2/embed", {"texts": ["a"], "embedding_types": ["float"]})
    assert msgspec.json.decode(answer.content, type=EmbedResponse).embeddings.float_
