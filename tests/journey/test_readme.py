"""The README's blocks, run as they stand."""

import re
import subprocess
import sys

from tests.conftest import ROOT, LiveServer, plain_environ

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_curl_block_embeds_one_picture_under_two_instructions(builtin: LiveServer) -> None:
    (block,) = [block for block in blocks("sh") if "curl" in block]
    script = block.replace("http://127.0.0.1:8000", builtin.url)
    ran = subprocess.run(
        ["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, env=plain_environ()
    )
    assert ran.stdout.count("HTTP/1.1 200 OK") == 2
    assert "x-encoder-cache: hit=0, miss=1" in ran.stdout
    assert "x-encoder-cache: hit=1, miss=0" in ran.stdout


def test_the_python_block_prints_how_far_two_instructions_are_apart(builtin: LiveServer) -> None:
    (block,) = blocks("python")
    script = block.replace("http://127.0.0.1:8000", builtin.url)
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert -1 <= float(ran.stdout) < 0.9


def test_every_file_that_the_readme_names_is_there() -> None:
    names = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|json))`", README))
    assert len(names) > 15
    places = [ROOT, ROOT / "service"]
    assert not [name for name in names if not any((place / name).is_file() for place in places)]


def test_every_module_is_on_the_map() -> None:
    packages = [path.parent.relative_to(ROOT) for path in (ROOT / "service").glob("*/__init__.py")]
    for package in packages:
        assert f"`{package}/`" in README, f"{package} is not on the README's map"
