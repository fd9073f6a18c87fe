"""Settings: their fields, where they come from, and the command line of `cenote serve`."""
