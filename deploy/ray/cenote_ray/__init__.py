"""Cenote as deployments of Ray Serve: the same HTTP front, and engines that Ray places, counts and replaces."""
