"""The profile of a text reranker, from its own files; modules of such families call these helpers."""

from collections.abc import Callable, Sequence

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.pair_frame import INSTRUCTED, Slot, read_pair_frame
from service.checkpoint.reranker_files import MessageForm, RerankerFiles
from service.checkpoint.sentence_files import Pooling
from service.prompt.conversation import Conversation
from service.prompt.cutting import Cutting
from service.prompt.piece import Piece
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import protected_tokens
from service.prompt.templates.pair import FramedPair, cut_frame


def make_reranker_profile(
    files: CheckpointFiles,
    found: RerankerFiles,
    *,
    name: str,
    architecture: str,
    pooling: Pooling,
    max_positions: int,
    layout: Callable[[Conversation], Sequence[Piece]],
    cutting: Cutting,
) -> Profile:
    """Join what the files say with how the family makes a prompt of a pair.

    Args:
        max_positions: tokens that the model has positions for.
        layout: of the prompt; the tokenizer adds its own tokens unless `found` has a chat template.
    """
    return Profile(
        name=name,
        architecture=architecture,
        default_instruction=found.prompt or None,
        input_types={},
        pooling=pooling,
        normalize=False,
        dimensions=1,
        min_dimensions=1,
        matryoshka=(1,),
        max_tokens=min(found.max_tokens or max_positions, max_positions),
        modalities=("text",),
        images=None,
        takes_instructions=isinstance(layout, FramedPair) and layout.instructed is not None,
        protected=protected_tokens(files.read_object("tokenizer.json")),
        layout=layout,
        add_special_tokens=found.messages is None,
        lower_case=found.lower_case,
        cutting=cutting,
        outputs=("score",),
        activation=found.activation,
    )


def framed_pair(files: CheckpointFiles, messages: MessageForm, prompt: str, unread: int | None = None) -> FramedPair:
    """The layout of a chat template.

    Args:
        prompt: instruction of a request that gives none.
        unread: a token that is left out at the end: no later one reads it.
    """
    added = files.read_object("tokenizer.json").get("added_tokens", [])
    special = {token["content"]: int(token["id"]) for token in added if token.get("special")}

    def cut(frame: tuple[str | Slot, ...]) -> tuple[int | tuple[str | Slot, ...], ...]:
        parts = cut_frame(frame, special)
        while parts and unread is not None and parts[-1] == unread:
            parts = parts[:-1]
        return parts

    bare = read_pair_frame(messages.template, messages.form, messages.variables)
    try:
        instructed = read_pair_frame(messages.template, messages.form, messages.variables, INSTRUCTED)
    except CheckpointError:
        if prompt:
            raise
        return FramedPair(cut(bare))
    has_place = any(isinstance(part, Slot) and part.role == "system" for part in instructed)
    return FramedPair(cut(bare), cut(instructed) if has_place else None, prompt)
