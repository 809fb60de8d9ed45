"""Completes valid requests with what a schema cannot express. No check is turned off here, and requests that are
generated as invalid stay as they are."""

import base64
import hashlib
import hmac
import itertools
import json
import os
import time

import schemathesis
from hypothesis import strategies as st

# The content of a file decides whether the API takes it.
schemathesis.openapi.media_type("image/png", st.just(b"\x89PNG\r\n\x1a\n"))
schemathesis.openapi.media_type("image/jpeg", st.just(b"\xff\xd8\xff\xe0"))
schemathesis.openapi.media_type("application/pdf", st.just(b"%PDF-1.7\n"))

# Records that the sandbox has: without them, every request for one would end with 404.
RECORDS = {kind: itertools.cycle(ids) for kind, ids in json.loads(os.environ["RECORDS"]).items() if ids}
SEARCHES = {"query", "status", "active", "amount", "created", "card_last_digits"}


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    label = case.operation.label
    use_records(label, case.path_parameters or {})
    if label == "POST /webhooks/provider":
        sign(case)
    elif label == "POST /v1/checkouts":
        # A source that the caller made must exist at the provider.
        case.body.pop("source", None)
    elif label == "POST /v1/recurring-plans" and "charge" in case.body:
        case.body["charge"]["customer"] = next(RECORDS["customers"])
        case.body["charge"].pop("card", None)
    elif label == "PATCH /v1/account" and case.body.pop("webhook_uri", None) is not None:
        # The sandbox would send webhooks to it.
        case.body["chain_enabled"] = True
    elif case.method == "GET" and case.query:
        agree(label, case.query)


def use_records(label, path):
    if "/v1/customers/{id}" in label:
        path["id"] = next(RECORDS["customers"])
        if "card_id" in path:
            path["card_id"] = next(RECORDS["cards"])
    elif "/v1/disputes/{id}" in label:
        path["id"] = next(RECORDS["disputes"])


def sign(case):
    """Signs a webhook as the provider does: the API refuses any other."""
    timestamp = str(int(time.time()))
    body = json.dumps(case.body, allow_nan=False).encode()
    secret = base64.b64decode(os.environ["WEBHOOK_SECRET"].split(",")[0])
    case.headers["Webhook-Signature"] = hmac.new(secret, f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    case.headers["Webhook-Signature-Timestamp"] = timestamp


def agree(label, query):
    """Makes the parameters of a list agree with each other: OpenAPI has no rules for several parameters."""
    # Only the API can make a cursor: it signs them.
    query.pop("cursor", None)
    if "from" in query and "to" in query and query["from"] > query["to"]:
        query["from"], query["to"] = query["to"], query["from"]
    if label in ("GET /v1/receipts", "GET /v1/recurring-plans") and SEARCHES & query.keys():
        for name in ("from", "to", "offset", "limit"):
            query.pop(name, None)
        if query.get("kind") == "transfer":
            query.pop("kind")
