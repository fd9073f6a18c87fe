"""Vision features that other processes share: on a disk, on Valkey."""
