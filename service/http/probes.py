"""The paths that orchestrators and monitoring ask: answered when nothing else is, and not worth a log line each."""

PROBES = frozenset({"/livez", "/readyz", "/health", "/metrics"})
