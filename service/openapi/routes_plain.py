"""Probes and the playground, which need no key, and other pages, which do. Part of the table in `routes`."""

from schemas.health import Health
from service.openapi import examples_models
from service.openapi.examples import ERRORS
from service.openapi.route import Route

PAGE_STATUSES = (401, 429, 500)
"""How a page can fail."""

PLAIN_ROUTES = (
    Route(
        method="GET",
        path="/livez",
        operation_id="getLiveness",
        tag="Probes",
        summary="Is the process alive?",
        description="200 as long as the front process answers, whatever the model does.",
        response=Health,
        error=Health,
        error_statuses=(),
        response_examples=examples_models.HEALTHY,
        protected=False,
    ),
    Route(
        method="GET",
        path="/readyz",
        operation_id="getReadiness",
        tag="Probes",
        summary="Are requests answered rightly?",
        description="200 only when an embedding whose answer is known has matched.",
        response=Health,
        error=Health,
        error_statuses=(503,),
        response_examples=examples_models.HEALTHY,
        error_examples=examples_models.UNHEALTHY,
        protected=False,
    ),
    Route(
        method="GET",
        path="/health",
        operation_id="getHealth",
        tag="Probes",
        summary="The same as /readyz",
        description="An alias of `/readyz`, for tools that look here.",
        response=Health,
        error=Health,
        error_statuses=(503,),
        response_examples=examples_models.HEALTHY,
        error_examples=examples_models.UNHEALTHY,
        protected=False,
    ),
    Route(
        method="GET",
        path="/metrics",
        operation_id="getMetrics",
        tag="Probes",
        summary="Metrics for Prometheus",
        description="Counters and histograms named `cenote_*`, in Prometheus's text format.",
        media_type="text/plain",
        protected=False,
    ),
    Route(
        method="GET",
        path="/openapi.json",
        operation_id="getOpenapi",
        tag="Pages",
        summary="This document",
        description="OpenAPI 3.1.0, byte for byte the file of the release.",
        media_type="application/json",
        error_statuses=PAGE_STATUSES,
        error_examples=ERRORS,
    ),
    Route(
        method="GET",
        path="/openapi-sdk.json",
        operation_id="getOpenapiSdk",
        tag="Pages",
        summary="This document for client generators",
        description="Its SDK profile, in OpenAPI 3.0.3: no unions of arrays. Byte for byte the file of the release.",
        media_type="application/json",
        error_statuses=PAGE_STATUSES,
        error_examples=ERRORS,
    ),
    Route(
        method="GET",
        path="/docs",
        operation_id="getDocs",
        tag="Pages",
        summary="The reference, as a page",
        description="Every operation, field, error and limit, with calls to copy. Needs no script and no other host.",
        media_type="text/html",
        error_statuses=PAGE_STATUSES,
        error_examples=ERRORS,
    ),
    Route(
        method="GET",
        path="/",
        operation_id="getPlayground",
        tag="Pages",
        summary="The playground, as a page",
        description="Pictures and texts under several instructions: their similarities, a map, what each size and "
        "number format costs, cache hits and times, and the request to copy. Needs no other host. The page and its "
        "files, below `/playground/`, are the same for everybody and need no key; what they ask this server for does.",
        media_type="text/html",
        error_examples=ERRORS,
        protected=False,
    ),
)
"""Every operation that has nothing to do with vectors."""
