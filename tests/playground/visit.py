"""One visit to the page: what a person does with it, what it shows, and what must not happen meanwhile."""

import base64
from pathlib import Path
from typing import Any, cast

import numpy as np
from playwright.sync_api import ConsoleMessage, Page, Request

from tests.conftest import LiveServer

TELL_VIOLATIONS = "addEventListener('securitypolicyviolation', e => console.error('policy: ' + e.violatedDirective))"
DROP = """files => {
  const data = new DataTransfer();
  for (const [name, type, content] of files) {
    const bytes = Uint8Array.from(atob(content), c => c.charCodeAt(0));
    data.items.add(new File([bytes], name, { type }));
  }
  const init = { dataTransfer: data, bubbles: true, cancelable: true };
  for (const kind of ["dragenter", "dragover", "drop"])
    document.querySelector("#drop").dispatchEvent(new DragEvent(kind, init));
}"""


class Visit:
    """The page of a server, open in the browser.

    Attributes:
        page: Playwright's.
        server: whose page it is.
        troubles: requests to others, errors on the console, violations of the policy.
    """

    def __init__(self, page: Page, server: LiveServer) -> None:
        self.page, self.server = page, server
        self.troubles: list[str] = []
        self.expects_refusals = False
        page.on("request", self._note_request)
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.add_init_script(TELL_VIOLATIONS)
        page.goto(f"{server.url}/")

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith((self.server.url + "/", "data:", "blob:")):
            self.troubles.append(f"asked {request.url}")

    def _note_console(self, message: ConsoleMessage) -> None:
        """An answer that is a refusal is told on the console by the browser itself."""
        is_refusal = self.expects_refusals and message.text.startswith("Failed to load resource")
        if message.type in ("error", "warning") and not is_refusal:
            self.troubles.append(f"{message.type}: {message.text}")

    def assert_nothing_went_wrong(self) -> None:
        assert self.troubles == []

    def until_the_model_is_there(self) -> "Visit":
        self.page.wait_for_selector("#model strong")
        return self

    def drop(self, *files: tuple[str, bytes]) -> None:
        """Let files fall on the page, as from a desktop; returns when they are in the form."""
        before = self.page.locator("#items li").count()
        self.let_fall(*files)
        self.page.wait_for_function(f"() => document.querySelectorAll('#items li').length === {before + len(files)}")

    def let_fall(self, *files: tuple[str, bytes]) -> None:
        """The same, and wait for nothing; names that end in `.pdf` are PDFs, in `.txt` texts, and all others images."""
        kinds = {"pdf": "application/pdf", "txt": "text/plain"}
        types = [kinds.get(name.rpartition(".")[2], "image/png") for name, _ in files]
        encoded = [base64.b64encode(data).decode() for _, data in files]
        self.page.evaluate(
            DROP, [(name, type_, one) for (name, _), type_, one in zip(files, types, encoded, strict=True)]
        )

    def type_texts(self, *texts: str) -> None:
        """With the keyboard alone: Enter makes the next row."""
        self.page.focus("#add-text")
        self.page.keyboard.press("Enter")
        self.page.keyboard.type(texts[0])
        for text in texts[1:]:
            self.page.keyboard.press("Enter")
            self.page.keyboard.type(text)

    def type_instructions(self, *instructions: str) -> None:
        self.page.focus("#instructions li:first-child input")
        self.page.keyboard.type(instructions[0])
        for instruction in instructions[1:]:
            self.page.keyboard.press("Enter")
            self.page.keyboard.type(instruction)

    def embed(self) -> None:
        """Press Control and Enter, and wait for the result."""
        self.page.keyboard.press("Control+Enter")
        self.until_said("vectors in")

    def try_samples(self) -> "Visit":
        self.until_the_model_is_there().page.click("#samples-too")
        self.until_said("items in the order of")
        return self

    def until_said(self, words: str) -> None:
        self.page.wait_for_function("words => document.querySelector('#status').textContent.includes(words)", arg=words)

    def choose(self, format_: str, size: int) -> None:
        """A format by its button, and a size by the slider's keys; returns when both are shown."""
        self.page.check(f"input[name=format][value={format_}]")
        self.page.focus("#size")
        self.page.keyboard.press("Home")
        while not self.page.inner_text("#size-told").startswith(f"{size} of"):
            self.page.keyboard.press("ArrowRight")
        bytes_ = {"float": 4.0, "int8": 1.0, "ubinary": 1 / 8}[format_] * size
        self.page.wait_for_function(
            "bytes => document.querySelector('.figures dd').textContent === bytes", arg=f"{int(bytes_):,}"
        )

    def matrix(self) -> np.ndarray:
        """The heat map's numbers, with four digits."""
        rows = "[...document.querySelectorAll('#heat tbody tr')]"
        return np.array(
            self.page.evaluate(f"{rows}.map(r => [...r.querySelectorAll('td')].map(c => +c.dataset.exact))")
        )

    def figures(self) -> list[str]:
        return self.page.locator(".figures .value").all_inner_texts()

    def copy(self, language: str) -> str:
        """Press the button, and read the clipboard."""
        self.page.get_by_role("tab", name=language).click()
        self.page.click("#copy")
        self.until_said(f"Copied the request as {language}")
        return cast(str, self.page.evaluate("navigator.clipboard.readText()"))

    def run_module(self, module: str, code: str, *values: Any) -> Any:
        """Call a function of a module of the page, in the browser that the page runs in.

        Args:
            module: such as `ranking.js`.
            code: a function of the module `m` and of `values`.
            values: JSON.
        """
        script = f"async values => {{ const m = await import('/playground/{module}'); return ({code})(m, ...values); }}"
        return self.page.evaluate(script, list(values))


def sample(name: str) -> bytes:
    """An image of the built-in model."""
    folder = Path(__file__).parents[2] / "service" / "model" / "builtin" / "samples"
    return (folder / f"{name}.png").read_bytes()
