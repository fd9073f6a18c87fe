"""Bulk embedding of a Parquet data set with Ray Data: `python -m cenote_ray.bulk SOURCE TARGET --checkpoint FOLDER`.

In: rows with `id` (unique) and any of `text`, `image` (the bytes of a file) and `instruction`. Out: Parquet with `id`,
`embedding`, `error_code` and `error`; and `dead_letters.jsonl` beside it, with a line for each row without a vector.
A row that fails never fails its batch. An interrupted run resumes by Ray Data's checkpoints.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import ray
from ray.data.checkpoint import CheckpointConfig

from cenote_ray.rows import RowEmbedder
from service.settings.setting_sources import load_settings
from service.settings.settings import SettingsError

DEAD_LETTERS = "dead_letters.jsonl"
EXIT_DEAD_LETTERS = 3
"""As of `cenote ingest`; 2 is a wrong command line."""
ROWS_PER_PART = 4096
MIN_LOGICAL_CPUS = 4
"""A resumed run has an extra filter that takes a logical CPU: with two it would wait forever
(`backpressured: ResourceBudget`). They are not cores; a machine with two is enough."""


def embed_data_set(
    source: str,
    target: str,
    checkpoint: str,
    settings: Mapping[str, str],
    *,
    num_engines: int = 1,
    batch_size: int = 64,
    rows_per_part: int = ROWS_PER_PART,
    dimensions: int | None = None,
) -> int:
    """Embed every row that is not done yet.

    Args:
        source: Parquet file or folder; a path or URI that every node can read.
        target: folder for the results, likewise.
        checkpoint: folder for the ids that are done, likewise.
        settings: of the service, by name.
        num_engines: number of engines.
        batch_size: rows of one request to an engine.
        rows_per_part: rows of one result file; a resumed run repeats rows whose file was not written.
        dimensions: leading dimensions to keep; None keeps all.

    Returns:
        The number of rows of `target` without a vector.
    """
    context = ray.data.DataContext.get_current()
    context.checkpoint_config = CheckpointConfig(
        id_column="id", checkpoint_path=checkpoint, delete_checkpoint_on_success=False
    )
    rows = (
        ray.data.read_parquet(source)
        .repartition(target_num_rows_per_block=rows_per_part)
        .map_batches(
            RowEmbedder,
            fn_constructor_args=(dict(settings), dimensions),
            batch_size=batch_size,
            batch_format="pyarrow",
            concurrency=num_engines,
            num_cpus=1,
        )
    )
    rows.write_parquet(target)
    return write_dead_letters(target)


def absolute(place: str) -> str:
    """A place by its full path: Ray's workers have a working directory of their own. URIs stay as they are."""
    return place if "://" in place else str(Path(place).absolute())


def absolute_model(name: str, value: str) -> str:
    """A setting, where a model's folder is named by its full path, likewise."""
    return absolute(value) if name == "model" and Path(value).is_dir() else value


def check_rows(source: str) -> None:
    """Check that there is something to embed, before a cluster and engines are started; not of places by URI.

    Raises:
        ValueError: there is no such data set, or it has not the columns of one.
    """
    if "://" in source:
        return
    if not Path(source).exists():
        raise ValueError(f"source {source}: no such file or folder")
    try:
        names = pads.dataset(source, format="parquet", exclude_invalid_files=True).schema.names
    except (OSError, pa.ArrowInvalid) as error:
        raise ValueError(f"source {source}: {error}") from None
    if "id" not in names or not {"text", "image"} & set(names):
        columns = ", ".join(names) or "none"
        raise ValueError(f"source {source}: got the columns {columns}, expected `id`, and `text` or `image` or both")


def write_dead_letters(target: str) -> int:
    """Write a line for each row of the results that has no vector; returns their number."""
    found = pads.dataset(target, format="parquet", exclude_invalid_files=True)
    dead: pa.Table = found.to_table(["id", "error_code", "error"], filter=pads.field("error_code").is_valid())
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in dead.sort_by("id").to_pylist()]
    Path(target, DEAD_LETTERS).write_text("".join(lines))
    return len(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run on the cluster of `RAY_ADDRESS` or on this machine; 3 if there are dead letters."""
    parser = argparse.ArgumentParser(prog="cenote_ray.bulk", description="Embed a Parquet data set with Ray Data.")
    parser.add_argument("source", help="Parquet file or folder with `id`, `text`, `image`, `instruction`")
    parser.add_argument("target", help="folder for the results")
    parser.add_argument("--checkpoint", required=True, help="folder that remembers what is done")
    parser.add_argument("--engines", type=int, default=1, help="engines side by side")
    parser.add_argument("--batch-size", type=int, default=64, help="rows of one request to an engine")
    parser.add_argument("--rows-per-part", type=int, default=ROWS_PER_PART, help="rows of a file of results")
    parser.add_argument("--dimensions", type=int, help="leading dimensions to keep")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the service")
    options = parser.parse_args(arguments)
    source, target, checkpoint = map(absolute, (options.source, options.target, options.checkpoint))
    settings = {name: absolute_model(name, value) for name, _, value in (one.partition("=") for one in options.set)}
    try:
        check_rows(source)
        load_settings(settings, os.environ)
    except (ValueError, SettingsError) as error:
        parser.error(str(error))
    if not ray.is_initialized():
        is_here = "RAY_ADDRESS" not in os.environ
        ray.init(**({"address": "local", "num_cpus": MIN_LOGICAL_CPUS + options.engines} if is_here else {}))
    num_dead = embed_data_set(
        source,
        target,
        checkpoint,
        settings,
        num_engines=options.engines,
        batch_size=options.batch_size,
        rows_per_part=options.rows_per_part,
        dimensions=options.dimensions,
    )
    print(f"{num_dead} rows have no vector")
    return EXIT_DEAD_LETTERS if num_dead else 0


if __name__ == "__main__":
    sys.exit(main())
