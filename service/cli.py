"""`cenote serve`, `cenote ingest`, `cenote key`, `cenote models`, `cenote openapi`, `cenote reference`."""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from service import logs
from service.checkpoint.hub import BUILTIN, CHECKPOINT, canonical_name, find_checkpoint, unnamed_models
from service.checkpoint.json_files import CheckpointError
from service.front.admission.key_file import ApiKey, hash_key, new_key
from service.front.hub.launch import Launched, launch
from service.settings.serve_arguments import add_settings
from service.settings.setting_sources import load_settings, unknown_flag
from service.settings.settings import FIELDS, Settings, SettingsError

logger = logging.getLogger("cenote.cli")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. A usage error is one line on stderr and exit code 2, a failed start exit code 1."""
    parser = _parser(sys.argv[1:] if arguments is None else arguments)
    options, unknown = parser.parse_known_args(arguments)
    if unknown and options.run is not _serve:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        if unknown:
            raise unknown_flag(unknown[0])
        sys.exit(options.run(options))
    except (SettingsError, CheckpointError) as error:
        sys.exit(_fail(str(error), 2))


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cenote", description="A strictly typed multimodal embedding service.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve models over HTTP", allow_abbrev=False)
    serve.set_defaults(run=_serve)
    add_settings(serve)
    models = commands.add_parser("models", help="show what a model resolves to, without loading its weights")
    models.add_argument(
        "model", nargs="?", default=BUILTIN, help="a built-in one, a folder, or a hub id; or several: NAME=ID,..."
    )
    models.add_argument("--revision", help="commit, tag or branch of the hub id")
    models.add_argument("--family", help="model family; from the model's files if not set")
    models.set_defaults(run=_models)
    _add_key_command(commands.add_parser("key", help="make API keys for the file of --api-keys"))
    ingest = commands.add_parser("ingest", help="embed a folder or a file into a file or a store")
    if "ingest" in arguments:
        _add_ingest_command(ingest)
    document = commands.add_parser("openapi", help="print the OpenAPI document")
    profiles = ("full", "sdk")
    document.add_argument("--profile", choices=profiles, default="full", help="`sdk`: 3.0.3, for client generators")
    document.set_defaults(run=_openapi)
    reference = commands.add_parser("reference", help="print the reference as Markdown")
    pages = ("api", "settings", "metrics")
    reference.add_argument("--page", choices=pages, default="api", help="what to print (default api)")
    reference.set_defaults(run=_reference)
    for generated in (document, reference):
        generated.add_argument("--check", type=Path, metavar="FILE", help="compare with FILE; exit 1 if it differs")
    return parser


def _add_key_command(parser: argparse.ArgumentParser) -> None:
    new = parser.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "new", help="print a new key on stderr, and its line for the file on stdout"
    )
    new.add_argument("tenant", help="name of the tenant: 1 to 64 letters, digits, dots, dashes and underscores")
    new.add_argument("--max-requests-per-s", type=float, metavar="N", help="maximum requests a second")
    new.add_argument("--max-concurrent-requests", type=int, metavar="N", help="maximum concurrent requests")
    new.set_defaults(run=_new_key)


def _add_ingest_command(parser: argparse.ArgumentParser) -> None:
    from service.ingest.arguments import add_arguments  # a client program: only this command imports it

    add_arguments(parser)
    parser.set_defaults(run=_ingest)


def _ingest(options: argparse.Namespace) -> int:
    from service.ingest.arguments import options_of
    from service.ingest.errors import not_installed

    try:
        from service.ingest.command import ingest
    except ImportError as error:
        return _fail(f"ingest: {not_installed(str(error.name), 'ingest')}", 1)
    return ingest(options_of(options))


def _new_key(options: argparse.Namespace) -> int:
    """Print the key on stderr and its line with the hash on stdout: `cenote key new acme >> keys.jsonl`."""
    key = new_key()
    values = {
        "tenant": options.tenant,
        "sha256": hash_key(key.encode()).hex(),
        "max_requests_per_s": options.max_requests_per_s,
        "max_concurrent_requests": options.max_concurrent_requests,
    }
    try:
        line = msgspec.convert(values, ApiKey)
    except msgspec.ValidationError as error:
        return _fail(f"key new: {error}", 2)
    print(f"the key, which is stored nowhere: {key}", file=sys.stderr)
    print(msgspec.json.encode(line).decode())
    return 0


def _serve(options: argparse.Namespace) -> int:
    flags = {name: value for name, value in vars(options).items() if name in FIELDS}
    unnamed = unnamed_models()
    settings = load_settings(flags, os.environ, options.config, unnamed)
    logs.configure(settings.log_format, settings.log_level)
    if not unnamed and settings.model_ids == BUILTIN:
        logger.info("`builtin` is served alone, which knows drawn scenes: a model of texts comes with the extra `text`")
    first = settings.of_each_model[0]
    launched = [launch(first.served_name[0] if first.served_name else canonical_name(first.model))]
    try:
        return _until_ended(settings, launched)
    finally:
        for one in launched:
            one.end()


def _until_ended(settings: Settings, launched: Sequence[Launched]) -> int:
    from service.serve import ListenError, serve  # while the engine's process imports what it needs

    try:
        return serve(settings, launched)
    except ListenError as error:
        return _fail(str(error), 1)


def _models(options: argparse.Namespace) -> int:
    asked = {"model": options.model, "revision": options.revision, "family": options.family}
    flags = {name: value for name, value in asked.items() if value is not None}
    print("\n\n".join(_resolved(one) for one in load_settings(flags, {}).of_each_model))
    return 0


def _resolved(settings: Settings) -> str:
    """Return the resolved plan of a model, as lines."""
    from service.prompt.detect import load_profile

    checkpoint = find_checkpoint(settings.model, settings.revision)
    profile = load_profile(checkpoint.folder, settings.family or "")
    rule = profile.images.pixel_rule if profile.images else None
    offered = profile.matryoshka or f"any from {profile.min_dimensions} to {profile.dimensions}"
    rows = {
        "model": checkpoint.name,
        "folder": "(in the package)" if checkpoint.folder == CHECKPOINT else str(checkpoint.folder),
        "revision": checkpoint.revision or "-",
        "profile": profile.name,
        "pooling": profile.pooling,
        "dimensions": f"{profile.dimensions} (matryoshka: {offered})",
        "max tokens": profile.max_tokens,
        "modalities": ", ".join(profile.modalities),
        "pixels": f"{rule.min_pixels} to {rule.max_pixels}" if rule else "-",
        "audio": f"{profile.audios.rule.rate_hz} Hz" if profile.audios else "-",
        "input types": ", ".join(profile.input_types),
        "scores": profile.activation if profile.is_reranker else "-",
    }
    return "\n".join(f"{name:12s} {value}" for name, value in rows.items())


def _openapi(options: argparse.Namespace) -> int:
    from service.openapi import render, render_sdk  # a server needs none of it

    return _print(render() if options.profile == "full" else render_sdk(), options.check)


def _reference(options: argparse.Namespace) -> int:
    from service.docs_pages import render_metrics, render_settings
    from service.reference.markdown import render_markdown

    pages = {"api": render_markdown, "settings": render_settings, "metrics": render_metrics}
    return _print(pages[options.page]().encode(), options.check)


def _print(generated: bytes, check: Path | None) -> int:
    """Print a generated document, or compare the file `check` with it."""
    if check is None:
        sys.stdout.buffer.write(generated)
        return 0
    try:
        committed = check.read_bytes()
    except OSError as error:
        return _fail(f"--check {check}: {error.strerror}", 2)
    if committed == generated:
        return 0
    return _fail(f"{check} is out of date; run `make openapi docs`", 1)


def _fail(message: str, code: int) -> int:
    print(f"cenote: {message}", file=sys.stderr)
    return code
