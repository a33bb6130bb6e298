"""Records one trace with Traceloop's SDK, which instruments the OpenAI client."""

import json
import os
import uuid

import readback
import scripted

os.environ["TRACELOOP_TELEMETRY"] = "false"

from openai import OpenAI
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool, workflow

Traceloop.init(
    app_name="traveller",
    disable_batch=True,
    exporter=OTLPSpanExporter(endpoint=scripted.OTLP, headers=scripted.HEADERS),
)
client = OpenAI(base_url=f"{scripted.URL}/v1", api_key="none")
scripted.script(scripted.CALL, scripted.REPLY)


@tool(name="get_weather")
def get_weather(city: str) -> str:
    return scripted.WEATHER


@agent(name="traveller")
def travel(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    ask = lambda: client.chat.completions.create(
        model=scripted.MODEL, messages=messages, temperature=0.2
    ).choices[0].message
    call = ask().tool_calls[0]
    messages += [
        {"role": "assistant", "tool_calls": [call.model_dump()]},
        {
            "role": "tool",
            "tool_call_id": call.id,
            "content": get_weather(**json.loads(call.function.arguments)),
        },
    ]
    return ask().content


@workflow(name="trip")
def trip(question: str) -> str:
    return travel(question)


session = f"session/{uuid.uuid4()}"
Traceloop.set_association_properties(
    {"session_id": session, "user_id": readback.USER, "tags": ",".join(readback.TAGS)}
)
readback.equal("answer", trip(scripted.QUESTION), scripted.ANSWER)

trace = scripted.trace_of(session)
by_id = scripted.check_trace(trace, session)
[chain] = scripted.steps(trace, "CHAIN")
[run] = scripted.steps(trace, "AGENT")
readback.equal("agent in workflow", run["parentObservationId"], chain["id"])
scripted.contains("agent input", run["input"], scripted.QUESTION)
scripted.contains("agent output", run["output"], scripted.ANSWER)
calls = scripted.steps(trace, "GENERATION")
readback.equal("model calls", len(calls), 2)
scripted.check_model_call(calls[0], scripted.QUESTION, "get_weather")
scripted.check_model_call(calls[1], scripted.WEATHER, scripted.ANSWER)
readback.equal("temperature", calls[0]["modelParameters"]["temperature"], 0.2)
[called] = scripted.steps(trace, "TOOL")
scripted.contains("tool input", called["input"], "Lisbon")
scripted.contains("tool output", called["output"], scripted.WEATHER)
for step in [*calls, called]:
    readback.equal("parent", step["parentObservationId"], run["id"])
readback.equal("cost of all", round(trace["totalCost"], 9), round(2 * 0.00325, 9))
print("traceloop: ok")
