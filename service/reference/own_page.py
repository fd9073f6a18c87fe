"""The page with a server's own address and model in its calls; the committed reference has those of a first start.

In: the page, and what a server is called. Out: the page again. Knows no request; who asks has to say what it trusts.
"""

import html
import json
import re
from urllib.parse import quote

from service.reference.page import render_page
from service.reference.snippets import BASE_URL

_MODEL = re.compile(r'((?:"model"</span>: |model=)<span class=s>)"builtin"')
"""The model of a call, and of the answer to it, as the page marks them."""

_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
"""A name or an address, perhaps with a port: nothing that means something to HTML, a shell or a language."""


def base_url(scheme: str, host: str) -> str:
    """The address under which a server was asked, or the reference's own where that is none.

    Args:
        scheme: `http` or `https`, as the server has it.
        host: what came in the Host header; anybody may write anything there.
    """
    return f"{scheme}://{host}" if scheme in ("http", "https") and _HOST.fullmatch(host) else BASE_URL


def own_page(url: str, model: str | None) -> str:
    """The page of the reference, as its server's readers can use it.

    Args:
        url: of the server, by `base_url`.
        model: its name; None where it is not known yet.
    """
    page = render_page()
    if model is not None:
        name = html.escape(json.dumps(model), quote=False)
        page = _MODEL.sub(lambda found: found[1] + name, page)
        page = page.replace(f"{BASE_URL}/v1/models/builtin", f"{BASE_URL}/v1/models/{quote(model, safe='/:')}")
    return page.replace(BASE_URL, url)
