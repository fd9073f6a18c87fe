"""Python runs this at start where its folder is on the path: prompts of a batch share no beginning."""

from typing import Any

from after_import import after_import


def _unshare(module: Any) -> None:
    begin = module.LanguageModel.__init__

    def init(self: Any, model: Any, **options: Any) -> None:
        begin(self, model, **options | {"may_share": False})

    module.LanguageModel.__init__ = init


after_import({"service.model.qwen3_vl.language": _unshare})
