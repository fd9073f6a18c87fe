r"""The template of Qwen's rerankers, which asks whether the document is what the query wants, yes or no.

`<|im_start|>system\n{JUDGE}<|im_end|>\n<|im_start|>user\n<Instruct>: {instruction}{query}{document}<|im_end|>\n` and
the beginning of an answer. Instruction, query and document are one text, unless images stand between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from service.prompt.conversation import Conversation, Turn
from service.prompt.piece import ImagePiece, Piece, TextPiece, TokenPiece, timed_items
from service.prompt.templates.chatml import NEWLINE
from service.prompt.templates.pair import pair_turns

JUDGE = (
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the "
    'answer can only be "yes" or "no".'
)
HEADER = "user\n<Instruct>: "


@dataclass(frozen=True, slots=True)
class Marks:
    """The template's words, in which families differ.

    Attributes:
        query: before the query, after the instruction.
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
        vision: tokens before and after an image or a pair of frames; none where the model sees none.
    """

    im_start: int
    im_end: int
    default_instruction: str
    marks: Marks
    vision: tuple[int, ...] = ()

    @property
    def keeps_order(self) -> bool:
        """See `Profile.keeps_order`: where there are parts of more than one kind."""
        return bool(self.vision)

    def __call__(self, conversation: Conversation) -> Sequence[Piece]:
        """The pieces in order. Query and document are cuttable, and what stands between them in one piece.

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
        """Add a side's parts after the text that is open; the text that is open then."""
        parts = turn.parts or (self.marks.nothing,)
        for part in (*parts, ""):  # after the last medium there is a text, and be it empty
            if isinstance(part, str):
                start = run.user_start if run.cuttable else len(run.text)
                run = TextPiece(run.text + part, start, cuttable=True)
                continue
            for time, item in timed_items(part):
                run = run._replace(text=run.text + time)
                pieces += [run] if run.text else []
                vision_start, vision_end = self.vision  # else the front refuses media
                pieces += [TokenPiece(vision_start), ImagePiece(item), TokenPiece(vision_end)]
                run = TextPiece("")
        return run
