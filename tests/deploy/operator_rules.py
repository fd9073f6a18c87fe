"""`make deploy-rules`: prometheus/rules.yml once more, in the form that the Prometheus operator takes."""

import textwrap

from tests.deploy.tools import DEPLOY

HEAD = """\
# Written by `make deploy-rules` from deploy/prometheus/rules.yml; do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: cenote
  labels:
    app.kubernetes.io/name: cenote
spec:
"""


def main() -> None:
    """Write the manifest."""
    rules = (DEPLOY / "prometheus" / "rules.yml").read_text()
    path = DEPLOY / "k8s" / "components" / "monitoring" / "prometheusrule.yaml"
    path.write_text(HEAD + textwrap.indent(rules[rules.index("groups:") :], "  "))


if __name__ == "__main__":
    main()
