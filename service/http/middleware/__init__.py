"""The steps that every request takes, whatever its route.

They are made at start: a URL or an origin that is none, or an extra that is not there, is a `SettingsError`.
"""
