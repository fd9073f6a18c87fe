"""`python -m service.engine.worker NAME SOCKET_FD`: where an engine process begins.

Started by `service.front.hub.launch` alone. What is done here has to be done before torch is imported.
"""

import gc
import signal
import socket  # noqa: TID251  # a socket pair
import sys

MAX_PACKET_BYTES = 64
NUM_LINES = 4


def main() -> None:
    """Import the engine, and run it on the descriptors that its keeper hands over; end where the keeper has gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # they reach the group; the keeper decides on our end
        signal.signal(number, signal.SIG_IGN)
    gc.disable()  # a fifth of the imports' time went into looking through what stays
    from service.engine.startup.lazy_packages import import_transformers

    import_transformers()
    from service.engine.engine import run

    gc.freeze()
    gc.enable()
    with socket.socket(fileno=int(sys.argv[2])) as passed:
        _, descriptors, _, _ = socket.recv_fds(passed, MAX_PACKET_BYTES, NUM_LINES)
    if descriptors:
        run(*descriptors)


if __name__ == "__main__":
    main()
