"""The steps that every request takes, whatever its route."""
