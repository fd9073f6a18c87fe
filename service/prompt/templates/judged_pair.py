r"""The template of Qwen's rerankers, which asks whether the document is what the query wants, yes or no.

`<|im_start|>system\n{JUDGE}<|im_end|>\n<|im_start|>user\n<Instruct>: {instruction}{query}{document}<|im_end|>\n` and
the beginning of an answer. Instruction, query and document are one text, unless images stand between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from service.media.item import MediaItem
from service.prompt.conversation import Conversation, Turn
from service.prompt.templates.chatml import NEWLINE
from service.prompt.templates.pair import pair_turns
from service.prompt.templates.piece import ImagePiece, Piece, TextPiece, TokenPiece

JUDGE = (
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the "
    'answer can only be "yes" or "no".'
)
HEADER = "user\n<Instruct>: "


@dataclass(frozen=True, slots=True)
class Marks:
    """The template's words, in which families differ.

    Attributes:
        query: before the query, behind the instruction.
        document: before the document.
        nothing: in the place of a query or document without any part.
        answer: the turn that the model would go on with.
    """

    query: str
    document: str
    nothing: str
    answer: str


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A `Profile.layout`.

    Attributes:
        im_start: opens a turn.
        im_end: closes it.
        default_instruction: of a request without.
        marks: the family's words.
        vision_start: before an image or a pair of frames; None where the model sees none.
        vision_end: behind it.
    """

    im_start: int
    im_end: int
    default_instruction: str
    marks: Marks
    vision_start: int | None = None
    vision_end: int | None = None

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """The pieces in order. Query and document are cuttable, and what stands between them in one piece.

        Raises:
            InputError: `invalid_request` for other turns than a pair's.

        Source: QwenLM/Qwen3-VL-Embedding at 8ce3aab, `src/models/qwen3_vl_reranker.py`; Qwen3-Reranker's model card.
        """
        query, document = pair_turns(conversation)
        given = conversation.instruction
        instruction = given if given and not given.isspace() else self.default_instruction
        start, end = TokenPiece(self.im_start), TokenPiece(self.im_end)
        header = HEADER + instruction + self.marks.query
        run = TextPiece(header, user_start=len(HEADER))
        pieces: list[Piece] = [start, TextPiece("system\n" + JUDGE), end, NEWLINE, start]
        run = self._add(pieces, run, query)
        run = run._replace(text=run.text + self.marks.document)
        run = self._add(pieces, run, document)
        return [*pieces, run, end, NEWLINE, start, TextPiece(self.marks.answer)]

    def _add(self, pieces: list[Piece], run: TextPiece, turn: Turn) -> TextPiece:
        """Add a side's media behind the text that is open; the text that is open then, with the side's own.

        Source: transformers 4.57 `Qwen3VLProcessor`: pairs of frames stand behind their times.
        """
        pairs = [pair for video in turn.videos for pair in zip(video.times_s, video.pairs, strict=True)]
        media: list[tuple[str, MediaItem]] = [(f"<{time_s:.1f} seconds>", pair) for time_s, pair in pairs]
        media += [("", image) for image in turn.images]
        for time, item in media:
            run = run._replace(text=run.text + time)
            pieces += [run] if run.text else []
            assert self.vision_start is not None  # else the front refuses media
            assert self.vision_end is not None
            pieces += [TokenPiece(self.vision_start), ImagePiece(item), TokenPiece(self.vision_end)]
            run = TextPiece("")
        text = self.marks.nothing if turn.is_empty else turn.text
        if run.cuttable:
            return run._replace(text=run.text + text)
        return TextPiece(run.text + text, user_start=len(run.text), cuttable=True)
