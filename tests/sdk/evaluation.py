"""Batch evaluation: the SDK reads what was recorded, judges it, and records scores.

What it judges was told in the words of version 2; what it recorded is read over plain HTTP."""

import importlib.metadata
import json
import uuid

import readback

from langfuse import Evaluation, Langfuse
from langfuse.batch_evaluation import EvaluatorInputs

MAJOR = int(importlib.metadata.version("langfuse").split(".")[0])
MARK = uuid.uuid4().hex
RUNS = 5

keys = {"public_key": readback.PUBLIC_KEY, "secret_key": readback.SECRET_KEY}
langfuse = Langfuse(**keys, **{"host" if MAJOR < 4 else "base_url": readback.URL})


def moment(number):
    return f"2026-02-03T04:05:{10 + number}Z"


def told(kind, body, number):
    return {"id": f"{kind}-{body['id']}", "timestamp": moment(number), "type": kind, "body": body}


def run(number):
    about = {"id": f"{MARK}-{number}", "name": "answer", "tags": [MARK], "timestamp": moment(number)}
    about |= {"input": {"n": number}, "output": "x" * number}
    call = {"id": f"{MARK}-call-{number}", "traceId": about["id"], "name": f"ask-{MARK}"}
    call |= {"startTime": moment(number), "input": {"n": number}, "output": "x" * number}
    return [told("trace-create", about, number), told("generation-create", call, number)]


def record():
    batch = [event for number in range(RUNS) for event in run(number)]
    answer = readback.send("POST", "/api/public/ingestion", {"batch": batch})
    readback.equal("events refused", answer["errors"], [])


def mapper(*, item):
    return EvaluatorInputs(input=item.input, output=item.output or "", metadata={"id": item.id})


def length(*, output, **rest):
    return Evaluation(name="length", value=len(output), comment="counted", metadata={"unit": "x"})


def is_short(*, output, **rest):
    """Cannot judge an empty answer, which must not stop the others."""
    if not output:
        raise ValueError("nothing to judge")
    return Evaluation(name="short", value=len(output) < 3, data_type="BOOLEAN")


def verdict(*, evaluations, **rest):
    said = "long" if any(one.name == "length" and one.value > 2 for one in evaluations) else "short"
    return Evaluation(name="verdict", value=said, data_type="CATEGORICAL")


def evaluate(**more):
    return langfuse.run_batched_evaluation(
        mapper=mapper, evaluators=[length, is_short], composite_evaluator=verdict,
        fetch_batch_size=2, metadata={"by": str(MAJOR)}, **more,
    )


def scores_of(number):
    """The scores of a run over plain HTTP: what they are on, and what they say."""
    page = readback.get(f"/api/public/v2/scores?traceId={MARK}-{number}&limit=100")
    found = []
    for score in page["data"]:
        readback.equal("metadata", score["metadata"]["by"], str(MAJOR))
        value = score["stringValue"] if score["dataType"] == "CATEGORICAL" else score["value"]
        found.append((score["observationId"], score["name"], score["dataType"], value))
    return sorted(found, key=str)


def expected(number, on):
    scores = [(on, "length", "NUMERIC", number)]
    scores.append((on, "verdict", "CATEGORICAL", "long" if number > 2 else "short"))
    if number > 0:
        scores.append((on, "short", "BOOLEAN", int(number < 3)))
    return scores


def check_counts(result, items):
    readback.equal("items", (result.total_items_fetched, result.total_items_processed), (items, items))
    readback.equal("completed", (result.completed, result.total_items_failed), (True, 0))


def condition(kind, column, operator, value):
    return json.dumps([{"type": kind, "column": column, "operator": operator, "value": value}])


record()
by_name = condition("string", "name", "=", f"ask-{MARK}")
by_tag = condition("arrayOptions", "tags", "any of", [MARK])
if MAJOR >= 5:
    # A part of them, and the rest where it stopped.
    first = evaluate(filter=by_name, max_items=3)
    check_counts(first, 3)
    readback.equal("more to come", (first.has_more_items, first.resume_token is not None), (True, True))
    rest = evaluate(filter=by_name, resume_from=first.resume_token)
    check_counts(rest, RUNS - 3)
    readback.equal("no more to come", (rest.has_more_items, rest.resume_token), (False, None))
    readback.equal("failed evaluations", first.total_evaluations_failed + rest.total_evaluations_failed, 1)
    for number in range(RUNS):
        on_call = sorted(expected(number, f"{MARK}-call-{number}"), key=str)
        readback.equal(f"scores of {number}", scores_of(number), on_call)
else:
    on_calls = evaluate(scope="observations", filter=by_name)
    on_traces = evaluate(scope="traces", filter=by_tag, fetch_trace_fields="io")
    for result in [on_calls, on_traces]:
        check_counts(result, RUNS)
        readback.equal("failed evaluations", result.total_evaluations_failed, 1)
        readback.equal("scores", result.total_scores_created, 2 * RUNS - 1)
        readback.equal("composite scores", result.total_composite_scores_created, RUNS)
    for number in range(RUNS):
        both = expected(number, f"{MARK}-call-{number}") + expected(number, None)
        readback.equal(f"scores of {number}", scores_of(number), sorted(both, key=str))
langfuse.shutdown()
print(f"langfuse {MAJOR}: batch evaluation ok")
