"""Static embeddings: a text's vector is the mean of its tokens' rows of a table, and no transformer runs.

model2vec's folders (potion) are read as model2vec reads them: unknown tokens are passed over, a text is cut by
characters and then by tokens, and `normalize` of config.json counts. Folders whose modules.json begins with
StaticEmbedding are sentence-transformers'. All that were released are trained for shorter vectors, or made by PCA.
"""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.reranker_kind import module_kinds
from service.checkpoint.static_files import MODEL2VEC, MODULE, MOST_TOKENS
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import make_text_profile, text_family

MIN_DIMENSIONS = 32
"""Shortest prefix that static-retrieval-mrl-en-v1 and static-similarity-mrl-multilingual-v1 were trained for."""


def make_static(files: CheckpointFiles) -> Profile:
    """The profile of both forms."""
    profile = replace(make_text_profile(files, name="static", min_dimensions=MIN_DIMENSIONS), architecture="static")
    if files.model_type != MODEL2VEC:
        return profile
    normalize, modules = files.config.get("normalize", False), module_kinds(files)
    if type(normalize) is not bool or (modules and modules != [MODULE, *(["Normalize"] if normalize else [])]):
        raise CheckpointError(
            f"{files.folder / 'config.json'} has normalize {normalize!r}, and modules.json {modules}; supported: true "
            f"with {MODULE} and Normalize, false with {MODULE} alone"
        )
    return replace(profile, normalize=normalize and profile.dimensions == files.config["hidden_size"])


FAMILIES: dict[str, Family] = {
    "static": text_family(
        (MODEL2VEC, MODULE),
        "static embeddings of model2vec (potion) and sentence-transformers (static-retrieval-mrl, static-similarity)",
        "none: rows of a table",
        make_static,
        "mean",
        more_tests=("tests/models/static/",),
        differences=(
            Difference(
                what="static embeddings: a text without a token that the table knows",
                reference="a vector of zeros",
                here="refused, with its place",
                why="it has no direction, and would be as near to every text",
            ),
            Difference(
                what="static embeddings: a text beyond the limit (512 tokens in model2vec, by `max_length`)",
                reference="model2vec cuts it at 512 tokens, and at 512 times the median length of its tokens before",
                here="refused, or cut so where the request asks for it; without any limit in the files at "
                f"{MOST_TOKENS:,} tokens",
                why="as with all models",
            ),
            Difference(
                what="model2vec with a table in float16",
                reference="the mean is rounded to float16",
                here="float32",
                why="the nearer result",
            ),
        ),
    ),
}
