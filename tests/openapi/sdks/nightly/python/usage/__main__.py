"""A program written against the generated package, as a user would; mypy reads it in the strictest form.

`assert_type` states what a reader of the document expects. A `type: ignore` states what must be refused: mypy reports
one that is not needed. Run as `python -m usage URL IMAGE`, it holds the answers against each other.

Not used are base64 and raw bytes (`Accept: application/octet-stream`): the SDK profile writes a vector as numbers only.
"""

import base64
import sys
from pathlib import Path

from cenote_client import ApiClient, Configuration, EmbeddingsApi, ModelsApi, ScoresApi, TokensApi
from usage import failures, features, models, scores, tokens, vectors


def main(url: str, image_path: str) -> None:
    image = "data:image/png;base64," + base64.b64encode(Path(image_path).read_bytes()).decode()
    client = ApiClient(Configuration(host=url))
    api = EmbeddingsApi(client)
    want = vectors.inputs_give_a_vector(api, image)
    vectors.messages_give_the_same(api, image, want)
    vectors.cohere_gives_the_same(api, image, want)
    features.features_give_the_same(api, image, want)
    tokens.tokens_of_an_image_are_counted(TokensApi(client), image)
    tokens.tokens_are_text_again(TokensApi(client))
    scores.rerank_gives_the_scores(ScoresApi(client), image)
    scores.tei_is_answered(api, ModelsApi(client))
    failures.errors_are_typed(api)
    failures.a_bad_item_has_its_error_in_its_own_place(api, image, want)
    models.models_are_typed(ModelsApi(client))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
