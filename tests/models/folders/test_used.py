"""What docs/models.md says of the models that people serve is what the loader says of their released files."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.hub import find_checkpoint
from service.checkpoint.json_files import CheckpointError
from service.errors import ModelError
from service.prompt.detect import find_family, load_profile
from service.prompt.families import FAMILIES
from tests.models.folders.bases import made
from tests.models.folders.edits import Edit, put, remove, tensors, write
from tests.models.folders.row import Row
from tests.models.late.checkpoints import adapter
from tests.models.served import load
from tests.models.used.models import USED
from tests.models.used.row import Used

PROJECTIONS = [f"{name}_proj" for name in ("q", "k", "v", "o", "gate", "up", "down")]
ROWS = [row for rows in USED.values() for row in rows]


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    place = tmp_path_factory.mktemp("bases")
    return lambda name: made(name, place)


@pytest.mark.parametrize("row", ROWS, ids=[row.names[0] for row in ROWS])
def test_the_loader_says_what_the_page_says(
    row: Used, base: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = Row("", row.base, [*edits(row)], folder=row.names[0].partition("/")[2]).make(base(row.base), tmp_path)
    if row.adapts is not None:
        folder = adapter(tmp_path / "adapter", folder, **row.adapts)
    if row.tasks:
        folder = with_tasks(folder, row)
    try:
        said, error = serve(folder, row), ""
    except (CheckpointError, ModelError) as refusal:
        said, error = "", str(refusal)
    assert said == row.family, error
    assert row.refused in error
    assert bool(row.refused) == bool(error)


def test_every_model_stands_once() -> None:
    names = [name for row in ROWS for name in row.names]
    assert len(names) == len(set(names))


def edits(row: Used) -> list[Edit]:
    """The release's files, over a base."""
    made: list[Edit] = [put("config.json", **row.config)]
    made += [put(n, **one) if isinstance(one, dict) else write(n, one) for n, one in row.files.items()]
    made += [tensors(**{name: torch.ones(shape) for name, shape in row.tensors.items()})] if row.tensors else []
    return [*made, remove(*row.lacks)]


def with_tasks(folder: Path, row: Used) -> Path:
    """An adapter for each task, or one for all whose tensors name theirs; the model of the last."""
    for task in row.tasks:
        made = adapter(folder / "adapters" / task, folder, target_modules=PROJECTIONS)
        if row.in_one:
            path = made / "adapter_model.safetensors"
            named = {name.replace(".weight", f".{task}.weight"): one for name, one in load_file(path).items()}
            save_file(named, folder / "adapters" / path.name, {"format": "pt"})
            (made / "adapter_config.json").rename(folder / "adapters" / "adapter_config.json")
            shutil.rmtree(made)
    return folder / "adapters" / row.tasks[-1]


def serve(folder: Path, row: Used) -> str:
    """The family's name, once front and, where there are further tensors, engine take the folder."""
    found = find_checkpoint(str(folder), None).folder
    name = row.family if row.chosen else ""
    profile = load_profile(found, name)
    if row.tensors:
        load(found, name)
    family = find_family(CheckpointFiles(found), name)
    assert profile.architecture
    return next(name for name, one in FAMILIES.items() if one is family)
