"""One module for each route, or for a few that belong together.

An input at fault, or a service that cannot take it now, is a `ServiceError`.
"""
