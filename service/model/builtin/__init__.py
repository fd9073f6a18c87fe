"""The built-in models' checkpoints and sample images; deploy/builtin makes them."""
