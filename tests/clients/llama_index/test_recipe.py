"""docs/recipes/llama-index.md as it is printed, and then what it shows for one image, asked for all 60."""

from pathlib import Path

from llama_index.core.indices import MultiModalVectorStoreIndex
from llama_index.core.schema import QueryBundle
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from tests.clients.plain import Plain
from tests.recipe import run

NUM_SCENES = 60


def test_texts_and_images_find_their_neighbors(plain: Plain, tmp_path: Path) -> None:
    run("llama-index.md", plain.url, tmp_path)
    names = run("llama-index.md", plain.url, tmp_path)  # once more, to find everything there and nothing twice
    scenes, folder = names["scenes"], tmp_path / names["FOLDER"]
    assert len(scenes) == NUM_SCENES
    assert "ImageBlock" in {type(block).__name__ for block in names["message"].blocks}

    client = QdrantClient(path=str(folder / "qdrant"))  # what the page wrote lasts
    model = names["CenoteEmbedding"](base_url=f"{plain.url}/v1")
    texts, images = (QdrantVectorStore(name, client=client) for name in ("texts", "images"))
    index = MultiModalVectorStoreIndex.from_vector_store(
        texts, embed_model=model, image_vector_store=images, image_embed_model=model
    )
    retriever = index.as_retriever(similarity_top_k=1, image_similarity_top_k=1)
    by_caption = [retriever.text_to_image_retrieve(scene["caption"])[0].metadata["file"] for scene in scenes]
    assert sum(file == scene["file"] for file, scene in zip(by_caption, scenes, strict=True)) >= 57
    for about, least in (("colors", 58), ("shapes", 55)):
        asked = [[names["image_part"](str(folder / scene["file"]))] for scene in scenes]
        vectors = model.embed(asked, f"Represent the {about} of the image.")
        found = [retriever.text_retrieve(QueryBundle("", embedding=vector))[0].text for vector in vectors]
        right = [text == " and ".join(scene[about]) for text, scene in zip(found, scenes, strict=True)]
        assert sum(right) >= least, about
    client.close()
