"""Documents against the repository: links lead somewhere, named files exist, every block of code is run."""

import re
import subprocess
import textwrap
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from service.prompt.profile import text_profile
from service.prompt.profile.family import Family
from tests.conftest import ROOT

MAX_README_WORDS = 1400
GENERATED = {
    "docs/scoreboard.md",
    "docs/gpu.md",
    "docs/settings.md",
    "docs/metrics.md",
    "docs/models.md",
}
"""Pages that a command writes and another test compares."""
NOT_COMMITTED = {"docs/reference.md", "docs/map.md"}
"""Pages that `make docs` writes."""
TO_BE_WRITTEN = {"service/outputs/NAME.py", "service/model/heads/NAME.py"}
"""Files of a recipe's addition."""

RUN = {
    "README.md": "tests/journey/test_pages.py",
    "docs/api.md": "tests/journey/test_pages.py",
    "docs/rerank.md": "tests/journey/test_pages.py",
    "docs/several-models.md": "tests/service/test_model_tables.py",
    "docs/tenants.md": "tests/journey/test_pages.py",
    "docs/observability.md": "tests/journey/test_pages.py",
    "docs/ingest.md": "tests/journey/test_pages.py",
    "docs/stream.md": "tests/journey/test_recipes.py",
    "docs/memory.md": "tests/journey/test_unnamed_models.py",
    "docs/proxies.md": "tests/deploy/proxies/proxy.py",
    "docs/recipes/instructions.md": "tests/journey/test_recipes.py",
    "docs/recipes/precomputed-features.md": "tests/journey/test_recipes.py",
    "docs/recipes/retrieve-and-rerank.md": "tests/journey/test_retrieve_and_rerank.py",
    "docs/recipes/hybrid-search.md": "tests/journey/test_hybrid_labels.py",
    "docs/recipes/pdf-library.md": "tests/journey/test_recipes.py",
    "docs/recipes/search-documents.md": "tests/journey/test_unnamed_models.py",
    "docs/recipes/video-library.md": "tests/journey/test_recipes.py",
    "docs/recipes/langchain.md": "tests/clients/langchain_openai/test_recipe.py",
    "docs/recipes/llama-index.md": "tests/clients/llama_index/test_recipe.py",
    "docs/recipes/small-vectors.md": "tests/clients/openai/test_recipe.py",
    "docs/architecture.md": "tests/test_documents.py",
    "deploy/README.md": "tests/test_documents.py",
    "deploy/ray/README.md": "tests/test_documents.py",
    "service/prompt/README.md": "tests/test_documents.py",
}
"""A page with blocks of code, and the test that runs them, compares them or writes them."""

FENCE = re.compile(r"^ *```(\w+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE_PATH = re.compile(r"(?<=[` ])((?:\w[\w.-]*/)+[\w.-]+\.(?:py|json|md|toml|yaml|yml|cu|cuh|sh))(?=[` :])")
CITED_PAGE = re.compile(r"(?<![\w/.:@-])((?:[\w.-]+/)+[\w-]+\.md|DESIGN\.md)\b")


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


PAGES = {name(path): path.read_text() for path in tracked("*.md")}
WRITTEN = {page: text for page, text in PAGES.items() if page not in GENERATED}


def anchors(text: str) -> set[str]:
    """The anchors that GitHub makes of a page's headings, and those that the page writes."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)"></a>', text))


def exists(path: str, near: Path) -> bool:
    """True if a path leads to a file from the root, from service/, docs/ or the page's own folder."""
    return any((start / path).exists() for start in (ROOT, ROOT / "service", ROOT / "docs", near))


def test_the_readme_is_short() -> None:
    assert len(PAGES["README.md"].split()) <= MAX_README_WORDS


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    wrong = []
    for link in LINK.findall(PAGES[page]):
        target, _, anchor = link.partition("#")
        if ":" in target:
            continue
        path = (folder / target).resolve() if target else ROOT / page
        if not path.exists() or (anchor and anchor not in anchors(path.read_text())):
            wrong.append(link)
    assert not wrong


HISTORY = ("docs/decisions/", "CHANGELOG.md", "docs/notes/")
"""Pages that also speak of files of the past, or of other people's."""


@pytest.mark.parametrize("page", [page for page in WRITTEN if not page.startswith(HISTORY)])
def test_named_files_exist(page: str) -> None:
    folder = (ROOT / page).parent
    prose = re.sub(r"^ *```.*?^ *```$", "", WRITTEN[page], flags=re.MULTILINE | re.DOTALL)
    named = {*CODE_PATH.findall(prose)} - NOT_COMMITTED - TO_BE_WRITTEN
    assert not [path for path in named if not exists(path, folder)]


def test_code_and_tests_cite_pages_that_exist() -> None:
    wrong = []
    for path in tracked(
        "*.py", "*.mjs", "*.ts", "*.toml", "*.yaml", "*.yml", "*.html", "*.cu", "Makefile", "deploy/Dockerfile"
    ):
        for cited in CITED_PAGE.findall(path.read_text()):
            if cited not in NOT_COMMITTED and not exists(cited, path.parent):
                wrong.append(f"{name(path)}: {cited}")
    assert not wrong


def test_every_block_of_code_is_run() -> None:
    with_blocks = {page for page, text in WRITTEN.items() if FENCE.search(text)}
    assert with_blocks == set(RUN)
    for page, test in RUN.items():
        is_own = test == name(Path(__file__))  # which names every page in `RUN`
        num_named = (ROOT / test).read_text().count(page if is_own else Path(page).name)
        assert num_named > is_own, f"{test} does not read {page}"


def test_the_workflow_runs_what_ci_runs() -> None:
    targets = re.findall(r"^make ([\w-]+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert set(re.findall(r"^ {10}- ([\w-]+)$", workflow, re.MULTILINE)) == set(targets)
    contributing = PAGES["CONTRIBUTING.md"]
    assert all(f"`make {target}`" in contributing for target in targets)


def test_every_target_has_a_line_in_a_group_of_the_help() -> None:
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^\.PHONY: (.+)$", text, re.MULTILINE))
    assert targets == set(re.findall(r"^([a-z-]+):.* ## ", text, re.MULTILINE))
    groups = ["Serve", "Develop", "Generate", "Measure", "Nightly and large"]
    assert re.findall(r"^##@ (.+)$", text, re.MULTILINE) == groups


def test_the_architecture_names_types_functions_and_files_that_exist() -> None:
    page = PAGES["docs/architecture.md"]
    assert len(page.splitlines()) <= 60
    rows = re.findall(r"^\| (\d) \| (.+) \| `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, 9))
    for _, step, type_name, files in rows:
        paths = [ROOT / start / path for path in re.findall(r"`([^`]+)`", files) for start in ("", "service")]
        sources = "".join(path.read_text() for path in paths if path.exists())
        assert len([path for path in paths if path.exists()]) == len(paths) / 2, files
        assert f"class {type_name}" in sources, type_name
        for called in re.findall(r"`([\w.]+)`", step):
            owner, _, function = called.rpartition(".")
            assert re.search(rf"def {function}\b", sources), called
            assert not owner or f"class {owner}" in sources, called


def shell_words(page: str) -> list[str]:
    """The words of a page's shell commands, without comments."""
    found = re.findall(r"^```sh\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL)
    return re.sub(r"\s#.*", "", "\n".join(found)).split()


def values(words: list[str], *flags: str) -> list[str]:
    return [value for flag, value in pairwise(words) if flag in flags]


def test_commands_of_containers_name_files_arguments_and_profiles_that_exist() -> None:
    """No container engine is at hand in CI; `make image-check` builds the image by buildah."""
    words = shell_words("deploy/README.md")
    assert all((ROOT / path).exists() for path in values(words, "-f", "-k"))
    declared = set(re.findall(r"^ARG (\w+)", (ROOT / "deploy" / "Dockerfile").read_text(), re.MULTILINE))
    assert {argument.partition("=")[0] for argument in values(words, "--build-arg")} <= declared
    compose = (ROOT / "deploy" / "compose.yaml").read_text()
    assert all(f"profiles: [{profile}]" in compose for profile in values(words, "--profile"))


def test_commands_of_ray_name_files_and_flags_that_exist() -> None:
    """`make ray` starts the same configuration and the same job."""
    words = shell_words("deploy/ray/README.md")
    assert all((ROOT / path).exists() for path in values(words, "run"))
    bulk = (ROOT / "deploy" / "ray" / "cenote_ray" / "bulk.py").read_text()
    flags = [word for word in words[words.index("cenote_ray.bulk") :] if word.startswith("--")]
    assert flags
    assert all(f'"{flag}"' in bulk for flag in flags)


def test_the_family_of_the_guide_is_one() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGES["service/prompt/README.md"], re.DOTALL)
    families = eval("{" + textwrap.dedent(block) + "}", vars(text_profile) | {"partial": partial})
    assert all(isinstance(family, Family) for family in families.values())
