"""`make bench`: every workload against its baselines, in one run; the table and the JSON of it.

Exit code 1 when a figure misses its bar, so that nobody overlooks it.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from service.checkpoint.hub import CHECKPOINT
from service.front.serving.process_tuning import available_cores
from tests.bench.checkpoint import SIZES, minilm, random_checkpoint
from tests.bench.figure import Figure
from tests.bench.held import SWITCHES
from tests.bench.machine import describe_machine, load_average
from tests.bench.parts.all_parts import GROUPS, PARTS
from tests.bench.report import render_page, replace_run, told, write_json
from tests.bench.scale import FULL, QUICK
from tests.bench.sides.over_http import OverHttp
from tests.bench.stage import Stage
from tests.conftest import ROOT

FOLDER = ROOT / ".bench"
SENTENCE_PYTHON = FOLDER / "sentence-transformers" / "bin" / "python"
MARKERS = {None: "<!-- run -->", "avx2": "<!-- run held to avx2 -->"}
"""Before a run's table in the page, by `--held-to`."""
BROKEN = "not measured"
"""Name of the fact that lists parts that ended with an error."""


def main() -> int:
    """Run what the command line asks for."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))  # so that no server is left behind
    threads = options.threads or available_cores()
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if options.held_to:
        os.environ |= SWITCHES
    facts = describe_machine(threads) | {"checkpoint": options.model, "size": "quick" if options.quick else "full"}
    print("\n".join(f"{name:14s} {value}" for name, value in facts.items()), flush=True)
    began_s, load_before = time.monotonic(), load_average()
    found, versions = _measure(options, threads)
    facts |= versions | {"load_before": load_before, "seconds": round(time.monotonic() - began_s)}
    name = f"result-{options.held_to}.json" if options.held_to else "result.json"
    write_json(FOLDER / name, facts, found)
    if options.write and not (options.only or options.quick):
        replace_run(options.write, render_page(facts, found), MARKERS[options.held_to])
    return int(BROKEN in facts or any(figure.verdict == "fails" for figure in found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", help=f"these parts, separated by commas: {', '.join(GROUPS)}")
    parser.add_argument("--quick", action="store_true", help="a look in about a fifth of the time")
    parser.add_argument("--model", default="small", help=f"{', '.join(SIZES)} (random weights), or a folder")
    parser.add_argument("--threads", type=int, default=0, help="of every side; 0 takes what the container allows")
    parser.add_argument("--against", metavar="URL", help="an OpenAI-compatible server to compare with")
    parser.add_argument("--against-model", metavar="NAME", help="the name of its model")
    parser.add_argument("--against-key", metavar="KEY", help="what it wants as a bearer token")
    parser.add_argument(
        "--dtype",
        default="float32",
        choices=("float32", "bfloat16"),
        help="of the service; for `peer`",
    )
    parser.add_argument(
        "--held-to",
        choices=("avx2",),
        help="hold all sides to fewer instructions than the processor has; not the server of --against",
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table of a whole run into this page")
    options = parser.parse_args()
    if unknown := set(options.only.split(",") if options.only else ()) - set(GROUPS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    if options.dtype != "float32" and options.only != "peer":
        parser.error("--dtype is for --only peer: the other parts compare with sides in float32")
    return options


def _measure(options: argparse.Namespace, threads: int) -> tuple[list[Figure], dict[str, object]]:
    scale = QUICK if options.quick else FULL
    folder = _folder(options.model)
    extra = {"model": options.against_model} if options.against_model else {}
    against = OverHttp(options.against, extra, options.against_key) if options.against else None
    sentence = SENTENCE_PYTHON if SENTENCE_PYTHON.exists() else None
    asked = Stage(
        folder, threads, scale, FOLDER / "logs", sentence_python=sentence, against=against, dtype=options.dtype
    )
    names = [name for group in (options.only.split(",") if options.only else GROUPS) for name in GROUPS[group]]
    try:
        measured = {name: _one(name, asked) for name in names}
        found = [figure for figures in measured.values() for figure in figures]
        broken = ", ".join(name for name, figures in measured.items() if not figures)
        peers = asked.sentence.facts if "text" in names and asked.sentence else {}
        versions = {"sentence-transformers": peers["sentence-transformers"]} if peers else {}
        return found, versions | ({BROKEN: broken} if broken else {})
    finally:
        asked.close()


def _folder(model: str) -> Path:
    if model == "builtin":
        return CHECKPOINT
    if model == "minilm":
        return minilm()
    return random_checkpoint(model, FOLDER) if model in SIZES else Path(model)


def _one(name: str, stage: Stage) -> Sequence[Figure]:
    """Measure one part; nothing where its sides do not agree, which costs the part and not the half hour before it."""
    began_s = time.monotonic()
    model = PARTS[name].model
    if model is not None:
        sentence = stage.sentence_python
        stage = Stage(_folder(model), stage.num_threads, stage.scale, FOLDER / "logs" / model, sentence_python=sentence)
    try:
        measured = PARTS[name].run(stage)
    except RuntimeError as error:
        print(f"\n{name}: {PARTS[name].what}, not measured: {error}", flush=True)
        return ()
    finally:
        if model is not None:
            stage.close()
    print(f"\n{name}: {PARTS[name].what}, {time.monotonic() - began_s:.0f} s", flush=True)
    print("\n".join(map(told, measured)), flush=True)
    return measured


if __name__ == "__main__":
    sys.exit(main())
