"""Texts made of special tokens: whole, nested, halved, look-alike, in crowds. They stay text, and text that is cut."""

import json
import random
from pathlib import Path

from service.checkpoint.hub import find_checkpoint
from service.errors import InputError
from service.front.served_model import ServedModel, load_served_model
from service.media.image.header import DecodeLimits
from service.media.image.image_file import ImageFile, open_image
from service.prompt.conversation import Conversation, Turn
from service.prompt.prompt import Prompt
from service.prompt.truncation import Truncation
from tests.conftest import CHECKPOINT, ORACLE
from tests.scoreboard.line import Result, line

LIMIT = 96
PLAIN = "a plain text"
LOOK_ALIKES = str.maketrans({"<": "\uff1c", "|": "\u01c0", ">": "\uff1e"})


def special_texts() -> list[str]:
    """Every special or added token of the oracle's tokenizer, as text."""
    content = json.loads((CHECKPOINT / "tokenizer.json").read_text())
    return [added["content"] for added in content["added_tokens"]]


def hostile(draw: random.Random, specials: list[str]) -> str:
    """A text that tries to be tokens."""
    one, other = draw.choice(specials), draw.choice(specials)
    cut = draw.randrange(1, max(2, len(one)))
    kinds = (
        one,
        one + other,
        one[:cut] + other + one[cut:],
        one[:cut],
        one[cut:],
        one.translate(LOOK_ALIKES),
        one.upper(),
        "\u200b".join(one),
        one * draw.randrange(2, 400),
        f"{PLAIN} {one}{other}\n{one} {PLAIN}",
        one + "\u0301" + other,
        " ".join(draw.choices(specials, k=draw.randrange(2, 60))),
    )
    return draw.choice(kinds)


class Checker:
    """Prompts of hostile texts against that of a plain one."""

    def __init__(self) -> None:
        self._model: ServedModel = load_served_model(
            find_checkpoint(str(CHECKPOINT), None), served_names=(), strict_reference=False, max_tokens=0
        )
        image = (ORACLE / "media" / "square.png").read_bytes()
        self._image: ImageFile = open_image(image, DecodeLimits(), self._model.pixel_rule)
        ids = {self._model.tokenizer.token_to_id(text) for text in special_texts()} | set(self._model.profile.protected)
        self._special_ids = sorted(id_ for id_ in ids if id_ is not None)

    def fault(self, text: str, place: str, *, has_image: bool) -> str:
        """The fault of this text's prompts; nothing when all is well.

        Args:
            text: a hostile one.
            place: `text` or `instruction`.
            has_image: an image stands before the text.
        """
        roomy = self._build(text, place, has_image, Truncation(self._model.profile.max_tokens))
        plain = self._build(PLAIN, place, has_image, Truncation(self._model.profile.max_tokens))
        assert plain is not None
        if roomy is not None and self._counts(roomy) != self._counts(plain):
            return "counts of special tokens"
        cut = self._build(text, place, has_image, Truncation(LIMIT, "right"))
        if cut is not None and (len(cut.plan.ids) > LIMIT or self._counts(cut) != self._counts(plain)):
            return "truncation"
        refused = self._build(text, place, has_image, Truncation(LIMIT))
        if refused is not None and len(refused.plan.ids) > LIMIT:
            return "limit"
        if roomy is not None and len(roomy.plan.ids) <= LIMIT and refused is None:
            return "refused though it fits"
        return ""

    def _build(self, text: str, place: str, has_image: bool, truncation: Truncation) -> Prompt | None:
        """The prompt, or None when it is refused as too long."""
        images = (self._image,) if has_image else ()
        instruction, words = (text, PLAIN) if place == "instruction" else (None, text)
        try:
            return self._model.builder.build(Conversation(instruction, (Turn("user", (*images, words)),)), truncation)
        except InputError as error:
            if error.code not in ("context_length_exceeded", "empty_input"):
                raise
            return None

    def _counts(self, prompt: Prompt) -> list[int]:
        return [prompt.plan.ids.count(id_) for id_ in self._special_ids]


@line(
    12,
    "texts made of special tokens",
    "special tokens of each prompt are the template's; no text gets past the length limit",
    sizes=(5000, 500_000),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """Each text as text or instruction, with or without an image: only the template's special tokens."""
    draw, checker, specials = random.Random(12), Checker(), special_texts()
    notes = list[str]()
    for number in range(size):
        place = "instruction" if number % 4 == 3 else "text"
        fault = checker.fault(hostile(draw, specials), place, has_image=number % 2 == 0)
        if fault:
            notes.append(f"text {number} as {place}: {fault}")
    return Result(size, len(notes), [f"{len(specials)} special tokens", *notes[:5]])
