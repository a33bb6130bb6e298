"""Reads with one SDK the trace that every SDK has recorded before."""

import importlib.metadata
import json
import sys

import readback

from langfuse import Langfuse

MAJOR = int(importlib.metadata.version("langfuse").split(".")[0])
# How many SDKs have recorded one.
WRITERS = int(sys.argv[1])

keys = {"public_key": readback.PUBLIC_KEY, "secret_key": readback.SECRET_KEY}
langfuse = Langfuse(**keys, **{"host" if MAJOR < 4 else "base_url": readback.URL})
api = langfuse.client if MAJOR == 2 else langfuse.api


def whole_traces():
    """Every trip, by the names of the API, read through the models of this SDK."""
    listed = api.trace.list(name="trip", tags=readback.TAGS, limit=100).data
    return [json.loads(api.trace.get(row.id).json()) for row in listed]


def check_whole(trace):
    tool = next(row for row in trace["observations"] if row["name"] == "search")
    readback.check_trace(trace, trace["sessionId"], has_tool_type=tool["type"] == "TOOL")


def check_observations():
    """Version 5 reads observations only; each says which trace it is of."""
    conditions = [
        {"type": "string", "column": "traceName", "operator": "=", "value": "trip"},
        {"type": "arrayOptions", "column": "tags", "operator": "all of", "value": readback.TAGS},
    ]
    fields = "core,basic,io,model,usage,trace_context"
    found = api.observations.get_many(filter=json.dumps(conditions), fields=fields, limit=1000).data
    by_name = {}
    for row in found:
        readback.equal("user", row.user_id, readback.USER)
        readback.equal("tags", row.tags, readback.TAGS)
        by_name.setdefault(row.name, []).append(row)
    for name in ["plan-trip", "ask-model", "search", "broken"]:
        readback.equal(f"steps called {name}", len(by_name[name]), WRITERS)
    roots = {row.trace_id: row.id for row in by_name["plan-trip"]}
    for row in by_name["ask-model"]:
        readback.equal("parent", row.parent_observation_id, roots[row.trace_id])
        readback.equal("input", json.loads(row.input), readback.QUESTION)
        readback.equal("output", row.output.strip('"'), readback.ANSWER)
        readback.equal("usage", row.usage_details, {**readback.USAGE, "total": 1100})
        readback.equal("cost is known", row.total_cost > 0, True)


if MAJOR < 5:
    traces = whole_traces()
    readback.equal("trips", len(traces), WRITERS)
    for trace in traces:
        check_whole(trace)
else:
    check_observations()
langfuse.shutdown()
print(f"langfuse {MAJOR}: read {WRITERS} trips")
