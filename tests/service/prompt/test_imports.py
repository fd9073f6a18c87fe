"""Media and prompt pull in neither torch nor transformers."""

import subprocess
import sys


def test_media_and_prompt_pull_in_neither_torch_nor_transformers() -> None:
    code = (
        "import sys, service.media.image.image_file, service.media.source; "
        "import service.prompt.build, service.prompt.detect; "
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'torch', 'transformers', 'asyncio'}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
