"""Records one trace with an agent of Pydantic AI."""

import uuid

import readback
import scripted

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = TracerProvider()
exporter = OTLPSpanExporter(endpoint=scripted.OTLP, headers=scripted.HEADERS)
provider.add_span_processor(SimpleSpanProcessor(exporter))
model = OpenAIChatModel(
    scripted.MODEL, provider=OpenAIProvider(base_url=f"{scripted.URL}/v1", api_key="none")
)
Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
agent = Agent(
    model,
    name="traveller",
    instructions="You know where to go.",
    model_settings={"temperature": 0.2},
)


@agent.tool_plain
def get_weather(city: str) -> str:
    return scripted.WEATHER


scripted.script(scripted.CALL, scripted.REPLY)
session = f"session/{uuid.uuid4()}"
tracer = provider.get_tracer("travel")
with tracer.start_as_current_span("trip") as root:
    root.set_attribute("session.id", session)
    root.set_attribute("user.id", readback.USER)
    root.set_attribute("langfuse.trace.tags", readback.TAGS)
    result = agent.run_sync(scripted.QUESTION)
readback.equal("answer", result.output, scripted.ANSWER)
provider.shutdown()

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
scripted.contains("instructions", calls[0]["input"], "You know where to go.")
readback.equal("temperature", calls[0]["modelParameters"]["temperature"], 0.2)
[tool] = scripted.steps(trace, "TOOL")
readback.equal("tool", tool["name"], "get_weather")
readback.equal("tool input", tool["input"], scripted.CITY)
readback.equal("tool output", tool["output"], scripted.WEATHER)
for step in [*calls, tool]:
    readback.equal("inside the agent", scripted.inside(by_id, step, run), True)
readback.equal("cost of all", round(trace["totalCost"], 9), round(2 * 0.00325, 9))
print("pydantic-ai: ok")
