"""A checkpoint's tokenizer.json, loaded as it is, or so that no text becomes one of its special tokens.

In: a folder. Out: a `Tokenizer`, and what kind it is. Knows no template and no request.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tokenizers import Tokenizer, normalizers

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.sentence_settings import find_settings
from service.checkpoint.static_files import MODEL2VEC
from service.checkpoint.tokenizer_settings import tokenizer_settings
from service.prompt.tokenizer.added_tokens import added_tokens, with_embeddings
from service.prompt.tokenizer.known_words import CUTTING
from service.prompt.tokenizer.text_bound import BytesBound, MedianBound, TextBound
from service.prompt.tokenizer.text_ends import as_its_class_ends
from service.prompt.tokenizer.tokenizer_class import as_its_class_reads, building_class

NO_TEXTS: dict[str, Any] = {
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"},
    "added_tokens": [],
    "version": "1.0",
}
"""Of models that read no texts."""


def token_ids(content: Mapping[str, Any]) -> dict[str, int]:
    """The ids of a tokenizer.json's tokens by what they are written as, added ones included."""
    vocab = content["model"].get("vocab") or {}
    ids = dict(vocab) if isinstance(vocab, dict) else {piece[0]: i for i, piece in enumerate(vocab)}
    return ids | {token["content"]: token["id"] for token in content.get("added_tokens", [])}


def with_markers(content: dict[str, Any], markers: Sequence[str]) -> dict[str, Any]:
    """A tokenizer.json with some of its tokens made special, and looked for before a text is normalized.

    Source: sentence-transformers 6.2 `MultiVectorEncoder._register_prefix_tokens`.
    """
    if not markers:
        return content
    ids = token_ids(content)
    added = {token["content"]: token for token in content.get("added_tokens", [])}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added |= {marker: {"id": ids[marker], "content": marker, **flags} for marker in markers}
    return content | {"added_tokens": sorted(added.values(), key=lambda token: token["id"])}


@dataclass(frozen=True, slots=True)
class TokenizerFile:
    """A tokenizer.json.

    Attributes:
        content: its object, as the checkpoint's class of tokenizer reads it.
        is_changed: whether the class reads it otherwise than it stands.
        lower_case: make texts lower case first, as sentence-transformers' `do_lower_case` asks.
        dropped: added tokens that are left out, since they have no embedding.
        passes_unknown: of model2vec, which passes over unknown tokens and bounds texts by their characters.
    """

    path: Path
    content: dict[str, Any]
    lower_case: bool = False
    is_changed: bool = False
    dropped: tuple[str, ...] = ()
    passes_unknown: bool = False

    @classmethod
    def read(cls, folder: Path, *, lower_case: bool = False, markers: Sequence[str] = ()) -> "TokenizerFile":
        """Read the file of a folder, and those beside it that say of which class the tokenizer is.

        Args:
            markers: of its vocabulary or its added tokens, to be special tokens.
        """
        files, path = CheckpointFiles(folder), folder / "tokenizer.json"
        if (folder / "config.json").is_file() and not files.reads_texts:
            return cls(path, NO_TEXTS, is_changed=True)
        written = files.read_object(path.name)
        if not isinstance(written.get("model"), dict):
            raise CheckpointError(f"{path} is not a tokenizer's JSON object")
        cut = (written.get("truncation") or {}).get("direction", "Right")
        named = tokenizer_settings(files)
        if "truncation_side" not in named and str(cut).lower() != "right":
            raise CheckpointError(f"{path} has truncation with direction {cut!r}; supported: 'Right'")
        has_config = files.is_static or (folder / "config.json").is_file()
        name = building_class(files.config if has_config else {}, named, written)
        content = as_its_class_reads(name, named, written)
        added = added_tokens(named, content, files.optional("added_tokens.json"), is_rebuilt=bool(name))
        if added != content.get("added_tokens", []):
            content = content | {"added_tokens": added}
        rows = files.num_embedded if has_config else None
        content, dropped = with_embeddings(content, rows or sys.maxsize, path)
        content = as_its_class_ends(name, named, content, token_ids(content), find_settings(files).processor)
        content = with_markers(content, markers)
        if files.is_static:  # nothing stands around a text
            content = content | {"post_processor": None}
        is_model2vec = files.is_static and files.model_type == MODEL2VEC
        return cls(path, content, lower_case, content != written, dropped, is_model2vec)

    def load(self) -> Tokenizer:
        """The tokenizer as its class has it, without truncation and padding."""
        if self.is_changed:
            return self._set(self._parsed(lambda: Tokenizer.from_str(json.dumps(self.content))))
        return self._set(self._parsed(lambda: Tokenizer.from_file(str(self.path))))

    def load_plain(self) -> Tokenizer:
        """A tokenizer for text alone: it adds no tokens, and special tokens are read as the characters they are.

        A Unigram model has its special tokens among the pieces that it looks for in every text, with the best score
        of all; there they are spelled in a way that no text has.
        """
        model = self.content["model"]
        if model.get("type") != "Unigram":
            plain = self.load()
            plain.post_processor = None
            plain.encode_special_tokens = True
            return plain
        added = self.content.get("added_tokens", [])
        specials = {token["content"] for token in added if token.get("special")}
        vocab = [[f" {i} " if piece in specials else piece, score] for i, (piece, score) in enumerate(model["vocab"])]
        others = [token for token in added if not token.get("special")]
        content = self.content | {"model": model | {"vocab": vocab}, "added_tokens": others, "post_processor": None}
        plain = self._set(self._parsed(lambda: Tokenizer.from_str(json.dumps(content))))
        if moved := [token["content"] for token in others if plain.token_to_id(token["content"]) != token["id"]]:
            raise CheckpointError(f"{self.path} adds {moved[0]!r} behind special tokens; that is not supported")
        return plain

    def bound(self, tokenizer: Tokenizer) -> TextBound:
        """The bound that a text's length sets on its tokens, by the tokenizer of `load`."""
        if self.passes_unknown:
            return MedianBound(int(median(map(len, tokenizer.get_vocab(True)))))
        normalizer: Any = tokenizer.normalizer
        composes = isinstance(normalizer, normalizers.NFC)
        if self.is_byte_level and (normalizer is None or composes):
            return BytesBound(max(len(token.encode()) for token in tokenizer.get_vocab(True)), composes)
        return TextBound()

    @property
    def unread_id(self) -> int:
        """The token that is passed over; -1: none."""
        model = self.content["model"]
        unknown = model.get("unk_id") if model.get("type") == "Unigram" else model.get("unk_token")
        found = token_ids(self.content).get(unknown, -1) if isinstance(unknown, str) else unknown
        return found if self.passes_unknown and found is not None else -1

    @property
    def is_byte_level(self) -> bool:
        """True where vocabulary entries are bytes in GPT-2's spelling, and cover a text without gaps."""
        return self.content["model"].get("type") == "BPE" and any(one.get("type") == "ByteLevel" for one in self._steps)

    @property
    def cuts_lines(self) -> bool:
        """True where no token spans a line end and what follows it, unless that is white space.

        So it is with the expressions of `CUTTING`: of their alternatives one alone goes on after a line end, through
        white space, and none looks back. NFC composes nothing with a line end.
        """
        steps, normalizer = self._steps, self.content.get("normalizer") or {}
        cuts = [step for step in steps if step.get("type") == "Split" and step.get("behavior") == "Isolated"]
        if not cuts or steps[0] is not cuts[0] or cuts[0].get("pattern", {}).get("Regex") not in CUTTING:
            return False
        if any(step.get("add_prefix_space") for step in steps) or normalizer.get("type", "NFC") != "NFC":
            return False
        added = self.content.get("added_tokens", [])
        return not self.lower_case and not any(one.get("lstrip") or "\n" in one["content"] for one in added)

    @property
    def _steps(self) -> list[dict[str, Any]]:
        """Of splitting a text, in order."""
        split = self.content.get("pre_tokenizer") or {}
        steps: list[dict[str, Any]] = split.get("pretokenizers", []) if split.get("type") == "Sequence" else [split]
        return steps

    def _parsed(self, parse: Callable[[], Tokenizer]) -> Tokenizer:
        try:
            return parse()
        except Exception as error:  # the library raises bare Exception
            raise CheckpointError(f"{self.path} cannot be read: {error}") from error

    def _set(self, tokenizer: Tokenizer) -> Tokenizer:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if self.lower_case:
            own: Any = tokenizer.normalizer
            tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *([] if own is None else [own])])
        return tokenizer
