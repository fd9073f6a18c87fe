"""Sockets, connections and HTTP/1.1: what runs below the routes.

An address that is taken, or none of this machine's, is a `ListenError`; what `--proxies` has and is no address, a
`SettingsError`.
"""
