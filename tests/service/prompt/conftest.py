"""The oracle's tokenizer and config, and images known by header only."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from service.media.image.image_file import ImageFile
from service.prompt.build import PromptBuilder
from service.prompt.detect import load_profile
from service.prompt.profile.profile import Profile
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from tests.builders import image_file

CHECKPOINT = Path(__file__).parents[2] / "models" / "golden" / "oracle" / "checkpoint"


@pytest.fixture(scope="session")
def checkpoint() -> Path:
    return CHECKPOINT


@pytest.fixture
def variant(tmp_path: Path) -> Callable[..., Path]:
    """Copy the checkpoint's two files with changes made to their JSON."""

    def variant(
        config: Callable[[dict], object] = lambda _: None, tokenizer: Callable[[dict], object] = lambda _: None
    ) -> Path:
        for name, change in (("config.json", config), ("tokenizer.json", tokenizer)):
            shutil.copyfile(CHECKPOINT / name, tmp_path / name)
            content = json.loads((tmp_path / name).read_text())
            change(content)
            (tmp_path / name).write_text(json.dumps(content))
        return tmp_path

    return variant


@pytest.fixture(scope="session")
def profile() -> Profile:
    return load_profile(CHECKPOINT)


@pytest.fixture(scope="session")
def tokenizer() -> PromptTokenizer:
    return PromptTokenizer(CHECKPOINT)


@pytest.fixture(scope="session")
def builder(profile: Profile, tokenizer: PromptTokenizer) -> PromptBuilder:
    return PromptBuilder(profile, tokenizer)


@pytest.fixture(scope="session")
def strict_builder(profile: Profile, tokenizer: PromptTokenizer) -> PromptBuilder:
    return PromptBuilder(profile, tokenizer, strict_reference=True)


@pytest.fixture(scope="session")
def image() -> Callable[..., ImageFile]:
    def image(width: int = 64, height: int = 64) -> ImageFile:
        return image_file(Image.new("RGB", (width, height), (width % 256, height % 256, 7)))

    return image
