"""`python -m service.engine.worker NAME SOCKET_FD PIPE_FD ARENA_FD FRONTS_FD`: where an engine process begins.

Started by `service.front.hub.engine_keeper` alone. What is done here has to be done before torch is imported.
"""

import gc
import signal
import sys


def main() -> None:
    """Run the engine on the descriptors that the front hands over."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # they reach the group; the keeper decides on our end
        signal.signal(number, signal.SIG_IGN)
    gc.disable()  # a fifth of the imports' time went into looking through what stays
    from service.engine.engine import run

    gc.freeze()
    gc.enable()
    run(*map(int, sys.argv[2:]))


if __name__ == "__main__":
    main()
