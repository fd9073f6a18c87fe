"""https: the certificate is verified, for the name in the URL, although the connection goes to an address."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.errors import MediaError
from service.media.fetch.connection import client_context
from service.media.fetch.fetcher import Fetcher
from service.media.fetch.memory import FetchMemory
from service.media.fetch.url import parse_url
from tests.media_host import MediaHost, redirect, reply
from tests.service.media.fetch.conftest import Bench, Names

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made with openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of its own for host.test, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=host.test"
    files = ["-addext", "subjectAltName=DNS:host.test", "-out", folder / "cert.pem", "-keyout", folder / "key.pem"]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture
def secure(certificate: tuple[Path, Path]) -> Iterator[Bench]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with MediaHost({"/": reply(b"x")}, tls=context) as host:
        yield Bench(host, Names({"host.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}))


@pytest.fixture
def fetch(secure: Bench, certificate: tuple[Path, Path]) -> Callable[[str], bytes]:
    """Fetches with the certificate among those that are trusted."""

    def get(url: str) -> bytes:
        tls = client_context()
        tls.load_verify_locations(certificate[0])
        policy = secure.fetcher().policy
        fetcher = Fetcher(policy, secure.names, FetchMemory(0), max_per_host=1, max_per_tenant=1, tls=tls)
        return asyncio.run(fetcher.fetch(parse_url(url), b"", secure.taken.append))

    return get


def test_a_certificate_for_the_name_is_enough(secure: Bench, fetch: Callable[[str], bytes]) -> None:
    assert fetch(secure.host.url("/", "host.test")) == b"x"


def test_a_certificate_for_another_name_is_not(
    secure: Bench, fetch: Callable[[str], bytes], reasons: Callable[[], list[str]]
) -> None:
    with pytest.raises(MediaError):
        fetch(secure.host.url("/", "other.test"))
    assert reasons() == ["tls_failed"]
    assert secure.host.asked == []


def test_one_that_nobody_signed_is_not(secure: Bench, reasons: Callable[[], list[str]]) -> None:
    secure.failure(secure.host.url("/", "host.test"))
    assert reasons() == ["tls_failed"]


def test_https_never_leads_to_http(
    secure: Bench, fetch: Callable[[str], bytes], reasons: Callable[[], list[str]]
) -> None:
    secure.host.pages["/down"] = redirect(f"http://host.test:{secure.host.port}/")
    with pytest.raises(MediaError):
        fetch(secure.host.url("/down", "host.test"))
    assert reasons() == ["redirect_refused"]
