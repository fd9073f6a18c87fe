"""Mistral 3 in both directions: Nemotron-3.5-Embed 1B and 8B and Nemotron-3.5-Rerank-8B, texts and images.

The files are those that NVIDIA's trainer writes: of transformers' classes, with a chat template and modules of
sentence-transformers.

Source: NeMo AutoModel, `ministral_bidirectional/processor.py`, `reranker_export.py`, `sentence_transformer_export.py`;
transformers 5.24 `Mistral3Model`; sentence-transformers 6.2.
"""

from dataclasses import replace
from typing import Any

from service.checkpoint.chat_template import DEFAULT, ChatTemplate, read_chat_templates
from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.reranker_files import read_reranker_files
from service.checkpoint.reranker_kind import module_kinds, reranker_kind
from service.checkpoint.score_modules import read_score_modules
from service.checkpoint.sentence_settings import FEATURES
from service.media.line_rule import TOKENS, LineRule
from service.prompt.cutting import cut_end
from service.prompt.profile.decoder_profile import check_direction, make_decoder_profile
from service.prompt.profile.family import Difference, Family
from service.prompt.profile.profile import ImageProfile, Profile
from service.prompt.profile.reranker_profile import framed_pair, make_reranker_profile
from service.prompt.profile.tower_profile import WHITE
from service.prompt.templates.image_first import ImageBesidePair, ImageFirst
from service.prompt.templates.plain_text import PlainText

PARTS = ("ministral3", "pixtral"), ("mistral", "pixtral")
"""Decoder and tower."""
ESCAPE = "\\u200c"
"""Put by the template after each `[` and `<` of a client's text, and taken away again by the tokenizer's normalizer."""


def make_embedder(files: CheckpointFiles) -> Profile:
    """Of the decoder's files, with images."""
    text = _decoder(files)
    offered = files.matryoshka(positive(text.config, "hidden_size")) or ()
    profile = make_decoder_profile(text, name="mistral3", matryoshka=offered, encodes="messages")
    assert isinstance(profile.layout, PlainText)  # `make_text_profile` has no other without ColBERT's files
    layout = ImageFirst(profile.layout, strips=_strips(files))
    return _seeing(files, replace(profile, architecture="mistral3", layout=layout))


def make_reranker(files: CheckpointFiles) -> Profile:
    """Of a cross-encoder of modules. Its scores are those of its Dense, and a head is not read."""
    text, found = _decoder(files), read_reranker_files(files, FEATURES)
    if found.messages is None or found.messages.form != "structured":
        raise CheckpointError(f"{files.folder} makes no messages in parts of pairs, by which images are seen")
    messages = replace(found.messages, template=_unescaped(found.messages.template))
    pair = framed_pair(files, messages, found.prompt)
    query, document = _message("query", " a\n"), _message("document", "b \n")
    words = messages.template.render([query, document], messages.variables)
    seen = messages.template.render([query, _message("document", "b \n", 1)], messages.variables)
    if seen != f"{_token(files)} {words.rstrip()}" or len(pair.bare) != 1 or pair.instructed:
        raise CheckpointError(f"{messages.template.path} writes {seen!r}; supported: an image, then the pair's text")
    profile = make_reranker_profile(
        files,
        found,
        name="mistral3-reranker",
        architecture="mistral3_reranker",
        pooling=read_score_modules(files.folder).pooling,
        max_positions=positive(text.config, "max_position_embeddings"),
        layout=ImageBesidePair(pair),
        cutting=cut_end,
    )
    return _seeing(files, replace(profile, add_special_tokens=True))  # a processor's default


def _decoder(files: CheckpointFiles) -> CheckpointFiles:
    """The decoder's part, once it is known which tokens see each other, and what sees images."""
    text = CheckpointFiles(files.folder, "text_config")
    found = text.model_type, files.section("vision_config").get("model_type", "pixtral")
    if found not in PARTS:
        raise CheckpointError(f"config.json has a text_config and a vision_config of {found}; supported: {PARTS}")
    check_direction(files)
    return text


def _seeing(files: CheckpointFiles, profile: Profile) -> Profile:
    """With images."""
    rule, text = LineRule.read(files), files.section("text_config")
    width, pad, none = positive(text, "hidden_size"), rule.block.image, positive(text, "vocab_size")
    images = ImageProfile(pixel_rule=rule, background=WHITE, feature_width=width, image_pad=pad, video_pad=none)
    return replace(profile, modalities=("text", "image"), images=images)


def _token(files: CheckpointFiles) -> str:
    return str(files.processor().get("image_token", TOKENS["image_token"]))


def _unescaped(template: ChatTemplate) -> ChatTemplate:
    return replace(template, text=template.text.replace(ESCAPE, ""))


def _message(role: str, text: str, num_images: int = 0) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}, *[{"type": "image"}] * num_images]}


def _strips(files: CheckpointFiles) -> bool:
    """True if the chat template drops blanks at the end of a prompt; any other form is refused."""
    if (found := read_chat_templates(files).get(DEFAULT)) is None:
        raise CheckpointError(f"{files.folder} has no chat template, by which texts and images become a prompt")
    template, prompt, user = _unescaped(found), "p: \n", _message("user", " <b> [c]\n", 2)
    user["content"].append({"type": "text", "text": "d"})
    alone, whole = (template.render([*some, user], {}) for some in ([], [_message("system", prompt)]))
    forms = [f"{one} {alone}" for one in (prompt, prompt.rstrip())]
    if alone != f"{_token(files)} {_token(files)}  <b> [c]\n d" or whole not in forms:
        raise CheckpointError(
            f"{template.path} writes {whole!r}; supported of this architecture: the prompt, images, then texts, with a "
            "blank between any two"
        )
    return whole != forms[0]


ESCAPES = Difference(
    "Nemotron 3.5, a text with a zero-width non-joiner right after `[` or `<`",
    "its template puts one more there, and the tokenizer takes one away",
    "the tokenizer takes it away: none is put, as no text becomes a special token anyway",
    "texts of one prompt are tokenized together",
)

FAMILIES = {
    "mistral3": Family(
        model_types=("mistral3",),
        about="Nemotron-3.5-Embed 1B and 8B, and embedders on Mistral 3",
        make_profile=make_embedder,
        is_of=lambda files: bool(module_kinds(files)),
        kind="vision-language",
        stock="Mistral3Model",
        modalities="text, image, and both in one item",
        pooling="mean, by its files; both directions by is_causal",
        prompt="prefix by its files, images, then texts",
        tests=("tests/models/vlm/test_mistral3.py",),
        differences=(ESCAPES,),
    ),
    "mistral3_reranker": Family(
        model_types=("mistral3",),
        about="Nemotron-3.5-Rerank-8B, with sentence-transformers' modules",
        make_profile=make_reranker,
        is_of=lambda files: reranker_kind(files) == "modules",
        rank=1,
        kind="reranker",
        stock="Mistral3Model",
        modalities="text; documents: text, an image, or both",
        pooling="mean, and a Dense, by its files",
        prompt="`query:`, `passage:` by its chat template, an image in front",
        tests=("tests/models/vlm/test_mistral3.py",),
    ),
}
