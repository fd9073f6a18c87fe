"""Checks the settings of shared tiers before an engine is started.

A server is not contacted: one that is down costs misses and may come back.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from service.settings import Settings, SettingsError

SCHEMES = ("valkey", "valkeys", "redis", "rediss", "unix")


def check_shared_cache(settings: Settings) -> None:
    """Refuse a directory that cannot be written to, a URL that is none, and a server without its client library.

    Raises:
        SettingsError: one of these; it never repeats the URL, which may hold a password.
    """
    if settings.disk_cache is not None:
        _check_directory(Path(settings.disk_cache))
    if settings.valkey_url is not None:
        _check_url(settings.valkey_url)


def _check_directory(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"--disk-cache {path}: {error.strerror}") from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise SettingsError(f"--disk-cache {path}: this user may not write there")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in SCHEMES and bool(parts.path if parts.scheme == "unix" else parts.hostname)
        is_valid = is_valid and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise SettingsError(f"--valkey-url: expected {'://, '.join(SCHEMES)}:// and a host or a path, got another")
    if find_spec("redis") is None:
        raise SettingsError("--valkey-url: needs the extra `valkey`; in a checkout `pip install -e '.[valkey]'`")
