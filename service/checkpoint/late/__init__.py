"""The files of late interaction over pages: projections, adapters, tiles. Imports no torch."""
