"""What a request needs besides its schema: files, a signature, and a source that exists.

No generated input is removed. One is replaced, to protect the stack under test: exclusion 5 in schemathesis.toml. Rules
that the description can only state in words are in rules.py, and a check asks for each refusal.
"""

import base64
import hashlib
import hmac
import json
import os
import time

import schemathesis
from hypothesis import strategies as st
from rules import broken_rule, may_be_refused, note_cursor
from schemathesis.openapi.checks import RejectedPositiveData
from schemathesis.transport.requests import REQUESTS_TRANSPORT, multipart_serializer

# The content of a file, and its name, decide whether the API takes it.
FILES = {
    "image/png": ("one.png", b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": ("one.jpg", b"\xff\xd8\xff\xe0"),
    "application/pdf": ("one.pdf", b"%PDF-1.7\n"),
}
for media_type, (_, content) in FILES.items():
    schemathesis.openapi.media_type(media_type, st.just(content))


@REQUESTS_TRANSPORT.serializer("multipart/form-data")
def multipart(ctx, value):
    """Names the file: OpenAPI does not describe names of files."""
    sent = multipart_serializer(ctx, value)
    if is_valid(ctx.case):
        names = {content: name for name, content in FILES.values()}
        sent["files"] = [(field, (names.get(part[1]), *part[1:])) for field, part in sent["files"]]
    return sent


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Adds an example whose source the runner created, because the provider knows no generated source."""
    examples = raw_schema["components"]["schemas"]["CreateCheckout"]["examples"]
    source = json.loads(os.environ["SOURCE"])
    money = {name: source[name] for name in ("amount", "currency")}
    examples.append({"reference": "source-1", **money, "source": source["id"]})


@schemathesis.hook
def before_call(context, case, kwargs):
    if not is_valid(case):
        return
    if case.operation.label in ("POST /webhooks/provider", "POST /webhooks/provider/{account}"):
        sign(case)
    elif case.operation.label == "PATCH /v1/account" and "webhook_uri" in case.body:
        case.body["webhook_uri"] = os.environ["WEBHOOK_URI"]


@schemathesis.hook
def after_call(context, case, response):
    note_cursor(response)


@schemathesis.check
def refuses_what_the_words_forbid(ctx, response, case):
    rule = broken_rule(case) if is_valid(case) else None
    if rule is not None and response.status_code < 400:
        raise AssertionError(f"The API accepted a request that breaks a rule of the description: {rule}")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Such a refusal is no failure of `positive_data_acceptance`."""
    is_refusal = isinstance(failure, RejectedPositiveData) and response.status_code in (400, 422)
    return not (is_refusal and may_be_refused(case))


def is_valid(case):
    """Whether the request satisfies the description's schemas."""
    return case.meta is not None and case.meta.generation.mode.is_positive


def sign(case):
    """Signs a webhook as the provider does: the API refuses any other."""
    timestamp = str(int(time.time()))
    body = json.dumps(case.body, allow_nan=False).encode()
    secret = base64.b64decode(os.environ["WEBHOOK_SECRET"].split(",")[0])
    case.headers["Webhook-Signature"] = hmac.new(secret, f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    case.headers["Webhook-Signature-Timestamp"] = timestamp
