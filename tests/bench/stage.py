"""The sides of one model, each started when it is first needed. Only one of them computes at a time."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from service.checkpoint.hub import CHECKPOINT
from tests.bench.held import COPIES, copy_without_avx512, is_held
from tests.bench.scale import Scale
from tests.bench.sides.over_http import OverHttp
from tests.bench.sides.remote import RemoteSide
from tests.bench.sides.service import Service
from tests.bench.sides.side import Side
from tests.bench.texts import TextMaker
from tests.conftest import ROOT, plain_environ

S = TypeVar("S", bound=Side)


class Stage:
    """Who is compared, on one checkpoint.

    Attributes:
        checkpoint: its folder.
        num_threads: of every side.
        scale: how much is done.
        texts: made of the checkpoint's tokens.
        sentence_python: a Python that has sentence-transformers; None leaves that side out.
        against: another server; None leaves it out.
        dtype: of the service; other sides of ours have float32.
    """

    def __init__(
        self,
        checkpoint: Path,
        num_threads: int,
        scale: Scale,
        folder: Path,
        *,
        sentence_python: Path | None = None,
        against: OverHttp | None = None,
        dtype: str = "float32",
    ) -> None:
        self.checkpoint = checkpoint
        self.num_threads = num_threads
        self.scale = scale
        self.folder = folder
        self.texts = TextMaker(checkpoint)
        self.sentence_python = sentence_python
        self.against = against
        self.dtype = dtype
        self._started: list[Side] = []
        folder.mkdir(parents=True, exist_ok=True)

    @cached_property
    def service(self) -> Service:
        """The service with its defaults."""
        return self.serve("service")

    def serve(self, name: str, *flags: str, checkpoint: Path | None = None) -> Service:
        """A service of its own with other settings, or another checkpoint."""
        folder = checkpoint or self.checkpoint
        model, log = "builtin" if folder == CHECKPOINT else str(folder), self.folder / f"{name}.log"
        return self.keep(Service(model, self.num_threads, log, "--dtype", self.dtype, *flags))

    @cached_property
    def bare(self) -> RemoteSide:
        """The product's forward without the service."""
        return self._worker("bare", sys.executable)

    @cached_property
    def stock(self) -> RemoteSide:
        """The vision tower of plain transformers."""
        return self._worker("stock", sys.executable)

    @cached_property
    def sentence(self) -> RemoteSide | None:
        """sentence-transformers, where it is installed."""
        return self._worker("sentence_transformers", str(self.sentence_python)) if self.sentence_python else None

    def cross_encoder(self, folder: Path) -> RemoteSide | None:
        """sentence-transformers on a cross-encoder, where it is installed."""
        python = self.sentence_python
        return self._worker("cross_encoder", str(python), folder=folder) if python else None

    def static_model(self, folder: Path) -> RemoteSide:
        """model2vec on a static model."""
        return self._worker("static_model", sys.executable, folder=folder)

    def exported(self, runtime: str) -> RemoteSide | None:
        """The checkpoint as a graph in a runtime, where sentence-transformers and the runtime's package are installed.

        Args:
            runtime: a key of `sides.exported.RUNTIMES`.
        """
        if self.sentence_python is None or (package := _found(self.sentence_python, runtime)) is None:
            return None
        paths = [copy_without_avx512(package, COPIES).parent] if is_held() else []
        return self._worker("exported", str(self.sentence_python), runtime, paths=paths)

    def close(self) -> None:
        """End everything that was started."""
        while self._started:
            self._started.pop().close()

    def _worker(
        self, name: str, python: str, *more: str, folder: Path | None = None, paths: Sequence[Path] = ()
    ) -> RemoteSide:
        folder = folder or self.checkpoint
        command = [python, "-m", f"tests.bench.sides.{name}", str(folder), str(self.num_threads), *more]
        own = [ROOT, ROOT / "kernels"] if python == sys.executable else [*paths, ROOT]
        threads = {"OMP_NUM_THREADS": str(self.num_threads), "TOKENIZERS_PARALLELISM": "false"}
        environ = plain_environ() | threads | {"PYTHONPATH": os.pathsep.join(map(str, own)), "HF_HUB_OFFLINE": "1"}
        return self.keep(
            RemoteSide(command, ROOT, environ, self.folder / f"{'-'.join([name, folder.name, *more])}.log")
        )

    def keep(self, side: S) -> S:
        self._started.append(side)
        return side


def _found(python: Path, package: str) -> Path | None:
    """The folder of a package, where there is one."""
    find = f"import importlib.util as util; print(util.find_spec({package!r}).submodule_search_locations[0])"
    found = subprocess.run([python, "-c", find], check=False, capture_output=True, text=True)
    return None if found.returncode else Path(found.stdout.strip())
