"""The SQL of docs/recipes/small-vectors.md in a Postgres with pgvector (PGlite, which npm brings), on live vectors."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cenote_builtin.gallery import write_gallery
from tests.conftest import LiveServer, data_uri
from tests.openapi.sdks.workshop import Workshop
from tests.recipe import RECIPES

NUM_SCENES = 100
(SQL,) = re.findall(r"^```sql\n(.*?)^```$", (RECIPES / "small-vectors.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def workshop() -> Workshop:
    workshop = Workshop("pgvector", "pgvector")
    workshop.install_node()
    return workshop


def rows(server: LiveServer, body: dict[str, Any]) -> list[dict[str, Any]]:
    vectors = server.ask("/v2/embed", body | {"embedding_types": ["float", "ubinary"]}).json()["embeddings"]
    bits = ["".join(f"{byte:08b}" for byte in row) for row in vectors["ubinary"]]
    return [{"bits": of_bits, "long": long} for of_bits, long in zip(bits, vectors["float"], strict=True)]


def test_the_pages_sql_finds_each_caption_its_image(builtin: LiveServer, workshop: Workshop, tmp_path: Path) -> None:
    write_gallery(tmp_path, NUM_SCENES, seed=61)
    scenes = [json.loads(line) for line in (tmp_path / "scenes.jsonl").read_text().splitlines()]
    pages = rows(builtin, {"images": [data_uri((tmp_path / scene["file"]).read_bytes()) for scene in scenes]})
    asked = rows(builtin, {"texts": [scene["caption"] for scene in scenes]})
    (workshop.folder / "rows.json").write_text(json.dumps({"pages": pages, "asked": asked}))
    (workshop.folder / "recipe.sql").write_text(SQL)
    found = json.loads(workshop.npm("search"))
    assert {len(ids) for ids in found} == {10}
    assert sum(ids[0] == number for number, ids in enumerate(found)) >= NUM_SCENES - 2
