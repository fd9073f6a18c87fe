"""The front's process computes with the thread that asks; in a process apart, since the number is the library's own."""

import subprocess
import sys

STARTED = """
from threadpoolctl import threadpool_info
from service.app import create_app
from service.front.hub.hosted_front import HostedFront
from service.settings import Settings
create_app(Settings(), HostedFront(Settings()))
print({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
"""


def test_products_take_no_threads_of_their_own() -> None:
    ran = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.strip() == "{1}"
