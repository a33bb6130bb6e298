"""What the Python scripts share: where the server is, and what must be there afterwards."""

import base64
import json
import os
import urllib.parse
import urllib.request

URL = os.environ["RATCHET_URL"].rstrip("/")
PUBLIC_KEY = os.environ["RATCHET_PUBLIC_KEY"]
SECRET_KEY = os.environ["RATCHET_SECRET_KEY"]

USER = "user-7"
TAGS = ["alpha", "beta"]
MODEL = "gpt-4o"
USAGE = {"input": 800, "input_cached_tokens": 200, "output": 100}
QUESTION = [{"role": "user", "content": "Where to, in März?"}]
ANSWER = "Lisbon"


def authorization():
    pair = f"{PUBLIC_KEY}:{SECRET_KEY}".encode()
    return "Basic " + base64.b64encode(pair).decode()


def get(path):
    request = urllib.request.Request(URL + path, headers={"Authorization": authorization()})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def send(method, path, body=None):
    headers = {"Authorization": authorization(), "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, method=method, data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def get_trace(trace_id):
    return get("/api/public/traces/" + urllib.parse.quote(trace_id, safe=""))


def equal(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: expected {expected!r}, found {found!r}")


def check_trace(trace, session, has_tool_type):
    """Checks the one trace that every script records."""
    equal("trace name", trace["name"], "trip")
    equal("user", trace["userId"], USER)
    equal("session", trace["sessionId"], session)
    equal("tags", trace["tags"], TAGS)
    equal("environment", trace["environment"], "staging")
    equal("trace metadata", trace["metadata"]["tenant"], "acme")
    by_name = {row["name"]: row for row in trace["observations"]}
    equal("observations", sorted(by_name), ["ask-model", "broken", "plan-trip", "search"])
    check_generation(by_name["ask-model"], by_name["plan-trip"])
    equal("tool type", by_name["search"]["type"], "TOOL" if has_tool_type else "SPAN")
    equal("tool input", by_name["search"]["input"], {"query": "flights"})
    equal("tool output", by_name["search"]["output"], ["LIS", "OPO"])
    equal("tool parent", by_name["search"]["parentObservationId"], by_name["plan-trip"]["id"])
    equal("error level", by_name["broken"]["level"], "ERROR")
    equal("error message", by_name["broken"]["statusMessage"], "no seats left")
    equal("cost is the generation's", trace["totalCost"], by_name["ask-model"]["costDetails"]["total"])
    equal("latency is there", trace["latency"] is not None and trace["latency"] >= 0, True)


def check_generation(generation, root):
    equal("generation type", generation["type"], "GENERATION")
    equal("generation parent", generation["parentObservationId"], root["id"])
    equal("model", generation["model"], MODEL)
    equal("input", generation["input"], QUESTION)
    equal("output", generation["output"], ANSWER)
    # Version 2 turns numbers into texts before it sends them.
    equal("temperature", float(generation["modelParameters"]["temperature"]), 0.2)
    equal("usage", generation["usageDetails"], {**USAGE, "total": 1100})
    equal("cost is known", generation["costDetails"]["total"] > 0, True)


def check_scores(trace, expected):
    """Checks scores by name: value, text, comment, and which observation they are on."""
    found = {
        score["name"]: (score["dataType"], score.get("value"), score["comment"], score["observationId"])
        for score in trace["scores"]
    }
    equal("scores", found, expected)
