"""Records one trace with OpenInference's instrumentation of the OpenAI client."""

import json
import uuid

import readback
import scripted

from openai import OpenAI
from openinference.instrumentation import TracerProvider, using_attributes
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
exporter = OTLPSpanExporter(endpoint=scripted.OTLP, headers=scripted.HEADERS)
provider.add_span_processor(SimpleSpanProcessor(exporter))
OpenAIInstrumentor().instrument(tracer_provider=provider)
tracer = provider.get_tracer("travel")
client = OpenAI(base_url=f"{scripted.URL}/v1", api_key="none")
scripted.script(scripted.CALL, scripted.REPLY)


@tracer.tool
def get_weather(city: str) -> str:
    return scripted.WEATHER


@tracer.agent(name="traveller")
def travel(question: str) -> str:
    tool = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    messages = [{"role": "user", "content": question}]
    ask = lambda: client.chat.completions.create(
        model=scripted.MODEL, messages=messages, tools=[tool], temperature=0.2
    ).choices[0].message
    said = ask()
    call = said.tool_calls[0]
    messages += [
        {
            "role": "assistant",
            "tool_calls": [call.model_dump()],
        },
        {
            "role": "tool",
            "tool_call_id": call.id,
            "content": get_weather(**json.loads(call.function.arguments)),
        },
    ]
    return ask().content


session = f"session/{uuid.uuid4()}"
with using_attributes(
    session_id=session, user_id=readback.USER, tags=readback.TAGS, metadata={"tenant": "acme"}
):
    readback.equal("answer", travel(scripted.QUESTION), scripted.ANSWER)
provider.shutdown()

trace = scripted.trace_of(session)
by_id = scripted.check_trace(trace, session)
[agent] = scripted.steps(trace, "AGENT")
readback.equal("agent", agent["name"], "traveller")
scripted.contains("agent input", agent["input"], scripted.QUESTION)
scripted.contains("agent output", agent["output"], scripted.ANSWER)
calls = scripted.steps(trace, "GENERATION")
readback.equal("model calls", len(calls), 2)
scripted.check_model_call(calls[0], scripted.QUESTION, "get_weather")
scripted.check_model_call(calls[1], scripted.WEATHER, scripted.ANSWER)
readback.equal("temperature", calls[0]["modelParameters"]["temperature"], 0.2)
[tool] = scripted.steps(trace, "TOOL")
readback.equal("tool", tool["name"], "get_weather")
readback.equal("tool input", tool["input"], scripted.CITY)
readback.equal("tool output", tool["output"], scripted.WEATHER)
for step in [*calls, tool]:
    readback.equal("parent", step["parentObservationId"], agent["id"])
readback.equal("tenant", calls[0]["metadata"]["tenant"], "acme")
readback.equal("cost of all", round(trace["totalCost"], 9), round(2 * 0.00325, 9))
print("openinference: ok")
