"""What all fronts of a service have in common: the engine of each model, the series, clients' names for images."""
