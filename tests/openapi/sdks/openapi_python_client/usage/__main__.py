"""A program written against the generated package, as a user would; mypy reads it in the strictest form.

`assert_type` states what a reader of the document expects. A `type: ignore` states what must be refused: mypy reports
one that is not needed. Run as `python -m usage URL IMAGE`, it holds the answers against each other.

Not used are raw bytes (`Accept: application/octet-stream`): of an answer with two media types the generator knows
JSON alone, and reads every answer as that. Nor are streams: of those it makes the types of a line, and a function that
would send one.
"""

import base64
import sys
from pathlib import Path

from cenote_client import AuthenticatedClient
from usage import failures, features, models, scores, tokens, vectors


def main(url: str, image_path: str) -> None:
    image = "data:image/png;base64," + base64.b64encode(Path(image_path).read_bytes()).decode()
    with AuthenticatedClient(base_url=url, token="any", raise_on_unexpected_status=True) as client:
        want = vectors.inputs_give_a_vector(client, image)
        vectors.base64_holds_the_same(client, image, want)
        vectors.messages_give_the_same(client, image, want)
        vectors.cohere_gives_the_same(client, image, want)
        vectors.texts_keep_their_order(client)
        features.features_give_the_same(client, image, want)
        tokens.tokens_of_an_image_are_counted(client, image)
        tokens.tokens_are_text_again(client)
        scores.rerank_gives_the_same(client, image)
        scores.tei_gives_the_same(client)
        scores.errors_of_reranking_are_typed(client, image)
        failures.errors_are_typed(client)
        failures.a_bad_item_has_its_error_in_its_own_place(client, image, want)
        models.models_are_typed(client)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
