"""A proxy as its page configures it: the lines are those of docs/proxies.md, with this test's addresses put in."""

import os
import re
import subprocess
import time
from pathlib import Path

import httpx

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "proxies.md"
NGINX = """daemon off;
{user}
pid {folder}/pid;
error_log {folder}/log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
{lines}
}}
"""
START_S = 30


def lines_of(language: str, listen: int, servers: tuple[int, int]) -> str:
    """The page's block in a language, listening on one port, with servers on two others of this machine."""
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for address, port in zip(("10.0.0.1:8000", "10.0.0.2:8000"), servers, strict=True):
        assert address in block
        block = block.replace(address, f"127.0.0.1:{port}")
    here = {"nginx": (" 80;", f" 127.0.0.1:{listen};"), "haproxy": (" :80\n", f" 127.0.0.1:{listen}\n")}[language]
    assert block.count(here[0]) == 1
    return block.replace(*here)


class Proxy:
    """One running proxy.

    Attributes:
        url: where it listens.
    """

    def __init__(self, program: str, folder: Path, listen: int, servers: tuple[int, int]) -> None:
        self.url = f"http://127.0.0.1:{listen}"
        lines, config = lines_of(program, listen, servers), folder / "config"
        user = "user root;" if os.geteuid() == 0 else ""  # who else could write to the test's folder
        config.write_text(NGINX.format(folder=folder, lines=lines, user=user) if program == "nginx" else lines)
        command = {
            "nginx": ["nginx", "-p", str(folder), "-e", str(folder / "log"), "-c"],
            "haproxy": ["haproxy", "-db", "-f"],
        }
        with (folder / "said").open("wb") as said:
            self._process = subprocess.Popen([*command[program], str(config)], stdout=said, stderr=said)
        deadline_s = time.monotonic() + START_S
        while not self._is_up():
            assert self._process.poll() is None, (folder / "said").read_text()
            assert time.monotonic() < deadline_s, (folder / "said").read_text()
            time.sleep(0.05)

    def _is_up(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(START_S)
