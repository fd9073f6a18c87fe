"""Who asks, and until when: what a route hands down with a request. Knows no keys and no HTTP."""

import hashlib
import math

import msgspec


class Tenant(msgspec.Struct, frozen=True):
    """Those who share caches, names for images and a share of the queue.

    Attributes:
        name: as the key file has it; empty for all who send no key, where none is asked for.
        salt: part of every cache key, so that no tenant ever meets what another has computed.
        uuid_scope: whose names for images these are.
    """

    name: str
    salt: bytes
    uuid_scope: bytes

    @classmethod
    def named(cls, name: str) -> "Tenant":
        """The tenant of a key: its salt is SHA-256 of its name, so that caches outlive a key's rotation."""
        salt = hashlib.sha256(b"tenant\0" + name.encode()).digest()
        return cls(name, salt, salt)

    @classmethod
    def without_key(cls, header: bytes) -> "Tenant":
        """Everybody, where no keys are asked for: one tenant, with names for images by credentials.

        Args:
            header: the Authorization header that came, for a proxy in front that checks it.
        """
        return cls("", b"", hashlib.sha256(header).digest())


ANYONE = Tenant.without_key(b"")
"""All who send no Authorization header, where no keys are asked for."""


class Caller(msgspec.Struct, frozen=True):
    """One request's owner and patience.

    Attributes:
        deadline_s: on `time.monotonic`, when nobody waits for it any more.
        patience_s: how long that was when it came, for the error that says so.
        wants_fresh: what the engine knows already is no answer.
    """

    tenant: Tenant
    deadline_s: float = math.inf
    patience_s: float = math.inf
    wants_fresh: bool = False


SERVICE = Caller(ANYONE, wants_fresh=True)
"""The service itself, when it asks its own question: the answer has to show that the model runs."""
