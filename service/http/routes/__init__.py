"""One module for each route, or for a few that belong together."""
