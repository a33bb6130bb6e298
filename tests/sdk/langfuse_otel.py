"""Records one trace with versions 3, 4 and 5 of the Langfuse SDK, which send OpenTelemetry."""

import importlib.metadata
import os
import uuid

import readback

os.environ["LANGFUSE_TRACING_ENVIRONMENT"] = "staging"
os.environ["LANGFUSE_RELEASE"] = "r1"

from langfuse import Langfuse, propagate_attributes

arguments = {"public_key": readback.PUBLIC_KEY, "secret_key": readback.SECRET_KEY}
major = int(importlib.metadata.version("langfuse").split(".")[0])
langfuse = Langfuse(**arguments, **{"host" if major < 4 else "base_url": readback.URL})
readback.equal("auth_check", langfuse.auth_check(), True)

session = f"session/{uuid.uuid4()}"
# A number and a text of the same form, each of which must come back as it was.
TYPED = {"attempt": 1, "cached": True, "ratio": 0.5, "zip": "10115", "deep": {"list": [1]}}
with propagate_attributes(
    trace_name="trip",
    user_id=readback.USER,
    session_id=session,
    tags=readback.TAGS,
    metadata={"tenant": "acme"},
):
    with langfuse.start_as_current_observation(
        as_type="agent",
        name="plan-trip",
        input={"city": "?"},
        metadata={"experiment_name": "march"},
    ) as root:
        with langfuse.start_as_current_observation(
            as_type="generation",
            name="ask-model",
            model=readback.MODEL,
            model_parameters={"temperature": 0.2},
            input=readback.QUESTION,
            metadata=TYPED,
        ) as generation:
            generation.update(output=readback.ANSWER, usage_details=readback.USAGE)
        with langfuse.start_as_current_observation(
            as_type="tool", name="search", input={"query": "flights"}
        ) as tool:
            tool.update(output=["LIS", "OPO"])
        with langfuse.start_as_current_observation(as_type="span", name="broken") as broken:
            broken.update(level="ERROR", status_message="no seats left")
        root.update(output={"done": True})
        root.score_trace(name="quality", value=0.75, comment="fine")
        generation.score(name="thumbs_feedback", value=1, data_type="BOOLEAN")
        generation.score(name="tone", value="warm", data_type="CATEGORICAL")
langfuse.create_score(session_id=session, name="session_quality", value=0.5)
url = langfuse.get_trace_url(trace_id=root.trace_id)
langfuse.flush()

readback.equal("link", url.startswith(f"{readback.URL}/project/"), True)
found = readback.get_trace(root.trace_id)
readback.check_trace(found, session, has_tool_type=True)
by_name = {row["name"]: row for row in found["observations"]}
readback.equal("agent type", by_name["plan-trip"]["type"], "AGENT")
readback.equal("trace input", found["input"], {"city": "?"})
readback.equal("trace output", found["output"], {"done": True})
kept = by_name["ask-model"]["metadata"]
readback.equal("metadata of a step", {key: kept.get(key) for key in TYPED}, TYPED)
readback.equal("metadata of the root", found["metadata"].get("experiment_name"), "march")
readback.check_scores(
    found,
    {
        "quality": ("NUMERIC", 0.75, "fine", None),
        "thumbs_feedback": ("BOOLEAN", 1, None, generation.id),
        "tone": ("CATEGORICAL", 0, None, generation.id),
    },
)

# Version 5 has no readers for whole traces any more.
if major < 5:
    full = langfuse.api.trace.get(root.trace_id)
    readback.equal("observations by the SDK", len(full.observations), 4)
    listed = langfuse.api.trace.list(session_id=session, tags=readback.TAGS, limit=10)
    readback.equal("traces by the SDK", [row.id for row in listed.data], [root.trace_id])
    one = langfuse.api.sessions.get(session)
    readback.equal("session by the SDK", [row.id for row in one.traces], [root.trace_id])
langfuse.shutdown()
print(f"langfuse {major}: ok")
