"""What the checks of clients share: their settings, and how their model calls must be read back."""

import importlib.metadata
import os
import time
import urllib.parse
import uuid

import readback
import scripted

MAJOR = int(importlib.metadata.version("langfuse").split(".")[0])
os.environ.update(
    LANGFUSE_PUBLIC_KEY=readback.PUBLIC_KEY,
    LANGFUSE_SECRET_KEY=readback.SECRET_KEY,
    LANGFUSE_HOST=readback.URL,
    LANGFUSE_BASE_URL=readback.URL,
    LANGFUSE_TRACING_ENVIRONMENT="staging",
    OPENAI_API_KEY="none",
    OPENAI_BASE_URL=f"{scripted.URL}/v1",
)

# Of 1,000 tokens in, 200 come from a cache; of 100 out, 30 are reasoning.
TOKENS = {"input": 800, "cacheRead": 200, "output": 100, "reasoning": 30}
CALL = {**scripted.CALL, "tokens": TOKENS}
REPLY = {**scripted.REPLY, "tokens": TOKENS}
FAILURE = {"failure": 400, "text": "no seats left"}
# Dollars of one such call: 2.50, 1.25 and 10 per million.
COST = 0.00325
MESSAGES = [{"role": "user", "content": scripted.QUESTION}]
TYPED = {"attempt": 1, "cached": True, "ratio": 0.5, "zip": "10115", "deep": {"list": [1]}}


def new_session():
    return f"session/{uuid.uuid4()}"


def whole_trace(session, observations):
    """The one trace of a session, as soon as it has all its observations."""
    path = "/api/public/traces?sessionId=" + urllib.parse.quote(session, safe="")
    deadline = time.monotonic() + 20
    while True:
        found = readback.get(path)["data"]
        trace = readback.get_trace(found[0]["id"]) if found else {"observations": []}
        if len(trace["observations"]) >= observations:
            break
        if time.monotonic() > deadline:
            names = [(row["type"], row["name"]) for row in trace["observations"]]
            raise SystemExit(f"{observations} observations expected, found {names}")
        time.sleep(0.1)
    readback.equal("traces of the session", len(found), 1)
    readback.equal("observations", len(trace["observations"]), observations)
    return trace


def named(trace, name):
    """The one observation of a name."""
    rows = [row for row in trace["observations"] if row["name"] == name]
    readback.equal(f"observations called {name}", len(rows), 1)
    return rows[0]


def check_persons(trace, session, tags=readback.TAGS):
    readback.equal("session", trace["sessionId"], session)
    readback.equal("user", trace["userId"], readback.USER)
    readback.equal("tags", sorted(trace["tags"]), sorted(tags))


def check_usage(call, cached="input_cached_tokens", reasoning="output_reasoning_tokens"):
    """Tokens and cost of one answer; each integration has its own names for the parts."""
    usage = {kind: units for kind, units in call["usageDetails"].items() if units}
    out = {"output": 70, reasoning: 30} if reasoning else {"output": 100}
    expected = {"input": 800, cached: 200, **out, "total": 1100}
    readback.equal(f"tokens of {call['name']}", usage, expected)
    readback.equal("tokens in, of version 1", call["usage"]["input"], 1000)
    readback.equal("tokens out, of version 1", call["usage"]["output"], 100)
    readback.equal("cost", round(call["costDetails"]["total"], 9), COST)
    readback.equal("model", call["model"], scripted.MODEL)
    readback.equal("type", call["type"], "GENERATION")


def check_failure(call, text="no seats left"):
    readback.equal("level", call["level"], "ERROR")
    scripted.contains("status message", call["statusMessage"], text)
    readback.equal("output of a failure", call["output"], None)


def check_first_token(call):
    began, first, ended = call["startTime"], call["completionStartTime"], call["endTime"]
    readback.equal("first token within the call", began <= first <= ended, True)


def check_by_sdk(client, trace):
    """Reads the trace once more with the SDK's own reader, which checks the shapes of answers."""
    if MAJOR == 2:
        read = client.fetch_trace(trace["id"]).data
    elif MAJOR < 5:
        read = client.api.trace.get(trace["id"])
    else:
        read = None
    if read is not None:
        cost = lambda dollars: round(dollars or 0, 9)
        readback.equal("cost by the SDK", cost(read.total_cost), cost(trace["totalCost"]))
        rows = read.observations
    else:
        fields = "core,basic,io,metadata,model,usage"
        rows = client.api.observations.get_many(trace_id=trace["id"], fields=fields, limit=100).data
    expected = sorted(row["id"] for row in trace["observations"])
    readback.equal("observations by the SDK", sorted(row.id for row in rows), expected)
