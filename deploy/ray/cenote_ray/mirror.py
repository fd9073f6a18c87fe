"""Copies a process's metrics to Ray's, which every node's agent serves to Prometheus with the replica's name.

All counters and gauges of `service.metrics`, as `ray_cenote_*`. No histograms: Ray's cannot be set to counts made
elsewhere.
"""

import threading
import time
from itertools import chain

from prometheus_client.metrics_core import Metric
from ray.serve import metrics as serve_metrics

from service import metrics

EVERY_S = 2.0
KINDS = ("counter", "gauge")


class Mirror:
    """A thread that sets Ray's gauges to the registry's values."""

    def __init__(self) -> None:
        self._gauges: dict[str, serve_metrics.Gauge] = {}

    def start(self) -> None:
        """Copy until the process ends."""
        threading.Thread(target=self._run, name="mirror", daemon=True).start()

    def _run(self) -> None:
        while True:
            for family in chain(metrics.SERVICE.collect(), metrics.REGISTRY.collect()):
                if family.type in KINDS:
                    self._copy(family)
            time.sleep(EVERY_S)

    def _copy(self, family: Metric) -> None:
        for sample in family.samples:
            labels = dict(sample.labels)
            if sample.name not in self._gauges:
                self._gauges[sample.name] = serve_metrics.Gauge(sample.name, family.documentation, tuple(labels))
            self._gauges[sample.name].set(sample.value, tags=labels)
