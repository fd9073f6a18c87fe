"""Rerankers on decoders: logits of tokens at the last place (LogitScore), or a classifier's one row (zerank, ctxl ...).

NVIDIA's classifiers attend in both directions and pool; their prompt is a line of their own code where the folder has
no chat template.

Source: sentence-transformers 6.2, `CrossEncoder` and `LogitScore`; transformers 5.24,
`GenericForSequenceClassification`; NeMo AutoModel, `LlamaBidirectionalForSequenceClassification` and
`CrossEncoderCollator`.
"""

from collections.abc import Mapping

from service.checkpoint.answer_tokens import BOTH_WAYS, find_answer_head, read_logit_score, read_temperature
from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.pair_frame import Slot
from service.checkpoint.pair_template import read_pair_template
from service.checkpoint.reranker_files import RerankerFiles, read_reranker_files
from service.checkpoint.reranker_kind import LOGIT_SCORE, MODULES, architecture, is_saved, reranker_kind, told
from service.checkpoint.sentence_settings import CLASSIFICATION, GENERATION
from service.prompt.cutting import cut_end, cut_longest
from service.prompt.families.cross_encoder import check_class, refuse_labels, text_pair
from service.prompt.profile.decoder_profile import POOLINGS, check_direction
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.reranker_profile import framed_pair, make_reranker_profile
from service.prompt.profile.text_profile import protected_tokens
from service.prompt.templates.pair import FramedPair

CLASSIFIERS: Mapping[str, str] = {
    "qwen3": "Qwen3ForSequenceClassification",
    "qwen2": "Qwen2ForSequenceClassification",
    "llama": "LlamaForSequenceClassification",
    BOTH_WAYS: "LlamaBidirectionalForSequenceClassification",
    "mistral": "MistralForSequenceClassification",
    "gemma": "GemmaForSequenceClassification",
    "gemma2": "Gemma2ForSequenceClassification",
    "gemma3_text": "Gemma3TextForSequenceClassification",
}
GENERATORS: Mapping[str, str] = {
    "qwen3": "Qwen3ForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "gemma": "GemmaForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
}

CAPS: Mapping[object, float] = {"gemma2": 30.0}
"""`final_logit_softcapping` of model types that have one where config.json does not say."""
QUESTION_AND_PASSAGE = (("question:", Slot("query"), " \n \n passage:", Slot("document")),)
"""The prompt of `LlamaBidirectionalForSequenceClassification`, after the tokenizer's head."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Join what config.json and the files of tokenizer and sentence-transformers say."""
    has_logits = reranker_kind(files) == "logits"
    check_class(files, GENERATORS if has_logits else CLASSIFIERS)
    found = read_reranker_files(files, GENERATION if has_logits else CLASSIFICATION)
    if has_logits:
        _check_logits(files)
    else:
        refuse_labels(files)
    find_answer_head(files)
    if files.model_type == BOTH_WAYS:
        return _both_ways(files, found)
    check_direction(files, "AutoModelForCausalLM" if has_logits else "AutoModelForSequenceClassification")
    unread = None if has_logits else _unread(files, found)
    return make_reranker_profile(
        files,
        found,
        name="decoder-reranker",
        architecture="text_judge",
        pooling="last_token",
        max_positions=positive(files.config, "max_position_embeddings"),
        layout=framed_pair(files, found.messages, found.prompt, unread) if found.messages else text_pair(files, found),
        cutting=cut_end if found.messages else cut_longest,
    )


def _both_ways(files: CheckpointFiles, found: RerankerFiles) -> Profile:
    """Of NVIDIA's classifiers, whose states are pooled without padding."""
    read_temperature(files)
    if (pooling := files.config.get("pooling", "avg")) not in POOLINGS:
        raise CheckpointError(
            f"{files.folder / 'config.json'} has pooling {pooling!r}; supported: {', '.join(map(str, POOLINGS))}"
        )
    if files.config.get("is_causal"):
        raise CheckpointError(f"{files.folder / 'config.json'} has is_causal true; {architecture(files)} needs false")
    return make_reranker_profile(
        files,
        found,
        name="decoder-reranker",
        architecture="text_judge:LlamaBidirectionalModel",
        pooling=POOLINGS[pooling],
        max_positions=positive(files.config, "max_position_embeddings"),
        layout=framed_pair(files, found.messages, found.prompt) if found.messages else FramedPair(QUESTION_AND_PASSAGE),
        cutting=cut_end,
    )


def _check_logits(files: CheckpointFiles) -> None:
    """Refuse logits that are not rows of the head times a hidden state, and ids that do not count."""
    if not is_saved(files):
        raise CheckpointError(
            f"{told(files, 'logits')}, and config_sentence_transformers.json has no model_type 'CrossEncoder': "
            "sentence-transformers would pass over the ids of LogitScore"
        )
    if read_logit_score(files) is None:
        raise CheckpointError(
            f"{files.folder / MODULES} names {LOGIT_SCORE}, whose config.json is not at its path: the ids of the "
            "tokens that a score is made of are needed"
        )
    if (cap := files.config.get("final_logit_softcapping", CAPS.get(files.model_type))) is not None:
        raise CheckpointError(f"{files.folder / 'config.json'} has final_logit_softcapping {cap!r}; a null is needed")


def _unread(files: CheckpointFiles, found: RerankerFiles) -> int | None:
    """The token that is left out at the end of a classifier's prompt: the padding one.

    Transformers scores the last token that is none, and with a causal mask that does not see those after it. Prompts
    that may end in padding otherwise are refused: a text without a chat template ends in any token.
    """
    padding, name = files.config.get("pad_token_id"), architecture(files)
    is_causal = files.config.get("is_causal", True) is not False
    if padding is None or (is_causal and found.messages is not None):
        return padding
    ends = read_pair_template(files).after if found.messages is None else (padding,)
    if padding in ends or padding not in protected_tokens(files.read_object("tokenizer.json")):
        raise CheckpointError(
            f"{files.folder / 'config.json'} has pad_token_id {padding!r}, in which a prompt may end: "
            f"{name} scores the last token that is another; supported: a special token that ends no prompt"
        )
    return None


FAMILIES = {
    "decoder_reranker": Family(
        model_types=tuple(CLASSIFIERS),
        about="rerankers on decoders as sentence-transformers saves them, with LogitScore (zerank, ctxl-rerank-v2, "
        "mxbai-rerank-v2, bge-reranker-v2-gemma and similar), and classifiers (Qwen3-Reranker seq-cls, "
        "llama-nemotron-rerank-1b-v2)",
        make_profile=make_profile,
        is_of=lambda files: reranker_kind(files) in ("logits", "classifier"),
        rank=2,
        kind="reranker",
        stock="Qwen3ForCausalLM, Qwen3ForSequenceClassification, and those of the other types",
        pooling="last token, NVIDIA's by `pooling`; rows of LogitScore's ids, or the classifier's",
        prompt="its own chat template, or both texts with a separator; NVIDIA's `question:`, `passage:`",
        tests=("tests/models/folders/", "tests/models/reranker/test_nemotron.py"),
    )
}
