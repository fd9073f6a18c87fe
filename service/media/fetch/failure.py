"""Why a fetch failed, for the log alone, and the one sentence that clients are told instead."""

from typing import Literal

Reason = Literal[
    "address_blocked",
    "name_not_resolved",
    "not_connected",
    "wrong_peer",
    "tls_failed",
    "timed_out",
    "protocol_broken",
    "status_refused",
    "coding_refused",
    "redirect_refused",
    "too_many_redirects",
]

FETCH_FAILED = (
    "What the URL names could not be fetched: the host is not reachable for this server, or did not answer with a file "
    "in time."
)
"""The same for every cause behind the text of the URL, so that a client cannot ask what is in our network."""


class FetchError(Exception):
    """A fetch failed for a reason that stays here."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason
