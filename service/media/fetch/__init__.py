"""Pictures by URL: the only outbound HTTP client of the service, off unless hosts are configured.

`url.py` and `host.py` read what a client wrote, `host_list.py` and `policy.py` say what of it may be asked for,
`address.py` which addresses may be connected to. `fetcher.py` goes the way of one fetch: `resolver.py` names to
addresses, `connection.py` a socket to one of them, `exchange.py` one GET, `redirect.py` the next hop, `memory.py` what
is known already, `slots.py` how many at once. No other module of the service opens a connection to the outside.

Source: reference/security-reliability.md section 3, "Fetching media by URL".
"""
