"""Rules of the description that JSON Schema cannot express: they compare fields, or need a key or a name server."""

import re
from datetime import datetime, timedelta

MOST_COMPARED = timedelta(days=31)
RANGE = {"from", "to", "offset", "limit"}
SEARCHES = {
    "GET /v1/receipts": {"query", "created"},
    "GET /v1/recurring-plans": {"query", "status", "active", "amount", "created", "card_last_digits"},
}
ENDPOINTS = {"POST /v1/event-endpoints", "PATCH /v1/event-endpoints/{id}"}
# Any other host is an IP address in one of its notations, or no host.
PLAIN_NAME = re.compile(r"https?://(?!.*xn--)(?:[A-Za-z0-9-]+\.)*[A-Za-z][A-Za-z0-9-]*(?::\d{1,4})?(?:[/?#].*)?", re.S)

# Cursors of answers. Each is valid for the list and the filters that it came with.
cursors = set()


def note_cursor(response):
    if "application/json" in "".join(response.headers.get("content-type", [])):
        body = response.json()
        if isinstance(body, dict) and isinstance(body.get("next_cursor"), str):
            cursors.add(body["next_cursor"])


def may_be_refused(case):
    if broken_rule(case) is not None or "cursor" in (case.query or {}):
        return True
    # Events go to public addresses only.
    return case.operation.label in ENDPOINTS and "url" in case.body and not PLAIN_NAME.fullmatch(case.body["url"])


def broken_rule(case):
    """The first rule that a request breaks although its fields are valid; None when it breaks none."""
    label = case.operation.label
    if case.method == "GET":
        return broken_by_query(label, case.query or {})
    if label == "POST /v1/reconciliations":
        length = time_of(case.body["to"]) - time_of(case.body["from"])
        return None if timedelta() <= length <= MOST_COMPARED else "`to` is not 0 to 31 days after `from`"
    if label == "POST /v1/recurring-plans" and "start_date" in case.body:
        is_late = case.body["start_date"] > case.body["end_date"]
        return "`end_date` is before `start_date`" if is_late else None
    return None


def broken_by_query(label, query):
    # The list of checkouts has no such rules: such a range has no checkouts.
    if label != "GET /v1/checkouts" and {"from", "to"} <= query.keys() and time_of(query["from"]) > time_of(query["to"]):
        return "`to` is before `from`"
    if "cursor" in query and query["cursor"] not in cursors:
        return "the API did not make the cursor"
    if {"cursor", "offset"} <= query.keys():
        return "`offset` beside a cursor"
    if SEARCHES.get(label, set()) & query.keys():
        if RANGE & query.keys():
            return "a search with `from`, `to`, `offset` or `limit`"
        if query.get("kind") == "transfer":
            return "a search of transfers"
    return None


def time_of(text):
    """As exactly as the API reads it: in milliseconds."""
    return datetime.fromisoformat(re.sub(r"(\.\d{1,3})\d*", r"\1", text))
