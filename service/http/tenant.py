"""Who asks: what keeps one client's names for pictures apart from another's."""

import hashlib

from service.http.errors import AnyRequest


def tenant_of(request: AnyRequest) -> bytes:
    """SHA-256 of the request's Authorization header: its credentials, whether or not the server checks them.

    Returns:
        32 bytes; the same for all who send no credentials.
    """
    return hashlib.sha256(request.headers.get("authorization", "").encode()).digest()
