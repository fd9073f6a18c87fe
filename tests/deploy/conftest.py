"""One server, confined as the container is, with every writable place that it has; and what it was asked."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.front.admission.key_file import new_key
from tests.builders import write_keys
from tests.conftest import CHECKPOINT
from tests.deploy import confinement
from tests.deploy.confined_server import ConfinedServer

MODEL, COMMIT = "acme/oracle", "0123456789abcdef0123456789abcdef01234567"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The test that ends the server comes behind all who ask it."""
    items.sort(key=lambda item: item.path.name == "test_sigterm.py")


def hub_cache(folder: Path) -> Path:
    """A hub's cache as the job of components/prefetch leaves it, with our own small checkpoint in it."""
    repository = folder / "hub" / f"models--{MODEL.replace('/', '--')}"
    shutil.copytree(CHECKPOINT, repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    return folder


@pytest.fixture(scope="session")
def confined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConfinedServer]:
    """Offline, with keys, from a hub cache that it may only read."""
    if reason := confinement.why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("confined")
    key = new_key()
    keys = folder / "keys"
    keys.mkdir()
    write_keys(keys / "keys.jsonl", {"acme": key})
    mounts = [
        *confinement.python_mounts(),
        f"ro:{hub_cache(folder / 'models')}:/models",
        f"ro:{keys}:/run/keys",
        f"rw:{confinement.give_away(folder / 'cache')}:/var/cache/cenote",
    ]
    environment = confinement.image_environment() | {
        "PATH": f"{sys.prefix}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "CENOTE_MODEL": MODEL,
        "CENOTE_API_KEYS": "/run/keys/keys.jsonl",
        "CENOTE_DISK_CACHE": "/var/cache/cenote/features",
        "CENOTE_DISK_CACHE_BYTES": "1GiB",
        "CENOTE_THREADS": "1",
    }
    root = confinement.empty_root(folder)
    server = ConfinedServer(folder / "log", confinement.command(root, mounts), environment, key, folder / "cache")
    server.wait_until_ready()
    yield server
    server.stop()
