"""Cross-encoders: BERT, RoBERTa, XLM-R and ModernBERT with a head of one label; BGE's, MS MARCO's and GTE's rerankers.

Source: sentence-transformers 6.2, `CrossEncoder`.
"""

from collections.abc import Mapping
from typing import Any

from service.checkpoint.config_files import NAMES, CheckpointFiles, positive
from service.checkpoint.errors import UnsupportedModelError
from service.checkpoint.pair_template import read_pair_template
from service.checkpoint.sentence_files import Pooling
from service.prompt.cutting import cut_longest
from service.prompt.families.xlm_roberta import first_position
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import Activation, Profile, Scoring
from service.prompt.profile.text_profile import protected_tokens
from service.prompt.templates.text_pair import TextPair

CLASS = "ForSequenceClassification"
ACTIVATIONS: Mapping[str, Activation] = {"Sigmoid": "sigmoid", "Identity": "identity"}
"""By the last part of their import path in `torch.nn`."""
POOLINGS: Mapping[object, Pooling] = {"cls": "cls", "mean": "mean"}
NO_LIMIT = 10**9
"""`model_max_length` of a tokenizer that has none is a number far beyond."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Join what config.json and the files of tokenizer and sentence-transformers say.

    Raises:
        UnsupportedModelError: files are missing, damaged, or ask for what is not supported: several labels, another
            activation, a prompt in front of texts.
    """
    _refuse_labels(files)
    _refuse_prompts(files)
    settings = files.optional("sentence_bert_config.json")
    limits = [
        positive(files.config, "max_position_embeddings") - first_position(files),
        settings.get("max_seq_length"),
        files.optional("tokenizer_config.json").get("model_max_length"),
    ]
    return Profile(
        name="cross-encoder",
        architecture="cross_encoder",
        default_instruction=None,
        input_types={},
        pooling=_pooling(files),
        normalize=False,
        dimensions=1,
        min_dimensions=1,
        matryoshka=(1,),
        max_tokens=int(min(limit for limit in limits if isinstance(limit, int | float) and 1 <= limit < NO_LIMIT)),
        modalities=("text",),
        images=None,
        takes_instructions=False,
        protected=protected_tokens(files.read_object("tokenizer.json")),
        layout=TextPair(read_pair_template(files).between),
        lower_case=settings.get("do_lower_case") is True,
        cutting=cut_longest,
        scoring=Scoring(_activation(files.config)),
    )


def is_cross_encoder(files: CheckpointFiles) -> bool:
    """True for a classifier's class, unless a module pools its vectors: then an embedder was made of it."""
    names, modules = files.config.get("architectures"), files.folder / "modules.json"
    is_classifier = isinstance(names, list) and bool(names) and str(names[0]).endswith(CLASS)
    return is_classifier and not (modules.exists() and "Pooling" in modules.read_text("utf-8", "replace"))


def _pooling(files: CheckpointFiles) -> Pooling:
    """Of ModernBERT what its file says, by default as transformers has it; of others the first token."""
    said = files.config.get("classifier_pooling", "cls") if files.model_type == "modernbert" else "cls"
    if said not in POOLINGS:
        raise UnsupportedModelError(f"config.json has classifier_pooling {said!r}; supported: cls, mean")
    return POOLINGS[said]


def _refuse_labels(files: CheckpointFiles) -> None:
    """Transformers saves no labels where there are two."""
    labels = files.config.get("id2label")
    num_labels = len(labels) if isinstance(labels, dict) else files.config.get("num_labels", 2)
    if num_labels != 1:
        raise UnsupportedModelError(
            f"config.json has {num_labels} labels (id2label); a reranker has one, whose logit is the score"
        )


def _refuse_prompts(files: CheckpointFiles) -> None:
    name = files.optional(NAMES).get("default_prompt_name")
    if name is not None:
        raise UnsupportedModelError(f"{NAMES} has default_prompt_name {name!r}; supported: none, pairs stand bare")


def _activation(config: Mapping[str, Any]) -> Activation:
    """The one that config.json names, in either of its forms; a sigmoid by default."""
    own = config.get("sentence_transformers")
    path = own.get("activation_fn") if isinstance(own, dict) else None
    path = path or config.get("sbert_ce_default_activation_function")
    if path is None:
        return "sigmoid"
    name = str(path).rpartition(".")[2]
    if not str(path).startswith("torch.nn.") or name not in ACTIVATIONS:
        raise UnsupportedModelError(
            f"config.json has the activation {path!r}; supported, in torch.nn: {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[name]


FAMILY = Family(
    model_types=("bert", "roberta", "xlm-roberta", "modernbert"),
    about="cross-encoders: BGE reranker v2 m3, base and large, MS MARCO MiniLM, gte-reranker-modernbert",
    make_profile=make_profile,
    is_of=is_cross_encoder,
    rank=1,
    kind="reranker",
    stock="BertForSequenceClassification, Roberta…, XLMRoberta…, ModernBert…",
    modalities="text",
    pooling="CLS, or mean by its files; its own head",
    prompt="both texts with a separator",
    tests=("tests/models/reranker/test_cross_encoders.py",),
    differences=(
        Difference(
            "BERT cross-encoders under `--strict-reference`, a separator in the query's text",
            "numbers tokens by the text that they are of",
            "the second text begins behind the first separator",
            "the engine sees tokens and no texts; without the flag no text becomes a separator",
        ),
    ),
)
