"""Numbers of the command line: without an end, too large or no number at all, each is refused with what is allowed."""

import argparse

import pytest

from service.ingest.arguments import add_arguments


def parser() -> argparse.ArgumentParser:
    one = argparse.ArgumentParser()
    add_arguments(one)
    return one


NUMBERS = [action.option_strings[0] for action in parser()._actions if action.metavar in ("N", "S", "BYTES")]


@pytest.mark.parametrize("flag", NUMBERS)
@pytest.mark.parametrize("written", ["nan", "inf", "-1", "1e400", str(1 << 62), "many"])
def test_a_number_without_an_end_is_refused(flag: str, written: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["-", "--to", "out.jsonl", f"{flag}={written}"])
    assert f"argument {flag}: got '{written}', expected a" in capsys.readouterr().err


def test_as_many_requests_at_once_as_nobody_wants_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["-", "--to", "out.jsonl", "--concurrency", "100000"])
    assert "expected an integer from 1 to 1024" in capsys.readouterr().err


@pytest.mark.parametrize("written", ["8MiB", "8388608", "8 mib", "8192KiB"])
def test_bytes_are_written_as_for_serve(written: str) -> None:
    options = parser().parse_args(["-", "--to", "out.jsonl", "--batch-bytes", written, "--window-bytes", written])
    assert options.batch_bytes == options.window_bytes == 8 << 20
