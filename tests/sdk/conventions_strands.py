"""Records one trace with an agent of Strands."""

import os
import uuid

import readback
import scripted

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = scripted.OTLP
os.environ["OTEL_EXPORTER_OTLP_HEADERS"] = f"Authorization={readback.authorization()}"

from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.telemetry import StrandsTelemetry

telemetry = StrandsTelemetry().setup_otlp_exporter()


@tool
def get_weather(city: str) -> str:
    """Tells the weather of a city."""
    return scripted.WEATHER


scripted.script(scripted.CALL, scripted.REPLY)
session = f"session/{uuid.uuid4()}"
agent = Agent(
    name="traveller",
    model=OpenAIModel(
        client_args={"base_url": f"{scripted.URL}/v1", "api_key": "none"},
        model_id=scripted.MODEL,
        params={"temperature": 0.2},
    ),
    system_prompt="You know where to go.",
    tools=[get_weather],
    callback_handler=None,
    trace_attributes={
        "session.id": session,
        "user.id": readback.USER,
        "langfuse.trace.tags": readback.TAGS,
    },
)
readback.equal("answer", str(agent(scripted.QUESTION)).strip(), scripted.ANSWER)
telemetry.tracer_provider.force_flush()

trace = scripted.trace_of(session)
by_id = scripted.check_trace(trace, session)
[run] = scripted.steps(trace, "AGENT")
scripted.contains("agent input", run["input"], scripted.QUESTION)
scripted.contains("agent output", run["output"], scripted.ANSWER)
readback.equal("an agent sums up", run["usageDetails"], {})
calls = scripted.steps(trace, "GENERATION")
readback.equal("model calls", len(calls), 2)
scripted.check_model_call(calls[0], scripted.QUESTION, "get_weather")
scripted.check_model_call(calls[1], scripted.WEATHER, scripted.ANSWER)
[called] = scripted.steps(trace, "TOOL")
readback.equal("tool", called["name"], "get_weather")
scripted.contains("tool input", called["input"], "Lisbon")
scripted.contains("tool output", called["output"], scripted.WEATHER)
for step in [*calls, called]:
    readback.equal("inside the agent", scripted.inside(by_id, step, run), True)
readback.equal("cost of all", round(trace["totalCost"], 9), round(2 * 0.00325, 9))
print("strands: ok")
