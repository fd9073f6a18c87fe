"""Log lines of libraries."""

import json
import subprocess
import sys

SAID = """
from huggingface_hub.utils import logging as hub
from transformers.utils import logging as transformers
from service import logs
said = [transformers.get_logger("transformers.some"), hub.get_logger("huggingface_hub.some")]
logs.configure("json", "info")
for one in said:
    one.warning("to be read once")
"""


def test_what_a_library_logs_is_one_line_in_the_same_format() -> None:
    ended = subprocess.run([sys.executable, "-c", SAID], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [line["logger"] for line in lines] == ["transformers.some", "huggingface_hub.some"]
    assert {line["message"] for line in lines} == {"to be read once"}
