"""Observations v2, metrics and deletes with each Langfuse SDK, on runs told in two eras' words."""

import datetime
import importlib.metadata
import json
import urllib.request
import uuid

import readback

from langfuse import Langfuse

major = int(importlib.metadata.version("langfuse").split(".")[0])
keys = {"public_key": readback.PUBLIC_KEY, "secret_key": readback.SECRET_KEY}
langfuse = Langfuse(**keys, **{"host" if major < 4 else "base_url": readback.URL})
# Version 2 keeps its generated client under another name.
api = langfuse.client if major == 2 else langfuse.api

mark = uuid.uuid4().hex
now = datetime.datetime.now(datetime.timezone.utc)
hour_ago = now - datetime.timedelta(hours=1)
soon = now + datetime.timedelta(hours=1)


def moment(seconds):
    return (now + datetime.timedelta(seconds=seconds)).isoformat()


def step(number, second):
    """One trace with one model call of a second, as version 2 would send it."""
    trace, call = f"{mark}-{number}", f"{mark}-call-{number}"
    about = {"id": trace, "name": "figures", "userId": f"user-{mark}", "tags": [mark]}
    told = {
        "id": call, "traceId": trace, "name": f"ask-{mark}", "model": "gpt-4o",
        "startTime": moment(second), "endTime": moment(second + 1), "input": {"number": number},
        "output": "Lisbon", "usageDetails": {"input": 8, "output": 2},
        "costDetails": {"input": 0.25}, "metadata": {"long": "x" * 300, "n": number},
    }
    kinds = [("trace-create", about), ("generation-create", told)]
    return [
        {"id": f"{mark}-{kind}-{number}", "timestamp": moment(0), "type": kind, "body": body}
        for kind, body in kinds
    ]


def record():
    batch = [event for number in range(3) for event in step(number, -60 * number)]
    request = urllib.request.Request(
        readback.URL + "/api/public/ingestion",
        data=json.dumps({"batch": batch}).encode(),
        headers={"Authorization": readback.authorization(), "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        readback.equal("events refused", json.load(answer)["errors"], [])


def question(view, **more):
    asked = {
        "view": view,
        "dimensions": [{"field": "name"}],
        "metrics": [
            {"measure": "count", "aggregation": "count"},
            {"measure": "totalCost", "aggregation": "sum"},
            {"measure": "latency", "aggregation": "p95"},
        ],
        "filters": [{"column": "tags", "operator": "any of", "value": [mark], "type": "arrayOptions"}],
        "fromTimestamp": hour_ago.isoformat(),
        "toTimestamp": soon.isoformat(),
        **more,
    }
    return json.dumps(asked)


def rows(page):
    """Rows by the names of the API; version 3 reads them as plain dictionaries."""
    return [row if isinstance(row, dict) else row.dict(by_alias=True) for row in page.data]


def check_observations(reader):
    """Observations a group of fields at a time, behind a cursor."""
    ids, cursor = [], None
    while True:
        page = reader.get_many(
            name=f"ask-{mark}", fields="core,io,metadata,model,usage,trace_context,metrics", limit=2, cursor=cursor
        )
        ids.extend(row["id"] for row in rows(page))
        cursor = page.meta.cursor
        if cursor is None:
            break
    readback.equal("observations by cursor", ids, [f"{mark}-call-{number}" for number in range(3)])
    row = rows(page)[0]
    readback.equal("input is a text", row["input"], '{"number": 2}')
    readback.equal("output is a text", row["output"], "Lisbon")
    readback.equal("long metadata is cut", row["metadata"]["long"], "x" * 200)
    readback.equal("tags of the trace", row["tags"], [mark])
    readback.equal("cost", row["totalCost"], 0.25)
    readback.equal("latency", row["latency"], 1.0)
    readback.equal("level was not asked for", row.get("level"), None)
    condition = {"type": "string", "column": "traceId", "operator": "=", "value": f"{mark}-1"}
    found = reader.get_many(filter=json.dumps([condition]), from_start_time=hour_ago)
    readback.equal("observations by filter", [row["id"] for row in rows(found)], [f"{mark}-call-1"])
    readback.equal("a root by nature", rows(found)[0]["isRootObservation"], True)


def check_metrics(data, name):
    readback.equal("rows", len(data), 1)
    row = data[0]
    readback.equal("group", row["name"], name)
    readback.equal("count", int(row["count_count"]), 3)
    readback.equal("cost", row["sum_totalCost"], 0.75)
    readback.equal("latency in milliseconds", row["p95_latency"], 1000.0)


record()
if major == 2:
    days = api.metrics.daily(user_id=f"user-{mark}", trace_name="figures", tags=[mark])
    readback.equal("observations by day", sum(day.count_observations for day in days.data), 3)
    readback.equal("cost by day", sum(day.total_cost for day in days.data), 0.75)
    readback.equal("model", days.data[0].usage[0].model, "gpt-4o")
if major == 3:
    check_observations(api.observations_v_2)
    check_metrics(api.metrics.metrics(query=question("traces")).data, "figures")
    check_metrics(api.metrics_v_2.metrics(query=question("observations")).data, f"ask-{mark}")
if major == 4:
    check_metrics(api.legacy.metrics_v1.metrics(query=question("traces")).data, "figures")
if major >= 4:
    check_observations(api.observations)
    answer = api.metrics.metrics(query=question("observations"))
    check_metrics(answer.data, f"ask-{mark}")
    readback.equal("tags are not kept in sums", answer.meta["source"], "scan")

api.trace.delete(f"{mark}-0")
api.trace.delete_multiple(trace_ids=[f"{mark}-1", f"{mark}-2"])
left = readback.get(f"/api/public/traces?tags={mark}")["data"]
readback.equal("traces after deleting", left, [])
left = readback.get(f"/api/public/observations?name=ask-{mark}")["data"]
readback.equal("observations after deleting", left, [])
langfuse.shutdown()
print(f"figures with langfuse {major}: ok")
