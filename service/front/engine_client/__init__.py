"""The front's side of the engine process: start it, watch it, send it requests, load their pixels."""
