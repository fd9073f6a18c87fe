"""BERT: MiniLM, E5, BGE, GTE, mxbai, Arctic. Pooling and prefixes are in their own files."""

from service.prompt.profile.text_profile import make_text_profile, text_family

FAMILY = text_family(
    ("bert",),
    "BERT, MiniLM, E5, BGE and similar",
    stock="BertModel",
    make_profile=lambda files: make_text_profile(files, name="bert"),
    more_tests=("tests/journey/test_minilm.py",),
)
