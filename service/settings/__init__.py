"""Settings: their fields, where they come from, and the command line of `cenote serve`.

A name that is unknown, a value that is invalid, or settings that contradict each other are a `SettingsError`.
"""
