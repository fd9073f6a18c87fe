"""docs/recipes/langchain.md as it is printed, and then what it shows for one image, asked for all 60."""

from pathlib import Path
from typing import Any

from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from tests.clients.plain import Plain
from tests.recipe import run

NUM_SCENES = 60
QUERY = "Retrieve images or text relevant to the user's query."


def test_texts_and_images_find_their_neighbors(plain: Plain, tmp_path: Path) -> None:
    run("langchain.md", plain.url, tmp_path)
    names = run("langchain.md", plain.url, tmp_path)  # once more, to find everything there and nothing twice
    scenes, part = names["scenes"], names["part"]
    images = [part(document.page_content) for document in names["documents"][:NUM_SCENES]]
    assert len(scenes) == NUM_SCENES
    assert images[0] in names["message"].content

    client = QdrantClient(path=str(tmp_path / names["FOLDER"] / "qdrant"))  # what the page wrote lasts
    store = QdrantVectorStore(client, "scenes", names["CenoteEmbeddings"](base_url=f"{plain.url}/v1"))

    def nearest(contents: list[list[Any]], instruction: str | None = None, **how: Any) -> list[Any]:
        vectors = store.embeddings.embed(contents, instruction)
        return [store.similarity_search_by_vector(vector, k=1, **how)[0] for vector in vectors]

    found = nearest([[part(scene["caption"])] for scene in scenes])
    assert sum(each.metadata.get("file") == scene["file"] for each, scene in zip(found, scenes, strict=True)) >= 58
    for about, by_instruction, by_words in (("colors", 58, 56), ("shapes", 56, 52)):
        wanted = [" and ".join(scene[about]) for scene in scenes]
        found = nearest([[image] for image in images], f"Represent the {about} of the image.")
        assert sum(each.page_content == words for each, words in zip(found, wanted, strict=True)) >= by_instruction
        asked = [[image, part(f"What {about} does the picture show?")] for image in images]
        found = nearest(asked, QUERY, filter=names["no_images"])
        assert sum(each.page_content == words for each, words in zip(found, wanted, strict=True)) >= by_words
    client.close()
