"""Texts that spell special tokens: a client's text is never one, however it is written."""

from service.prompt.profile.profile import Profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer


def check_special_texts(tokenizer: PromptTokenizer, profile: Profile) -> None:
    """Fail if a text around the name of a protected token is encoded with one."""
    for token_id in profile.protected:
        name = tokenizer.id_to_token(token_id)
        assert name is not None
        for text in (name, f"a{name}b", f" {name} ", name * 3, name.upper(), f"{name[0]} {name[1:]}"):
            body = tokenizer.encode(text).ids
            assert set(body).isdisjoint(profile.protected), f"{text!r} became {body}"
