"""`PromptBuilder`: from a conversation to the token ids that the engine embeds.

In: a `Conversation` whose images are known by header only. Out: a `Prompt` within the length limit, with one
placeholder per image and pair of frames; or an error. Nothing is decoded before this has passed.
Knows no model family (the profile's layout does) and no route.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from service.errors import InputError, ModelError
from service.prompt.conversation import Conversation
from service.prompt.cutting import Cutting, cut_end
from service.prompt.late_chunking import LateChunks
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece
from service.prompt.plain_texts import MAX_REPEATED_CHARS, NUM_REPEATED, PlainTexts, TextFrame, frame_pieces
from service.prompt.profile.profile import Profile
from service.prompt.prompt import Placeholder as Placeholder
from service.prompt.prompt import Prompt
from service.prompt.roles import PromptRole
from service.prompt.tokenizer.text_bound import most_tokens
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.tokenizer_check import check_tokenizer
from service.prompt.truncation import Fixed, Side, TokenBudget, Truncation

NO_TURNS = "The conversation has 0 turns; at least one with text, an image or a video is needed."
FILLERS = ("0", "1 2 3 4")
"""Texts in the place of a client's, which share no token at their ends."""
OPEN_AND_CLOSED = (
    "`add_generation_prompt` and `continue_final_message` are both true; at most one may be: the first opens a new "
    "turn, the second leaves the last one open."
)


@dataclass(slots=True)
class PromptBuffer:
    """A prompt that `PromptBuilder` fills piece by piece."""

    token_ids: list[int] = field(default_factory=list)
    placeholders: list[Placeholder] = field(default_factory=list)
    cuttable: list[range] = field(default_factory=list)
    """Token ids that truncation may remove, ascending: a run for each text."""
    truncated: bool = False
    closing: tuple[int, str] = (0, "")
    """Words of the template right after the last text that may be cut, and the place after their tokens."""

    def truncate(self, budget: TokenBudget, cutting: Cutting) -> None:
        """Cut to the budget's limit, which the prompt exceeds; later images move left.

        Raises:
            InputError: `context_length_exceeded`: nothing may be cut, or that is not enough; or what `cutting` refuses.
        """
        num_tokens, side = len(self.token_ids), budget.truncation.side
        num_excess = num_tokens - budget.limit
        try:
            removed = cutting(self.token_ids, self.cuttable, num_excess, side or "right")
        except InputError as error:
            error.param, error.index = budget.param, budget.index
            raise
        if len(removed) < num_excess:
            budget.refuse(num_tokens, self.fixed())
        if side is None:
            budget.refuse(num_tokens)
        gone = set(removed)
        self.token_ids = [token_id for place, token_id in enumerate(self.token_ids) if place not in gone]
        self.placeholders = [replace(p, offset=p.offset - bisect(removed, p.offset)) for p in self.placeholders]
        self.truncated = True

    def fixed(self) -> Fixed:
        """The tokens that are never cut."""
        num_images = sum(placeholder.length for placeholder in self.placeholders)
        return Fixed(len(self.token_ids) - sum(map(len, self.cuttable)) - num_images, num_images)


class PromptBuilder:
    """Builds the prompts of one model. Any number of threads may share it: all it keeps are tokens of repeated texts.

    Its tokens are those of tokenizing the rendered conversation in one go with special tokens added, but what a client
    wrote never becomes a special token unless `strict_reference` asks for that.

    Attributes:
        plain_texts: makes the prompts of many texts together.
    """

    def __init__(self, profile: Profile, tokenizer: PromptTokenizer, strict_reference: bool = False) -> None:
        self._profile = profile
        self._tokenizer = tokenizer
        self._strict = strict_reference
        self._pads = profile.pads
        self._repeated = lru_cache(NUM_REPEATED)(self._token_ids)
        self.plain_texts = PlainTexts(profile, tokenizer, self._make_frame, is_strict=strict_reference)
        unbounded = Truncation(profile.max_tokens)
        check_tokenizer(profile, tokenizer, lambda conversation: self.build(conversation, unbounded).plan.ids)

    def build(self, conversation: Conversation, truncation: Truncation, *, param: str = "", index: int = 0) -> Prompt:
        """Render, tokenize and, if asked, shorten one conversation.

        Only texts of the last user turn or of a pair are cut; template, instruction, media and the end token stay.
        Of a text that cannot fit, characters are cut before tokenizing, so that cost is bounded by the limit and not by
        the text: as many are kept as `limit` tokens can cover at most, and the template's own tokens (nine at least)
        are the margin. The ids that are left equal those of cutting after tokenizing, unless one unbroken run of
        letters, signs or white space reaches from the kept tokens through that whole margin, nine of the longest tokens
        and more: byte-pair merges inside such a run may depend on all of it.

        Returns:
            The prompt, at most min(`truncation.max_tokens`, profile's maximum) tokens; the profile's padding and what a
            query of late interaction is filled with come on top of what the request allows.

        Raises:
            InputError: `empty_input`, `conflicting_input`, `context_length_exceeded`, or `invalid_request` for a media
                token in a client's text under `strict_reference`, or a side that this model's texts are not cut at.
            ModelError: placeholders and their tokens disagree, which would be a bug.

        Source: docs/notes/qwen3-vl-embedding.md.
        """
        if not conversation.turns:
            raise InputError("empty_input", NO_TURNS, param=param, index=index)
        if conversation.add_generation_prompt and conversation.continue_final_message:
            raise InputError("conflicting_input", OPEN_AND_CLOSED, param=param, index=index)
        try:
            pieces = self._profile.layout(conversation)
        except InputError as error:  # a layout does not know where the conversation stands in the request
            error.param, error.index = param, index
            raise
        role = self._profile.role(conversation)
        most = min(role.max_tokens, self._profile.max_tokens)
        limit = min(truncation.max_tokens, most)
        budget = TokenBudget(truncation, limit, most, param, index)
        if truncation.side is not None:
            pieces = [self._shorten(piece, limit, truncation.side) for piece in pieces]
        kinds = set(map(type, pieces))
        is_text = bool(kinds - {ImagePiece})  # images alone are not tokenized
        has_ends = is_text and self._has_ends(conversation, role)
        num_most = sum(most_tokens([piece.text]) for piece in pieces if isinstance(piece, TextPiece))
        num_most += sum(piece.item.num_tokens for piece in pieces if isinstance(piece, ImagePiece))
        if num_most > limit:
            self._refuse_hopeless(pieces, has_ends, budget)
        buffer = self._tokenize(pieces, has_ends, budget)
        if (num_tokens := len(buffer.token_ids)) > limit:
            buffer.truncate(budget, self._profile.cutting)
            if self._profile.cutting is cut_end:
                self._close(buffer, num_tokens - len(buffer.token_ids))
        if (unread_id := self._tokenizer.unread_id) >= 0:
            buffer.token_ids = [one for one in buffer.token_ids if one != unread_id]
        if is_text and self._profile.padding.num_tokens:
            buffer.token_ids = self._profile.padding.fill(buffer.token_ids)
        if not buffer.token_ids:
            message = "The prompt has 0 tokens; this model needs one at least, and its tokenizer adds none of its own."
            raise InputError("empty_input", message, param=param, index=index)
        return self._checked(buffer, role)

    def late_chunks(self, like: Conversation, truncation: Truncation, params: Sequence[str]) -> LateChunks:
        """Return the builder of prompts for the chunks of one text, for models that offer late chunking.

        Args:
            like: instruction and flags; without turns.
            truncation: of each prompt.
            params: the path of each chunk.
        """
        frame = self._make_frame(like)
        assert frame is not None  # the profile offers late chunking
        limit, refuse = self._profile.max_tokens, self._refuse_media_tokens
        return LateChunks(frame, self._tokenizer, truncation, limit, params, refuse, self._strict)

    def _has_ends(self, conversation: Conversation, role: PromptRole) -> bool:
        """True if the tokenizer's own tokens stand around a text."""
        asked = conversation.add_special_tokens
        return role.has_ends and (self._profile.add_special_tokens if asked is None else asked)

    def _make_frame(self, like: Conversation) -> TextFrame | None:
        """The tokens around each text; None where they depend on it."""
        pieces = None if like.continue_final_message else frame_pieces(self._profile.layout, like)
        if pieces is None:
            return None
        limit = self._profile.max_tokens
        budget = TokenBudget(Truncation(limit), limit, limit, "", 0)  # for errors, of which there are none
        role = self._profile.role(like)
        has_ends = self._has_ends(like, role)
        before, after = (self._tokenize(part, False, budget).token_ids for part in (pieces.before, pieces.after))
        if has_ends:
            before = [*self._tokenizer.head_token_ids, *before]
            after = [*after, *self._tokenizer.tail_token_ids]
        is_line = self._tokenizer.cuts_lines and pieces.header.endswith("\n")
        header_ids = self._token_ids(pieces.header) if is_line else []
        num_tokens, most = len(before) + len(after), min(role.max_tokens, limit)
        return TextFrame(before, pieces.header, after, header_ids, num_tokens, most, role)

    def _shorten(self, piece: Piece, limit: int, side: Side) -> Piece:
        """Cut bytes that cannot survive: so many tokens cover fewer than are kept."""
        if not isinstance(piece, TextPiece) or not piece.cuttable or piece.user_start is None:
            return piece
        start, stop = piece.user_start, len(piece.text) - piece.num_after
        text = self._tokenizer.bound.clip(piece.text[start:stop], limit, side)
        return piece._replace(text=piece.text[:start] + text + piece.text[stop:])

    def _refuse_hopeless(self, pieces: Sequence[Piece], has_ends: bool, budget: TokenBudget) -> None:
        """Refuse by length in bytes what cannot fit in tokens, so that a huge text costs nothing."""
        kept = pieces if budget.truncation.side is None else [_fixed(piece) for piece in pieces]
        num_chars = max((len(piece.text) for piece in kept if isinstance(piece, TextPiece)), default=0)
        max_chars = self._tokenizer.bound.max_chars(budget.limit)  # where tokens do not follow from the length
        num_least = sum(self._least_tokens(piece, budget.limit + 1) for piece in kept)
        if num_least <= budget.limit and num_chars <= max_chars:
            return
        fixed = self._count_fixed(pieces, has_ends, budget)
        if fixed is not None or num_chars <= max_chars:
            budget.refuse(max(num_least, fixed.num_tokens if fixed else 0), fixed, is_least=True)
        budget.refuse_chars(num_chars, max_chars)

    def _count_fixed(self, pieces: Sequence[Piece], has_ends: bool, budget: TokenBudget) -> Fixed | None:
        """Count the tokens that cannot be cut, where they alone are too many and can be counted at little cost."""
        fixed = [_fixed(piece) for piece in pieces]
        if sum(len(piece.text) for piece in fixed if isinstance(piece, TextPiece)) > MAX_REPEATED_CHARS:
            return None
        counted = self._tokenize(fixed, has_ends, budget).fixed()
        return counted if counted.num_tokens > budget.limit else None

    def _least_tokens(self, piece: Piece, enough: int) -> int:
        if isinstance(piece, TextPiece):
            if not piece.cuttable and len(piece.text) <= MAX_REPEATED_CHARS:
                return len(self._repeated(piece.text))  # exact, and known from earlier prompts
            return self._tokenizer.bound.least_tokens(piece.text, enough)
        return piece.item.num_tokens if isinstance(piece, ImagePiece) else 1

    def _tokenize(self, pieces: Sequence[Piece], has_ends: bool, budget: TokenBudget) -> PromptBuffer:
        buffer = PromptBuffer(list(self._tokenizer.head_token_ids) if has_ends else [])
        for piece in pieces:
            if isinstance(piece, TokenPiece):
                buffer.token_ids.append(piece.token_id)
                continue
            if isinstance(piece, ImagePiece):
                item, num_pads = piece.item, piece.item.num_tokens
                buffer.placeholders.append(Placeholder(len(buffer.token_ids), num_pads, item.grid_thw, item))
                buffer.token_ids += [self._pads[item.kind]] * num_pads
                continue
            if piece.cuttable and piece.user_start is not None:
                stop, first = len(piece.text) - piece.num_after, len(buffer.token_ids)
                token_ids, own = self._tokenizer.encode_between(
                    piece.text, piece.user_start, stop, parse_special=self._strict
                )
                buffer.cuttable.append(range(first + own.start, first + own.stop))
                buffer.closing = (first + len(token_ids), piece.text[stop:])
            else:  # the template's own words, and instructions, which most requests have in common
                repeats = len(piece.text) <= MAX_REPEATED_CHARS
                token_ids = self._repeated(piece.text) if repeats else self._token_ids(piece.text)
            buffer.token_ids += token_ids
            if self._strict and piece.user_start is not None:
                self._refuse_media_tokens(token_ids, budget)
        if has_ends:
            buffer.token_ids += self._tokenizer.tail_token_ids
        return buffer

    def _close(self, buffer: PromptBuffer, num_cut: int) -> None:
        """Write the words after a text that was cut as they are tokenized after any: their first may have joined it.

        Source: sentence-transformers 6.2 `Transformer._chat_template_suffix_ids`.
        """
        (stop, words), tail = buffer.closing, list[int]()
        for pair in zip(*(reversed(self._repeated(filler + words)) for filler in FILLERS), strict=False):
            if pair[0] != pair[1]:
                break
            tail.insert(0, pair[0])
        stop -= num_cut
        buffer.token_ids[stop - len(tail) : stop] = tail

    def _token_ids(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, parse_special=self._strict).ids

    def _refuse_media_tokens(self, token_ids: Sequence[int], budget: TokenBudget) -> None:
        for pad_id in self._pads.values():
            if num_pads := token_ids.count(pad_id):
                message = (
                    f"The text holds the special token `{self._tokenizer.id_to_token(pad_id)}` {num_pads} times, but "
                    "0 are allowed in text: it stands for media, and media are given as parts of their own."
                )
                raise InputError("invalid_request", message, param=budget.param, index=budget.index)

    def _checked(self, buffer: PromptBuffer, role: PromptRole) -> Prompt:
        """Compare per prompt: a batch total can agree while one tenant's features land in another's prompt."""
        num_pads = dict.fromkeys(self._pads.values(), 0)
        for place in buffer.placeholders:
            num_pads[self._pads[place.item.kind]] += place.length
        for pad_id, num in num_pads.items():
            if buffer.token_ids.count(pad_id) != num:
                raise ModelError("internal_error", "The prompt's media tokens and its media disagree.")
        return Prompt(role.plan(buffer.token_ids), tuple(buffer.placeholders), buffer.truncated)


def _fixed(piece: Piece) -> Piece:
    """Return the part of a piece that is never cut."""
    if not isinstance(piece, TextPiece) or not piece.cuttable:
        return piece
    return piece._replace(text=piece.text[: piece.user_start or 0] + piece.text[len(piece.text) - piece.num_after :])
