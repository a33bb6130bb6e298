"""Records one trace with version 2 of the Langfuse SDK, which sends batches of events."""

import datetime
import uuid

import readback

from langfuse import Langfuse
from langfuse.api.client import FernLangfuse

langfuse = Langfuse(
    host=readback.URL,
    public_key=readback.PUBLIC_KEY,
    secret_key=readback.SECRET_KEY,
    environment="staging",
    release="r1",
)
readback.equal("auth_check", langfuse.auth_check(), True)

session = f"session/{uuid.uuid4()}"
trace = langfuse.trace(
    name="trip", user_id=readback.USER, session_id=session, tags=["beta"], metadata={"tenant": "acme"}
)
root = trace.span(name="plan-trip", input={"city": "?"})
generation = root.generation(
    name="ask-model",
    model=readback.MODEL,
    model_parameters={"temperature": 0.2},
    input=readback.QUESTION,
)
generation.end(
    output=readback.ANSWER,
    usage_details={
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "total_tokens": 1100,
        "prompt_tokens_details": {"cached_tokens": 200},
    },
)
root.span(name="search", input={"query": "flights"}).end(output=["LIS", "OPO"])
root.span(name="broken").end(level="ERROR", status_message="no seats left")
root.end(output={"done": True})
trace.update(tags=["alpha"], output={"done": True})
trace.score(name="quality", value=0.75, comment="fine")
generation.score(name="thumbs_feedback", value=1, data_type="BOOLEAN")
langfuse.flush()

found = readback.get_trace(trace.id)
readback.check_trace(found, session, has_tool_type=False)
readback.equal("trace output", found["output"], {"done": True})
readback.equal("release", found["release"], "r1")
readback.check_scores(
    found,
    {
        "quality": ("NUMERIC", 0.75, "fine", None),
        "thumbs_feedback": ("BOOLEAN", 1, None, generation.id),
    },
)

full = langfuse.fetch_trace(trace.id).data
readback.equal("observations by the SDK", len(full.observations), 4)
readback.equal("time by the SDK", isinstance(full.timestamp, datetime.datetime), True)
listed = langfuse.fetch_traces(session_id=session, tags=readback.TAGS).data
readback.equal("traces by the SDK", [row.id for row in listed], [trace.id])
readback.equal("sessions by the SDK", session in [s.id for s in langfuse.fetch_sessions().data], True)
steps = langfuse.fetch_observations(trace_id=trace.id, type="GENERATION").data
readback.equal("observations by the SDK", [row.id for row in steps], [generation.id])

# A trace of which nothing is known but its name: this SDK cannot read a null cost or latency.
bare = langfuse.trace(name="bare")
langfuse.flush()
readback.equal("cost of a bare trace", langfuse.fetch_trace(bare.id).data.total_cost, 0)
# Its generated client, alone, says nothing of itself but its language.
alone = FernLangfuse(base_url=readback.URL, username=readback.PUBLIC_KEY, password=readback.SECRET_KEY)
readback.equal("cost by the generated client", alone.trace.get(bare.id).total_cost, 0)
readback.equal("latency in its list", alone.trace.list(name="bare", limit=1).data[0].latency, 0)
print("langfuse 2: ok")
