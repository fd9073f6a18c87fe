"""YAML and shell of the folder: nothing for their linters to say."""

from tests.deploy.tools import DEPLOY, ROOT, run

YAML_RULES = """
extends: default
rules:
  document-start: disable
  comments: {min-spaces-from-content: 1}
  line-length: {max: 140}
  truthy: {check-keys: false}
"""


def test_yamllint_finds_nothing() -> None:
    run("yamllint", "--strict", "--config-data", YAML_RULES, DEPLOY)


def test_shellcheck_finds_nothing() -> None:
    scripts = sorted([*(ROOT / "tests" / "deploy").glob("*.sh"), *DEPLOY.rglob("*.sh"), ROOT / ".ci" / "run"])
    run("shellcheck", "--severity", "style", *scripts)
