"""What an engine imports: the modules of its model's family, and nothing that only trains or compiles."""

import subprocess
import sys

import pytest

from service.checkpoint.hub import BUILTIN, MINILM
from tests.conftest import ROOT

pytestmark = pytest.mark.slow
"""Each takes a process that imports torch."""

HEAVY = (
    *("torch._dynamo.convert_frame", "torch._inductor", "torch.distributed.tensor", "torch.distributed.fsdp"),
    *("scipy", "sklearn", "pandas", "accelerate", "torchvision", "transformers.trainer", "transformers.pipelines"),
)
BERT, QWEN3_VL = (f"transformers.models.{one}.modeling_{one}" for one in ("bert", "qwen3_vl"))
OTHERS = tuple(f"transformers.models.{one}.modeling_{one}" for one in ("llama", "lfm2", "roberta", "colpali"))

LOAD = """
import sys
from service.engine.startup.lazy_packages import LazyPackage, import_transformers
import_transformers()
from service.engine.engine import load_weights
from service.front.engine_client.local_engine import start_message
from service.front.serving.model_serving import _load_model
from service.settings.settings import Settings
settings = Settings(model=sys.argv[1])
load_weights(start_message(settings, _load_model(settings), 1, 1))
print(*(name for name, module in sys.modules.items() if module is not None and not isinstance(module, LazyPackage)))
"""
"""The engine's start in one process, without its lines."""


def said_by(code: str, *words: str) -> list[str]:
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120).stdout.split()


@pytest.mark.parametrize(("model", "own", "other"), [(BUILTIN, QWEN3_VL, BERT), (MINILM, BERT, QWEN3_VL)])
def test_an_engine_imports_what_its_family_needs(model: str, own: str, other: str) -> None:
    found = {*said_by(LOAD, model)}
    assert {"torch", "transformers.modeling_utils", own} <= found
    assert found & {*HEAVY, *OTHERS, other, "transformers", "transformers.models", "torch._dynamo"} == set()


ASK = """
import sys
from service.engine.startup.lazy_packages import LazyPackage, import_transformers
import_transformers()
import transformers, torch
print(isinstance(transformers, LazyPackage), transformers.__version__)
print(transformers.modeling_utils.PreTrainedModel is transformers.PreTrainedModel)
print(isinstance(sys.modules["transformers"], LazyPackage), sys.modules["transformers"].__version__)
print(torch._dynamo.is_compiling(), isinstance(sys.modules["torch._dynamo"], LazyPackage))
"""


def test_a_name_that_nobody_imported_brings_the_package() -> None:
    (lazy, version, is_same, stays, real_version, compiles, dynamo_stays) = said_by(ASK)
    assert (lazy, is_same, stays, compiles, dynamo_stays) == ("True", "True", "False", "False", "False")
    assert version == real_version


FAIL = """
import sys
from service.engine.startup import lazy_packages
lazy_packages._alone = None
lazy_packages.import_transformers()
import transformers, torch
print(transformers.BertModel.__name__, torch._dynamo.is_compiling())
print(transformers.utils.is_torch_distributed_available())
"""


def test_where_the_short_way_fails_all_is_imported() -> None:
    assert said_by(FAIL) == ["BertModel", "False", "True"]
