"""sentence-transformers' files of a model of pages: the projection of tokens, and what its chat template writes.

Released models have them beside their adapter since sentence-transformers 6. The Dense has the adapter's share in it; a
modules.json without one leaves all to the model's own processor. Imports no torch.

Source: sentence-transformers 6.2 `MultiVectorEncoder`, `Transformer`.
"""

from dataclasses import replace
from pathlib import Path

from service.checkpoint.chat_template import read_chat_templates
from service.checkpoint.colbert_modules import read_token_modules
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError, read_list
from service.checkpoint.late.token_projection import TokenProjection, check_projection, need_projection
from service.checkpoint.sentence_settings import check_settings, find_settings
from service.checkpoint.weight_files import SINGLE

MODULES, MARK = "modules.json", "{text}"
Around = tuple[str, str]
"""What stands before and after something."""


def has_dense(folder: Path) -> bool:
    """True where sentence-transformers makes the vectors of tokens by modules of its own."""
    entries = read_list(folder / MODULES) if (folder / MODULES).is_file() else []
    return any(str(entry.get("type", "")).endswith(".Dense") for entry in entries)


def page_projection(folder: Path, name: str) -> TokenProjection:
    """The Dense of modules.json, where there is one; else the layer of this name."""
    if not has_dense(folder):
        return need_projection(folder, (name,))
    found = read_token_modules(folder, is_pylates=False)
    plain = [one for one in found.dense if one.bias and one.activation == "Identity" and not one.has_residual]
    if len(plain) != 1 or len(found.dense) != 1 or not found.normalize or any(found.skiplists):
        raise CheckpointError(
            f"{folder / MODULES} has {len(found.dense)} Dense; supported for pages: one with a bias and no activation, "
            "a MultiVectorMask that skips nothing, and a Normalize"
        )
    path = plain[0].folder / SINGLE
    return TokenProjection("linear", (path, path), plain[0].out_features, plain[0].in_features, is_whole=True)


def read_projection(files: CheckpointFiles, width: int, name: str) -> TokenProjection:
    """The same, which has to be there for a decoder's states of this width; see `check_projection`."""
    return check_projection(files, page_projection(files.folder, name), width)


def read_prompts(files: CheckpointFiles, image: str, default: tuple[Around, Around]) -> tuple[Around, Around]:
    """What stands around a page and around a query by the chat template that the files name.

    Args:
        image: what stands for an image in a prompt.
        default: without a Dense.
    """
    if not has_dense(files.folder):
        return default
    settings, templates = find_settings(files), read_chat_templates(files)
    given = settings.content.get("processing_kwargs")
    name = next((key for key in templates if given == {"chat_template": {"chat_template": key}}), None)
    if name is None:
        raise CheckpointError(
            f"{settings.name} has processing_kwargs {given!r}; supported for pages: the name of a chat template"
        )
    check_settings(files, replace(settings, content={**settings.content, "processing_kwargs": None}), "messages")
    if any(files.prompts().values()):
        raise CheckpointError(f"{files.folder} has prompts {files.prompts()!r}; supported for pages: empty ones")
    found: list[Around] = []
    for part, mark, task in (({"type": "image"}, image, "document"), ({"type": "text", "text": MARK}, MARK, "query")):
        text = templates[name].render([{"role": "user", "content": [part]}], {"task": task})
        if text.count(mark) != 1:
            raise CheckpointError(f"{templates[name].path} writes {text!r} for a {task}; {mark} is needed there, once")
        before, _, after = text.partition(mark)
        found.append((before, after))
    return found[0], found[1]
