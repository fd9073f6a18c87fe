"""Code as HTML with its strings, numbers, keywords and comments marked, so that the page needs no script for it.

In: code of a snippet and its language. Out: escaped HTML with `<span class>`: `s` string, `n` number, `k` keyword, `c`
comment. Knows just enough of each language for the snippets of the reference.
"""

import html
import re

_STRING = r"(?P<s>\"(?:\\.|[^\"\\])*\"|'[^']*')"
_NUMBER = r"(?P<n>(?<![\w./:])\d+(?:\.\d+)?(?![\w./:]))"
_KEYWORDS = {
    "json": "true|false|null",
    "sh": "curl",
    "python": "import|from|for|in|print|True|False|None",
    "ts": "const|await|if|throw|new|true|false|null",
}


def _pattern(language: str) -> re.Pattern[str]:
    comment = {"python": r"(?P<c>#[^\n]*)", "ts": r"(?P<c>//[^\n]*)"}.get(language, r"(?P<c>\A\Z)")
    return re.compile(rf"{_STRING}|{comment}|(?P<k>\b(?:{_KEYWORDS[language]})\b)|{_NUMBER}")


_PATTERNS = {language: _pattern(language) for language in _KEYWORDS}


def highlight(code: str, language: str) -> str:
    """Code as HTML.

    Args:
        code: a snippet.
        language: `json`, `sh`, `python` or `ts`.
    """
    out, end = [], 0
    for found in _PATTERNS[language].finditer(code):
        out += [_escape(code[end : found.start()]), f"<span class={found.lastgroup}>{_escape(found[0])}</span>"]
        end = found.end()
    return "".join([*out, _escape(code[end:])])


def _escape(text: str) -> str:
    return html.escape(text, quote=False)
