"""Media by URL: the only outbound HTTP client of the service, off unless hosts are configured.

`url.py` parses what a client wrote; `policy.py` holds the settings: hosts, ports, limits; `address.py` classifies IP
addresses. `fetcher.py` runs one fetch: `connection.py` resolves a name and opens a socket, `exchange.py` sends one GET,
`memory.py` caches answers for conditional requests.

A URL's text that is wrong or not allowed is a `UrlError`; what fails on the way is a `FetchError`, which stays here:
outside it is a `MediaError`, `media_fetch_failed`, whatever it was.

Source: OWASP, Server-Side Request Forgery Prevention Cheat Sheet; docs/notes/security.md.
"""
