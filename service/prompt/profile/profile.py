"""All that differs between model families: data, and one pure function for the prompt's layout.

The modules of `families/` make profiles; everything else only reads them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from service.checkpoint.reranker_files import Activation
from service.checkpoint.sentence_files import Pooling, Similarity
from service.media.item import AudioRule, Background, MediaKind
from service.media.media_item import MediaItem
from service.media.resize.image_rule import ImageRule
from service.media.video.video_rule import VideoRule
from service.outputs.ask import Offer
from service.prompt.conversation import Conversation, Turn
from service.prompt.cutting import Cutting, cut_text
from service.prompt.piece import Piece
from service.prompt.roles import DOCUMENT, NO_ROLE, QUERY, PromptRole

Modality = Literal["text", "image", "video", "audio"]
MULTI_VECTOR: Literal["multi_vector"] = "multi_vector"
"""No pooling: each token of a prompt has a vector, for late interaction."""
SPLADE: Literal["splade"] = "splade"
"""The logits of a masked language model become weights of the vocabulary's entries: a sparse vector."""


def input_types(default: str, **own: str) -> Mapping[str, str]:
    """Instruction by Cohere's `input_type`; `own` may have a `query`, a `document` and an `image`, else `default`."""
    return {
        "search_document": own.get("document", default),
        "search_query": own.get("query", default),
        "classification": default,
        "clustering": default,
        "image": own.get("image", default),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageProfile:
    """The image input of a model."""

    pixel_rule: ImageRule
    background: Background = "reference"
    """The color under transparent pixels, where neither request nor server says."""
    feature_width: int
    """Numbers of one visual token's features: hidden size · `num_levels`."""
    num_levels: int = 1
    """1 + deepstack layers."""
    image_pad: int
    """One per visual token of an image; its embedding is replaced by the vision tower's output."""
    video_pad: int
    """Likewise, of a pair of a video's frames."""
    video_rule: VideoRule | None = None
    """Frames of a video that are taken, and their size; None: the model takes no video."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioProfile:
    """The audio input of a model."""

    rule: AudioRule
    audio_pad: int
    """The placeholder of audio, one for each of its tokens; of two towers all of it is one: its final vector."""


@dataclass(frozen=True, slots=True)
class Padding:
    """Tokens after every text, where the model attends to them."""

    token_id: int = 0
    """What they are."""
    num_tokens: int = 0
    """Length that a text is brought to; 0: none is padded."""

    def fill(self, token_ids: Sequence[int]) -> list[int]:
        """The tokens, padded."""
        return [*token_ids, *[self.token_id] * (self.num_tokens - len(token_ids))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One checkpoint's input and output."""

    name: str
    """Name of the family."""
    architecture: str
    """The engine's code that runs it: a key of `service.model.architectures`."""
    default_instruction: str | None
    """Instruction of a request that gives none; None: nothing."""
    input_types: Mapping[str, str]
    """Instruction by Cohere's `input_type`, and by each name among the checkpoint's own prompts."""
    pooling: Pooling
    normalize: bool
    dimensions: int
    """Length of the full vector."""
    min_dimensions: int
    """Shortest prefix offered."""
    matryoshka: tuple[int, ...]
    """The lengths offered, ascending; empty: any from `min_dimensions` to `dimensions`."""
    max_tokens: int
    """Longest prompt, visual tokens included."""
    modalities: tuple[Modality, ...]
    images: ImageProfile | None
    """None: the model takes no images."""
    audios: AudioProfile | None = None
    """None: the model takes no audio."""
    takes_instructions: bool = True
    """A request may have an instruction."""
    mixes: bool = True
    """A text and images may stand together in one item, where the model takes images at all."""
    protected: tuple[int, ...]
    """Special tokens of the template, which a client's text must never become."""
    layout: Callable[[Conversation], Sequence[Piece]]
    """The family's template: a conversation as text, special tokens and images, in order."""
    add_special_tokens: bool = True
    """Default of the request's flag of the same name."""
    lower_case: bool = False
    """Make texts lower case before they are tokenized."""
    padding: Padding = Padding()
    """Of texts."""
    cutting: Cutting = cut_text
    """Chooses the tokens that are cut from a prompt that is too long, where a request allows it."""
    roles: Mapping[str, PromptRole] = field(default_factory=dict)
    """Of late interaction over texts, by their names in `roles.py`; empty for all other models."""
    markers: tuple[str, ...] = ()
    """Special tokens of the reference that tokenizer.json does not have as such."""
    similarity: Similarity = "cosine"
    """Comparison of an embedder's query and document; with a vector for each token by MaxSim, whatever stands here
    but its mean over the query's vectors."""
    outputs: tuple[str, ...] = ("dense",)
    """The kinds of output that it has, its own first. With `score` alone it is a reranker, which takes pairs
    (`conversation.Role`), and its vector is one number, the logit: it has `dimensions=1` and `normalize=False`."""
    expected_tail: int | None = None
    """The token that tokenizers of this family are understood to append; one that does not is warned of."""
    activation: Activation = "identity"
    """Makes the score of a reranker's logit: `sigmoid` is between 0 and 1, `identity` the logit itself."""

    @property
    def is_reranker(self) -> bool:
        """True if it gives scores, and no vectors."""
        return self.outputs == ("score",)

    def offer(self, name: str, num_ids: int, token_of: Callable[[int], str | None]) -> Offer:
        """Return the outputs of a model of this name, whose tokenizer has so many ids; `token_of` names them."""
        return Offer(
            name=name,
            kinds=self.outputs,
            dimensions=self.dimensions,
            normalize=self.normalize,
            pooling=self.pooling,
            similarity=self.similarity,
            activation=self.activation,
            num_entries=self.dimensions if self.outputs == ("sparse",) else num_ids,
            token_of=token_of,
            query_side=QUERY if self.roles else "",
            looks_queries_up=any(role.uses_static_weights for role in self.roles.values()),
            gives_chunks=self.offers_late_chunking,
            feature_width=self.images.feature_width if self.images else 0,
        )

    @property
    def offers_late_chunking(self) -> bool:
        """True if chunks of a text may each have a vector of one forward: of dense models that pool by the mean.

        Rows of a table know nothing of what stands around them.
        """
        is_dense = self.outputs == ("dense",) and not self.roles and self.architecture != "static"
        return is_dense and self.pooling == "mean" and bool(getattr(self.layout, "is_uniform", False))

    @property
    def keeps_order(self) -> bool:
        """True if the template has a place for parts in any order, and so may be given them as they were written."""
        return bool(getattr(self.layout, "keeps_order", False))

    def role(self, conversation: Conversation) -> PromptRole:
        """The role of a conversation that `layout` takes, in late interaction over texts."""
        return self.roles.get(conversation.instruction or DOCUMENT, NO_ROLE)

    def turns_about(self, text: str = "", images: tuple[MediaItem, ...] = ()) -> tuple[Turn, ...]:
        """The turns of a prompt with one text or image, as the checks at start have them; of a reranker a pair."""
        if self.is_reranker:
            return (Turn("query", (text,)), Turn("document", (*images, text)))
        return (Turn("user", (*images, text)),)

    @property
    def pads(self) -> dict[MediaKind, int]:
        """The placeholder token of each kind of media; none for a model of text."""
        pads: dict[MediaKind, int] = {}
        if self.images is not None:
            pads |= {"image": self.images.image_pad, "video": self.images.video_pad}
        if self.audios is not None:
            pads["audio"] = self.audios.audio_pad
        return pads

    @property
    def media_tokens(self) -> tuple[int, ...]:
        """Tokens that stand for media, and that no text may hold."""
        return tuple(self.pads.values())

    def offers(self, dimensions: int) -> bool:
        """True where a vector may be cut to this length."""
        if self.matryoshka:
            return dimensions in self.matryoshka
        return self.min_dimensions <= dimensions <= self.dimensions
