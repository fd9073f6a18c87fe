"""BERT and what was made of it: MiniLM, E5, BGE, GTE, mxbai, Arctic. Pooling and prefixes are in their own files."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

FAMILY = Family(("bert",), "BERT, MiniLM, E5, BGE and their likes", partial(make_text_profile, name="bert"))
