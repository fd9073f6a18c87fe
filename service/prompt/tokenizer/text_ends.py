"""The special tokens that a tokenizer puts around a text: its post-processor, and the flags and names that change it.

In: tokenizer.json and the arguments of its class. Out: a post-processor in tokenizer.json's form.

`add_bos_token` and `add_eos_token` of tokenizer_config.json are obeyed, as transformers 4 did for the classes of Llama
and Gemma; transformers 5 drops them where there is a tokenizer.json, and E5-Mistral then pools a text's last word.

Source: transformers 5.24 `BertTokenizer`, `MPNetTokenizer`, `XLMRobertaTokenizer`, `update_post_processor`; 4.57
`LlamaTokenizerFast.update_post_processor`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from service.checkpoint.config_files import token_text
from service.checkpoint.json_files import CheckpointError

Json = dict[str, Any]

Named = tuple[tuple[str, str], ...]
"""Names of a class's arguments, each with its default."""
CLS_SEP: tuple[Named, Named] = ((("cls_token", "[CLS]"),), (("sep_token", "[SEP]"),))
BOS_EOS: tuple[Named, Named] = ((("bos_token", "<s>"),), (("eos_token", "</s>"),))
NAMED_ENDS: Mapping[str, tuple[Named, Named]] = {
    **dict.fromkeys(("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"), CLS_SEP),
    "DebertaV2Tokenizer": CLS_SEP,
    "MPNetTokenizer": ((("cls_token", "<s>"),), (("sep_token", "</s>"),)),
    **dict.fromkeys(("CamembertTokenizer", "XLMRobertaTokenizer"), BOS_EOS),
    "T5Tokenizer": ((), (("eos_token", "</s>"),)),
}
"""Classes that put tokens of their arguments around a text, whatever tokenizer.json says: their names and defaults."""
FLAGS = {"add_bos_token": "bos_token", "add_eos_token": "eos_token"}


class Ends(NamedTuple):
    """Ids of the tokens in front of a text and after it."""

    head: tuple[int, ...]
    tail: tuple[int, ...]


def as_its_class_ends(
    class_name: str, named: Mapping[str, Any], content: Json, ids: Mapping[str, int], given: Mapping[str, Any]
) -> Json:
    """tokenizer.json with the post-processor that is meant.

    Args:
        named: arguments of the class.
        ids: of all tokens, added ones included.
        given: those of the arguments that sentence-transformers gives.
    """
    ends = own = read_ends(content.get("post_processor") or {})
    if class_name in NAMED_ENDS:
        sides = NAMED_ENDS[class_name]
        ends = Ends(*(tuple(_id(named, name, ids, default) for name, default in side) for side in sides))
    else:
        ends = _flagged(named, ends, ids)
        _check_given(given, named, ends, ids)
    return content if ends == own else content | {"post_processor": _template(ends, {i: t for t, i in ids.items()})}


def read_ends(own: Mapping[str, Any]) -> Ends:
    """Read the tokens that a post-processor puts around one text."""
    match own.get("type"):
        case "TemplateProcessing":
            pieces = own["single"]
            place = next(i for i, piece in enumerate(pieces) if "Sequence" in piece)
            head, tail = (_special_ids(own, part) for part in (pieces[:place], pieces[place + 1 :]))
            return Ends(head, tail)
        case "BertProcessing" | "RobertaProcessing":
            return Ends((own["cls"][1],), (own["sep"][1],))
        case "Sequence":
            every = [read_ends(one) for one in own["processors"]]
            return Ends(
                tuple(i for one in reversed(every) for i in one.head), tuple(i for one in every for i in one.tail)
            )
    return Ends((), ())


def _special_ids(template: Mapping[str, Any], pieces: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    return tuple(i for piece in pieces for i in template["special_tokens"][piece["SpecialToken"]["id"]]["ids"])


def _flagged(named: Mapping[str, Any], ends: Ends, ids: Mapping[str, int]) -> Ends:
    """The ends with the tokens that a flag asks for."""
    found = []
    for own, (flag, name) in zip(ends, FLAGS.items(), strict=True):
        wanted = named.get(flag)
        if wanted not in (None, True, False):
            raise CheckpointError(f"tokenizer_config.json has {flag} {wanted!r}; true or false is needed")
        token = ids.get(token_text(named.get(name)) or "")
        if wanted is None or (wanted is False and token not in own) or (wanted and token is not None and token in own):
            found.append(own)
        elif wanted and not own:
            found.append((_id(named, name, ids, None, f"{flag} true and "),))
        else:
            has = f"puts tokens {list(own)} there" if own else "puts none there"
            raise CheckpointError(
                f"tokenizer_config.json has {flag} {wanted!r} and {name} {token_text(named.get(name))!r}, and "
                f"tokenizer.json {has}: let both say the same"
            )
    return Ends(*found)


def _check_given(given: Mapping[str, Any], named: Mapping[str, Any], ends: Ends, ids: Mapping[str, int]) -> None:
    """Flags that sentence-transformers gives make the ends anew: without one of them there is no such token."""
    if not any(flag in given for flag in FLAGS):
        return
    wanted = Ends(*(((_id(named, name, ids, None),) if given.get(flag) else ()) for flag, name in FLAGS.items()))
    if wanted != ends:
        said = ", ".join(f"{flag} {given[flag]!r}" for flag in FLAGS if flag in given)
        raise CheckpointError(
            f"the arguments for the tokenizer in the Transformer's file (sentence_bert_config.json) have {said}, which "
            f"puts tokens {[*wanted.head]} and {[*wanted.tail]} around a text, and the tokenizer's own files "
            f"{[*ends.head]} and {[*ends.tail]}: let both say the same"
        )


def _id(named: Mapping[str, Any], name: str, ids: Mapping[str, int], default: str | None, also: str = "") -> int:
    token = token_text(named.get(name)) or default
    if token is None or token not in ids:
        raise CheckpointError(
            f"tokenizer_config.json has {also}{name} {token!r}, which is none of tokenizer.json's tokens"
        )
    return ids[token]


def _template(ends: Ends, tokens: Mapping[int, str]) -> Json:
    """The post-processor of these ends; of two texts the second has them too, but for the head."""
    head, tail = ([tokens[i] for i in side] for side in ends)

    def special(side: Sequence[str], type_id: int) -> list[Json]:
        return [{"SpecialToken": {"id": token, "type_id": type_id}} for token in side]

    first, second = ({"Sequence": {"id": name, "type_id": i}} for i, name in enumerate("AB"))
    single = [*special(head, 0), first, *special(tail, 0)]
    every = {token: {"id": token, "ids": [i], "tokens": [token]} for i, token in tokens.items() if i in sum(ends, ())}
    pair = [*single, second, *special(tail, 1)]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": every}
