"""Records runs of openai-agents through OpenInference's instrumentation and the Langfuse SDK."""

import asyncio

import readback
import recorded
import scripted

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool, trace
from langfuse import get_client, propagate_attributes
from openai import AsyncOpenAI
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from recorded import CALL, FAILURE, REPLY

OpenAIAgentsInstrumentor().instrument()
langfuse = get_client()
chat = OpenAIChatCompletionsModel(model=scripted.MODEL, openai_client=AsyncOpenAI(max_retries=0))
settings = ModelSettings(temperature=0.2)


@function_tool
def get_weather(city: str) -> str:
    """Tells the weather."""
    return scripted.WEATHER


@function_tool(failure_error_function=None)
def book(city: str) -> str:
    """Books a flight."""
    raise ValueError("no seats left")


def call_of(name, arguments):
    return {**CALL, "calls": [{"id": "call_1", "name": name, "input": arguments}]}


async def run(agent, is_streamed):
    if not is_streamed:
        return (await Runner.run(agent, scripted.QUESTION)).final_output
    result = Runner.run_streamed(agent, scripted.QUESTION)
    async for _ in result.stream_events():
        pass
    return result.final_output


def record(name, observations, agent, is_streamed=False, fails=False):
    session = recorded.new_session()

    async def go():
        about = {"session_id": session, "user_id": readback.USER, "tags": readback.TAGS}
        with propagate_attributes(**about, metadata={"attempt": 1}), trace(name):
            return await run(agent, is_streamed)

    try:
        readback.equal("answer", asyncio.run(go()), scripted.ANSWER)
    except Exception as error:
        scripted.contains("error", str(error), "no seats left")
        readback.equal("fails", fails, True)
    langfuse.flush()
    found = recorded.whole_trace(session, observations)
    scripted.check_rooted(found)
    recorded.check_persons(found, session)
    readback.equal("name", found["name"], name)
    readback.equal("metadata of the trace", found["metadata"], {"attempt": 1})
    recorded.check_by_sdk(langfuse, found)
    return found


def check_tree(found, agents):
    """The run is an agent, and so is each agent in it; turns are chains."""
    names = [row["name"] for row in scripted.steps(found, "AGENT")]
    readback.equal("agents", names, [found["name"], *agents])
    by_id = {row["id"]: row for row in found["observations"]}
    for row in [*scripted.steps(found, "GENERATION"), *scripted.steps(found, "TOOL")]:
        readback.equal("parent", by_id[row["parentObservationId"]]["name"], "turn")


def check_weather(found):
    check_tree(found, ["traveller"])
    [weather] = scripted.steps(found, "TOOL")
    readback.equal("tool", weather["name"], "get_weather")
    readback.equal("tool's input", weather["input"], scripted.CITY)
    readback.equal("tool's output", weather["output"], scripted.WEATHER)
    asked, answered = scripted.steps(found, "GENERATION")
    scripted.contains("question", asked["input"], scripted.QUESTION)
    scripted.contains("tool call", asked["output"], "get_weather")
    scripted.contains("tool's answer", answered["input"], scripted.WEATHER)
    scripted.contains("answer", answered["output"], scripted.ANSWER)
    readback.equal("temperature", asked["modelParameters"]["temperature"], 0.2)
    return [asked, answered]


# OpenAI's responses, which the library uses by default.
traveller = {"name": "traveller", "instructions": "Be brief.", "tools": [get_weather]}
scripted.script(CALL, REPLY)
found = record("responses", 8, Agent(**traveller, model=scripted.MODEL, model_settings=settings))
for call in check_weather(found):
    recorded.check_usage(call)
readback.equal("cost of all", round(found["totalCost"], 9), 2 * recorded.COST)

# Chat completions; the instrumentation does not tell how many tokens were cached.
scripted.script(CALL, REPLY)
found = record("chat", 8, Agent(**traveller, model=chat, model_settings=settings))
for call in check_weather(found):
    usage = {"input": 1000, "output": 100, "total": 1100}
    readback.equal("usage", call["usageDetails"], usage)

scripted.script(REPLY)
found = record("stream", 5, Agent(name="traveller", model=scripted.MODEL), is_streamed=True)
recorded.check_usage(recorded.named(found, "response"))

scripted.script(FAILURE)
found = record("failing", 5, Agent(name="traveller", model=chat), fails=True)
recorded.check_failure(recorded.named(found, "generation"))
recorded.check_failure(recorded.named(found, "traveller"))

scripted.script(call_of("book", scripted.CITY))
found = record("no-seats", 6, Agent(name="traveller", model=chat, tools=[book]), fails=True)
recorded.check_failure(recorded.named(found, "book"))

scripted.script(call_of("transfer_to_helper", {}), REPLY)
helper = Agent(name="helper", model=chat)
found = record("handoff", 9, Agent(name="triage", model=chat, handoffs=[helper]))
check_tree(found, ["triage", "helper"])
readback.equal("handoff", scripted.steps(found, "TOOL")[0]["output"], "helper")
print("openai-agents: ok")
