"""The request that is copied runs as it stands, and gives what the page shows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.playground.test_cost import asked_bodies
from tests.playground.visit import Visit


def run(folder: Path, language: str, code: str, **env: str) -> str:
    """Run the code and return what it prints.

    Args:
        folder: where it runs.
        language: of the tab.
        code: as copied.
        env: variables beside this process's.
    """
    name = {"curl": "call.sh", "Python": "call.py", "TypeScript": "call.mjs"}[language]
    program = {"curl": "sh", "Python": sys.executable, "TypeScript": "node"}[language]
    (folder / name).write_text(code)
    command = [program, str(folder / name)]
    ran = subprocess.run(command, cwd=folder, env=os.environ | env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_copied_curl_gives_the_vectors_of_the_page(visit: Visit, tmp_path: Path) -> None:
    visit.try_samples()
    for i, body in enumerate(asked_bodies(visit)):
        visit.page.select_option("#which", str(i))
        answer = json.loads(run(tmp_path, "curl", visit.copy("curl")))
        vectors = np.array([entry["embedding"] for entry in answer["data"]], np.float32)
        assert np.array_equal(vectors, visit.server.vectors(body))


@pytest.mark.parametrize(("format_", "size"), [("float", 64), ("int8", 128), ("ubinary", 256)])
def test_it_is_the_request_for_the_size_and_format_that_are_chosen(
    visit: Visit, tmp_path: Path, format_: str, size: int
) -> None:
    visit.try_samples()
    visit.choose(format_, size)
    answer = json.loads(run(tmp_path, "curl", visit.copy("curl")))
    if format_ == "float":
        assert [len(entry["embedding"]) for entry in answer["data"]] == [size] * 3
        return
    assert list(answer["embeddings"]) == [format_]
    assert {len(row) for row in answer["embeddings"][format_]} == {size // 8 if format_ == "ubinary" else size}


@pytest.mark.parametrize("language", ["Python", "TypeScript"])
@pytest.mark.parametrize("format_", ["float", "ubinary"])
def test_the_copied_program_runs(visit: Visit, tmp_path: Path, language: str, format_: str) -> None:
    visit.try_samples()
    visit.choose(format_, 64)
    for i in (0, 3):  # images under an instruction; texts
        visit.page.select_option("#which", str(i))
        code = visit.copy(language)
        printed = run(tmp_path, language, code)
        assert {"Python": str(64 if format_ == "float" else 8), "TypeScript": "["}[language] in printed
        assert ("openai" in code) == (language == "Python" and format_ == "float")


def test_the_screen_shortens_images_and_the_copy_does_not(visit: Visit) -> None:
    visit.try_samples()
    shown, copied = visit.page.inner_text("#code"), visit.copy("curl")
    assert "characters" in shown
    assert "characters" not in copied
    assert len(shown) < 2_000 < 100_000 < len(copied)


def test_what_is_typed_survives_every_language(visit: Visit, tmp_path: Path) -> None:
    strange = ('it\'s "quoted" $HOME `date` \\ end', "JSON", "größe 漢字 🎉 </script>", "a\u2028b\tc")
    visit.until_the_model_is_there()
    visit.type_texts("placeholder", "x", "y", "z")
    for i, text in enumerate(strange):
        visit.page.locator("#items li textarea").nth(i).fill(text)
    visit.embed()
    expected = visit.server.vectors({"input": list(strange)})
    answer = json.loads(run(tmp_path, "curl", visit.copy("curl")))
    assert np.array_equal(np.array([e["embedding"] for e in answer["data"]], np.float32), expected)
    told = "\nimport json; print(json.dumps([e.embedding for e in answer.data]))"
    printed = run(tmp_path, "Python", visit.copy("Python") + told)
    assert np.array_equal(np.array(json.loads(printed.splitlines()[-1]), np.float32), expected)
    more = "\nconsole.log(JSON.stringify(answer.data.map((e) => e.embedding)));"
    printed = run(tmp_path, "TypeScript", visit.copy("TypeScript") + more)
    assert np.array_equal(np.array(json.loads(printed.splitlines()[-1]), np.float32), expected)
