"""The container's health check: exit code 0 while `/readyz` is 200. Needs Python alone, so the image has no curl."""

import os
import sys
import urllib.error
import urllib.request

TIMEOUT_S = 4.0
"""Less than the 5 s after which the check itself counts as failed."""


def main() -> int:
    """0 when ready, 1 with the reason when not."""
    url = f"http://127.0.0.1:{os.environ.get('CENOTE_PORT', '8000')}/readyz"
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy of the environment is not asked
    try:
        with direct.open(url, timeout=TIMEOUT_S):
            return 0
    except urllib.error.HTTPError as error:
        print(f"{error.code}: {error.read(500).decode(errors='replace')}")
    except OSError as error:
        print(f"no answer: {error}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
