"""`cenote ingest` from its command line to its exit code: wires the parts of a run together."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

from service.ingest.arguments import Options
from service.ingest.child import own_server
from service.ingest.errors import CommandLineError, IngestError
from service.ingest.files.pdf_process import PdfProcesses
from service.ingest.files.video_process import VideoProcesses
from service.ingest.item import OpenSource
from service.ingest.ledger.choosing import Chooser
from service.ingest.ledger.dead_letters import DeadLetters
from service.ingest.ledger.ledger import Ledger
from service.ingest.ledger.writing import TooManyFailuresError, Writer
from service.ingest.pause import Pause
from service.ingest.pipeline import Pipeline, report_progress
from service.ingest.plan import with_ids_of
from service.ingest.progress import Failures, Progress, RunCounts, make_progress, say
from service.ingest.sending.batching import Batcher, ByteWindow
from service.ingest.sending.client import Client, RefusedError
from service.ingest.sending.handshake import Agreed, agree, check_probe, probe_vector
from service.ingest.sending.sending import Sender
from service.ingest.sending.tokens import TokenCounter
from service.ingest.sinks import make_sink
from service.ingest.sinks.patience import PatientSink
from service.ingest.sinks.sink import Sink
from service.ingest.sinks.target import parse_target
from service.ingest.source_reader import SourceReader
from service.ingest.sources import file_kinds, open_source
from service.ingest.sources.documents import Documents
from service.ingest.sources.pdf import PdfPages
from service.ingest.sources.video import VideoSegments
from service.ingest.splitting import Splitting
from service.ingest.taken import check_taken, holds_media, leave_out, model_for
from service.ingest.vectors import DENSE_ALONE

DONE, STOPPED, WRONG_COMMAND, DEAD_LETTERS, TOO_MANY = 0, 1, 2, 3, 4
"""Exit codes: all vectors are in the sink; the run stopped early; the command line is wrong (argparse's own code, and
nothing was started); the run ended with items in the dead-letter file; more items failed than `--max-errors` allows.
"""
ADOPTED = (
    "the ledger is of an older version, which knew a model by one text's vector: other weights than those of the text "
    "would not show. From this run on it holds the model's fingerprint, which is compared exactly"
)


class SignalledError(IngestError):
    """A signal stopped the run; outcomes so far are written."""


class Readers:
    """The processes that read files; they start when they are needed."""

    def __init__(self) -> None:
        self.pdfs, self.videos = PdfProcesses(), VideoProcesses()
        self.documents = Documents()

    def close(self) -> None:
        """End them."""
        for each in (self.pdfs, self.videos, self.documents):
            each.close()


def ingest(options: Options) -> int:
    """Run, report the end, and return the exit code."""
    counts = RunCounts()
    code, why = DONE, ""
    try:
        progress = make_progress(counts, json=options.json)
    except IngestError as error:
        print(f"cenote ingest: {error}", file=sys.stderr)
        return STOPPED
    try:
        with closing(Readers()) as readers:
            asyncio.run(_run(options, counts, progress, readers))
    except TooManyFailuresError as error:
        code, why = TOO_MANY, str(error)
    except CommandLineError as error:
        code, why = WRONG_COMMAND, str(error)
    except IngestError as error:
        code, why = STOPPED, str(error)
    except RefusedError as refused:
        code, why = STOPPED, f"the server refuses what every request has: {refused.error.message}"
    except KeyboardInterrupt:
        code, why = STOPPED, "stopped by a signal; the same command goes on from here"
    if code == DONE and counts.failed:
        code = DEAD_LETTERS
    progress.end(code, why)
    return code


async def _run(options: Options, counts: RunCounts, progress: Progress, readers: Readers) -> None:
    target = parse_target(options.to)
    sink = make_sink(target)
    _check_outputs(options, sink)
    _check_chunks(options)
    _check_changes(options, sink)
    pages = PdfPages(readers.pdfs)
    source = open_source(
        options, file_kinds(pages, VideoSegments(readers.videos, options.segment_s), readers.documents)
    )
    pause = Pause(options.give_up_s, options.concurrency)
    has_media = options.model is None and await asyncio.to_thread(holds_media, source)
    async with _server(options, has_media) as url, Client(url, _api_key(options), pause, options.concurrency) as client:
        agreed = await agree(client, options, has_media=has_media)
        pages.content = agreed.plan.pages
        check_taken(source, options, agreed)
        counts.left_out, about = await asyncio.to_thread(leave_out, source, agreed)
        if about:
            say(about)
        with closing(Ledger(options.ledger or Path(f"{target.beside}.ledger"))) as ledger:
            await _agree_with_ledger(ledger, client, agreed, target.identity)
            dead = _dead_letters(ledger, options, options.dead_letters or Path(f"{target.beside}.dead.jsonl"))
            counts.failed = dead.num_items
            plan = with_ids_of(agreed.plan, ledger.fact("plan"))
            instructions: list[str | None] = [*options.instruction] or [None]
            changes = {"updates": options.update, "sees": options.update or options.prune}
            chooser = Chooser(plan, instructions, ledger, counts, **changes)
            tokens = TokenCounter(client, agreed.card["id"], agreed.max_tokens)
            await tokens.leave_room(options.instruction)
            splitting = Splitting(options, tokens, chooser, counts)
            patient = PatientSink(sink, target, options.give_up_s)
            try:
                async with Writer(patient, ledger, dead, chooser, counts, options.max_errors) as writer:
                    await writer.open(agreed.layout)
                    ledger.made_by(plan, target.identity, agreed.card["fingerprint"])
                    await writer.end_removals()
                    sender = Sender(client, agreed.form, agreed.bounds, counts, readers.pdfs, readers.videos)
                    async with _watched(source, options, counts, progress, pause) as reading:
                        window, batcher = ByteWindow(options.window_bytes), Batcher(agreed.bounds)
                        pipeline = Pipeline(reading, splitting, chooser, batcher, sender, writer, window)
                        await pipeline.run(options.concurrency)
                        if changes["sees"] and not reading.was_stopped:
                            await writer.remove_unseen(all_gone=options.prune)
            finally:
                progress.failures = Failures(str(dead.path), ledger.dead_by_code())


async def _agree_with_ledger(ledger: Ledger, client: Client, agreed: Agreed, sink: str) -> None:
    """Check that the run continues the one that made the ledger, and that the server gives vectors."""
    ledger.agree(agreed.plan, sink, agreed.card["fingerprint"])
    probe = await probe_vector(client, agreed)
    if ledger.fact("plan") is not None and ledger.fact("fingerprint") is None:
        if before := ledger.fact("probe"):
            check_probe(before, probe)
        say(ADOPTED)


def _dead_letters(ledger: Ledger, options: Options, path: Path) -> DeadLetters:
    """The failures that this run leaves alone."""
    if options.retry_failed:
        ledger.forget_failures()
    if options.update:
        ledger.forget_changed()
    return DeadLetters(path, ledger)


def _check_changes(options: Options, sink: Sink) -> None:
    """Refuse changes of what cannot be changed."""
    flags = [flag for flag, is_set in (("--update", options.update), ("--prune", options.prune)) if is_set]
    if flags and not sink.can_change:
        raise CommandLineError(
            f"{flags[0]}: got --to {options.to}, expected a store; nothing is taken out of a file, or replaced in it"
        )


def _check_outputs(options: Options, sink: Sink) -> None:
    """Refuse, before a server is started, what neither this sink nor any model could give."""
    asked = ",".join(options.outputs)
    if lacked := [sink.lacks[kind] for kind in options.outputs if kind in sink.lacks]:
        raise CommandLineError(f"--outputs {asked}: {'; '.join(lacked)}")
    if options.raw and options.outputs != DENSE_ALONE:
        raise CommandLineError(f"--raw: expected --outputs dense alone, got {asked}; token vectors have length 1")


def _check_chunks(options: Options) -> None:
    """Refuse an overlap that no chunk could have, and late chunking of what it is not for."""
    if options.chunk_tokens and options.chunk_chars:
        raise CommandLineError("--chunk-tokens: got --chunk-chars too, expected one of them")
    if options.late_chunking and not options.chunk_chars and not options.chunk_tokens:
        raise CommandLineError("--late-chunking: expected --chunk-chars or --chunk-tokens too, got neither")
    if options.late_chunking and options.chunk_overlap:
        raise CommandLineError(
            f"--chunk-overlap: got {options.chunk_overlap} with --late-chunking; there each chunk knows the one before"
        )
    if options.late_chunking and options.outputs != DENSE_ALONE:
        raise CommandLineError(f"--late-chunking: expected --outputs dense alone, got {','.join(options.outputs)}")
    if options.chunk_overlap and options.chunk_overlap >= options.chunk_chars:
        most = f"less than --chunk-chars {options.chunk_chars}" if options.chunk_chars else "--chunk-chars too"
        raise CommandLineError(f"--chunk-overlap: got {options.chunk_overlap}, expected {most}")


@asynccontextmanager
async def _watched(
    source: OpenSource, options: Options, counts: RunCounts, progress: Progress, pause: Pause
) -> AsyncIterator[SourceReader]:
    """Read the source, report progress, and stop reading on SIGINT or SIGTERM; a second signal ends the run at once.

    Raises:
        SignalledError: a signal stopped the reading; all items read before it are done.
    """
    reading = SourceReader(source)
    loop = asyncio.get_running_loop()
    signalled = asyncio.Event()

    def stop() -> None:
        signalled.set()
        reading.stop()
        for each in (signal.SIGINT, signal.SIGTERM):  # the second signal ends the run
            loop.remove_signal_handler(each)

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop)
    watchers = [
        asyncio.create_task(report_progress(progress, counts, pause)),
        asyncio.create_task(_count(source, len(options.instruction) or 1, counts)),
    ]
    try:
        yield reading
    finally:
        counts.waited_s = pause.waited_s
        for watcher in watchers:
            watcher.cancel()
    if signalled.is_set():
        raise SignalledError("stopped by a signal; the same command goes on from here")


async def _count(source: OpenSource, num_instructions: int, counts: RunCounts) -> None:
    with suppress(IngestError, OSError):  # reading the source reports it
        num_items = await asyncio.to_thread(source.count)
        counts.total = None if num_items is None else num_items * num_instructions


@asynccontextmanager
async def _server(options: Options, has_media: bool) -> AsyncIterator[str]:
    if options.server is not None:
        yield options.server
        return
    wanted = {
        "model": options.model or model_for(has_media=has_media),
        "revision": options.revision,
        "device": options.device,
    }
    flags = [part for name, value in wanted.items() if value is not None for part in (f"--{name}", value)]
    async with own_server(flags) as url:
        yield url


def _api_key(options: Options) -> str:
    """The key from the environment, which other users of the machine cannot read; empty if none is named."""
    if options.api_key_env is None:
        return ""
    key = os.environ.get(options.api_key_env)
    if not key:
        raise CommandLineError(
            f"--api-key-env {options.api_key_env}: there is no such environment variable, or it is empty"
        )
    return key
