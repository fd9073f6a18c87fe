"""Cross-encoders: encoders with a head of one label; BGE's, MS MARCO's, GTE's and ettin's rerankers and similar ones.

Source: sentence-transformers 6.2, `CrossEncoder`.
"""

from collections.abc import Mapping

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.pair_template import read_pair_template
from service.checkpoint.reranker_files import RerankerFiles, read_reranker_files
from service.checkpoint.reranker_kind import architecture, is_saved, reranker_kind
from service.checkpoint.sentence_files import Pooling
from service.checkpoint.sentence_settings import CLASSIFICATION, read_pair_settings
from service.checkpoint.tokenizer_settings import tokenizer_settings
from service.prompt.cutting import cut_end, cut_longest
from service.prompt.families.text_encoders import first_position
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.reranker_profile import framed_pair, make_reranker_profile
from service.prompt.templates.pair import TextPair
from service.prompt.tokenizer.text_ends import read_ends
from service.prompt.tokenizer.tokenizer_class import building_class
from service.prompt.tokenizer.tokenizer_file import TokenizerFile

CLASSES: Mapping[str, str] = {
    "bert": "BertForSequenceClassification",
    "roberta": "RobertaForSequenceClassification",
    "xlm-roberta": "XLMRobertaForSequenceClassification",
    "modernbert": "ModernBertForSequenceClassification",
    "distilbert": "DistilBertForSequenceClassification",
    "mpnet": "MPNetForSequenceClassification",
    "gte": "GteForSequenceClassification",
    "nomic_bert": "NomicBertForSequenceClassification",
    "jina_embeddings_v3": "JinaEmbeddingsV3ForSequenceClassification",
    "eurobert": "EuroBertForSequenceClassification",
    "camembert": "CamembertForSequenceClassification",
    "deberta-v2": "DebertaV2ForSequenceClassification",
    "electra": "ElectraForSequenceClassification",
}
"""model_type to the class (`service/model/heads/score.py` finds its head)."""
NUM_SEPARATORS: Mapping[str, int] = {
    **dict.fromkeys(("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"), 1),
    "DebertaV2Tokenizer": 1,
    **dict.fromkeys(("CamembertTokenizer", "MPNetTokenizer", "RobertaTokenizer", "XLMRobertaTokenizer"), 2),
}
"""Classes that put so many separators between two texts, whatever tokenizer.json says."""
POOLINGS: Mapping[str, Mapping[object, Pooling]] = {
    "modernbert": {"cls": "cls", "mean": "mean"},
    "eurobert": {"late": "mean", "bos": "cls", "mean": "mean"},
}
"""`classifier_pooling` of config.json, the class's default first; all others pool the first token."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Join what config.json and the files of tokenizer and sentence-transformers say."""
    check_class(files, CLASSES)
    refuse_labels(files)
    found = read_reranker_files(files, CLASSIFICATION)
    return make_reranker_profile(
        files,
        found,
        name="cross-encoder",
        architecture="cross_encoder",
        pooling=_pooling(files),
        max_positions=longest(files, CLASSIFICATION),
        layout=framed_pair(files, found.messages, found.prompt) if found.messages else text_pair(files, found),
        cutting=cut_end if found.messages else cut_longest,
    )


def longest(files: CheckpointFiles, task: str) -> int:
    """Tokens that the model has positions for; where they are relative alone, as many as its saved settings say.

    Source: sentence-transformers 6.2 `Transformer.__init__`.
    """
    bound = positive(files.config, "max_position_embeddings") - first_position(files)
    if files.model_type != "deberta-v2" or files.config.get("position_biased_input") is not False:
        return bound
    return max(bound, (read_pair_settings(files, task).max_tokens or 0) if is_saved(files) else 0)


def check_class(files: CheckpointFiles, classes: Mapping[str, str]) -> None:
    """Refuse a classifier of another class than transformers' own of its model type: its head is not known."""
    name, known = architecture(files), classes.get(str(files.model_type), "none")
    if name != known:
        raise CheckpointError(
            f"{files.folder / 'config.json'} has architectures {files.config.get('architectures')!r}; supported of a "
            f"reranker with model_type {files.model_type!r}: {known}"
        )


def refuse_labels(files: CheckpointFiles) -> None:
    """Refuse other than one label. Transformers saves none where there are two."""
    labels = files.config.get("id2label")
    num_labels = len(labels) if isinstance(labels, dict) else files.config.get("num_labels", 2)
    if num_labels != 1:
        raise CheckpointError(
            f"{files.folder / 'config.json'} has {num_labels} labels (id2label); a reranker has one, whose logit is "
            "the score"
        )


def text_pair(files: CheckpointFiles, found: RerankerFiles) -> TextPair:
    """The layout of two texts that the tokenizer joins."""
    if found.prompt:
        raise CheckpointError(
            f"{files.folder / 'config_sentence_transformers.json'} has a default_prompt_name; supported: none, pairs "
            "of texts stand bare"
        )
    template = read_pair_template(files)
    written, read = files.read_object("tokenizer.json"), TokenizerFile.read(files.folder).content
    name = building_class(files.config, tokenizer_settings(files), written)
    is_other = False
    if (num_separators := NUM_SEPARATORS.get(name)) is not None:
        is_untyped = num_separators == 1 and template.second_type != 1  # BERT's numbers the texts
        is_other = template.between != template.after * num_separators or is_untyped
    own, other = (read_ends(one.get("post_processor") or {}) for one in (read, written))
    if is_other or own != other:
        raise CheckpointError(
            f"{files.folder / 'tokenizer.json'} puts other tokens around a pair than {name or 'its class'} of "
            "tokenizer_config.json, by that file's tokens and flags: let both say the same"
        )
    return TextPair(template.between)


def _pooling(files: CheckpointFiles) -> Pooling:
    known = POOLINGS.get(str(files.model_type), {"cls": "cls"})
    said = files.config.get("classifier_pooling", next(iter(known))) if len(known) > 1 else "cls"
    if said not in known:
        raise CheckpointError(
            f"{files.folder / 'config.json'} has classifier_pooling {said!r}; supported: {', '.join(map(str, known))}"
        )
    return known[said]


FAMILIES = {
    "cross_encoder": Family(
        model_types=tuple(CLASSES),
        about="cross-encoders: BGE reranker v2 m3, base and large, MS MARCO MiniLM and ELECTRA, mxbai-rerank-v1, "
        "gte-reranker-modernbert",
        make_profile=make_profile,
        # not where other modules follow it: then an embedder was made of it
        is_of=lambda files: reranker_kind(files) == "classifier",
        rank=1,
        kind="reranker",
        stock="BertForSequenceClassification, and those of the other types",
        pooling="as its class pools; its own head",
        prompt="both texts with a separator, or its chat template",
        tests=("tests/models/reranker/test_cross_encoders.py", "tests/models/folders/"),
        differences=(
            Difference(
                "BERT cross-encoders under `--strict-reference`, a separator in the query's text",
                "numbers tokens by the text that they are of",
                "the second text begins after the first separator",
                "the engine sees tokens and no texts; without the flag no text becomes a separator",
            ),
        ),
    )
}
