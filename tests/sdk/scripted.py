"""What the checks of other libraries share: a scripted model, and what must be read back.

The model listens at SCRIPTED_MODEL_URL and says what it is told to, in the formats of OpenAI and of
Anthropic. In every check it is asked where to go, looks up the weather with a tool, and answers.
"""

import json
import os
import time
import urllib.parse
import urllib.request

import readback

URL = os.environ["SCRIPTED_MODEL_URL"]
OTLP = f"{readback.URL}/api/public/otel/v1/traces"
HEADERS = {"Authorization": readback.authorization()}

MODEL = "gpt-4o"
QUESTION = "Where to, in March?"
CITY = {"city": "Lisbon"}
WEATHER = "sunny"
ANSWER = "Lisbon, it is sunny there."
TOKENS = {"input": 800, "cacheRead": 200, "output": 100}

CALL = {"calls": [{"id": "call_1", "name": "get_weather", "input": CITY}], "tokens": TOKENS}
REPLY = {"text": ANSWER, "tokens": TOKENS}


def script(*replies):
    body = json.dumps({"replies": replies}).encode()
    request = urllib.request.Request(
        f"{URL}/script", body, {"Content-Type": "application/json"}
    )
    urllib.request.urlopen(request, timeout=10).read()


def trace_of(session):
    """The one trace of a session. Exporters that flush in the background get a few seconds."""
    path = "/api/public/traces?sessionId=" + urllib.parse.quote(session, safe="")
    for _ in range(50):
        found = readback.get(path)["data"]
        if found:
            break
        time.sleep(0.1)
    readback.equal("traces of the session", len(found), 1)
    return readback.get_trace(found[0]["id"])


def steps(trace, kind):
    rows = [row for row in trace["observations"] if row["type"] == kind]
    return sorted(rows, key=lambda row: row["startTime"])


def texts(value):
    """All there is to read in an input or an output."""
    return json.dumps(value, ensure_ascii=False)


def contains(what, value, text):
    if text not in texts(value):
        raise SystemExit(f"{what}: expected {text!r} in {texts(value)}")


def check_model_call(step, asked, answered, has_cache=True):
    """Checks one answer of the script: 800 fresh tokens in, 200 from a cache, 100 out."""
    readback.equal("model", step["model"], MODEL)
    fresh = 800 if has_cache else 1000
    usage = step["usageDetails"]
    readback.equal("fresh tokens", usage["input"], fresh)
    readback.equal("cached tokens", usage.get("input_cached_tokens", 0), 1000 - fresh)
    readback.equal("tokens out", usage["output"], 100)
    readback.equal("tokens in all", usage["total"], 1100)
    # Dollars per million: 2.50 fresh, 1.25 cached, 10 out.
    cost = (fresh * 2.5 + (1000 - fresh) * 1.25 + 100 * 10) / 1e6
    readback.equal("cost", round(step["costDetails"]["total"], 9), round(cost, 9))
    contains("input", step["input"], asked)
    contains("output", step["output"], answered)


def check_trace(trace, session, tags=readback.TAGS):
    readback.equal("session", trace["sessionId"], session)
    readback.equal("user", trace["userId"], readback.USER)
    readback.equal("tags", trace["tags"], tags)
    return check_rooted(trace)


def check_rooted(trace):
    """Every step but one has a parent, and its parent is there."""
    by_id = {row["id"]: row for row in trace["observations"]}
    roots = [row for row in trace["observations"] if row["parentObservationId"] not in by_id]
    readback.equal("roots", [row["parentObservationId"] for row in roots], [None])
    return by_id


def inside(by_id, step, outer):
    """Whether a step is somewhere inside another."""
    while step is not None:
        if step["id"] == outer["id"]:
            return True
        step = by_id.get(step["parentObservationId"])
    return False
