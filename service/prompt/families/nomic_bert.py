"""NomicBert: nomic-embed-text in its native form.

Its shorter vectors want a layer norm before the cut, which nothing in its files says, so none are offered.
"""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

FAMILY = Family(("nomic_bert",), "NomicBert: nomic-embed-text", partial(make_text_profile, name="nomic_bert"))
