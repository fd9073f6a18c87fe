"""Programs in the place of the worker for video and audio: they speak its language and then misbehave."""

import sys
import textwrap
from pathlib import Path


def misbehaving(tmp_path: Path, what: str, kind: str) -> list[str]:
    """A worker of `kind`, audio or video, that does `what` for a file that ends in `BAD`."""
    program = tmp_path / "worker.py"
    program.write_text(
        textwrap.dedent(
            """
            import os, socket, time
            from pathlib import Path
            from service.decode import av_worker

            def misbehave(task):
            {what}

            decode = av_worker.decode
            av_worker.decode = lambda task: misbehave(task) if task.encoded.endswith(b"BAD") else decode(task)
            av_worker.main()
            """
        ).replace("{what}", textwrap.indent(what, "    "))
    )
    return [sys.executable, str(program), kind]
