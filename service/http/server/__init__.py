"""Sockets, connections and HTTP/1.1: what runs below the routes."""
