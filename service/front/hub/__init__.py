"""Shared by all fronts of a service: the engine of each model, the series, clients' names for images."""
