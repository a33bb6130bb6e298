"""Records calls of LiteLLM through its callback of the name given: `langfuse`, `langfuse_otel`."""

import os
import sys

import readback
import recorded
import scripted

# Prices as they came with the package, instead of those of the day.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LANGFUSE_OTEL_HOST"] = readback.URL

import litellm

from recorded import CALL, FAILURE, MAJOR, MESSAGES, REPLY

callback = sys.argv[1]
is_otel = callback == "langfuse_otel"
if is_otel:
    litellm.callbacks = [callback]
else:
    litellm.success_callback = litellm.failure_callback = [callback]
TOOL = {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}
GIVEN = {"tenant": "acme", "attempt": 1}


def record(name, observations, call):
    session = recorded.new_session()
    about = {
        "session_id": session,
        "trace_user_id": readback.USER,
        "tags": readback.TAGS,
        "trace_name": name,
        "generation_name": f"{name}-call",
        "trace_metadata": GIVEN,
        "version": "v1",
    }
    call(about)
    trace = recorded.whole_trace(session, observations)
    scripted.check_rooted(trace)
    recorded.check_persons(trace, session)
    readback.equal("name", trace["name"], name)
    readback.equal("version", trace["version"], "v1")
    kept = {key: trace["metadata"].get(key) for key in GIVEN}
    readback.equal("metadata of the trace", kept, GIVEN)
    [made] = [row for row in trace["observations"] if row["type"] == "GENERATION"]
    readback.equal("name of the call", made["name"], f"{name}-call")
    readback.equal("call is the root", made["parentObservationId"], None)
    return trace, made


def ask(**more):
    asked = {"model": scripted.MODEL, "messages": MESSAGES, "max_retries": 0, **more}
    return lambda about: litellm.completion(metadata=about, **asked)


def stream(about):
    chunks = ask(stream=True, stream_options={"include_usage": True})(about)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    readback.equal("streamed", said, scripted.ANSWER)


def fail(about):
    try:
        ask()(about)
        raise SystemExit("the model was to fail")
    except litellm.BadRequestError as error:
        scripted.contains("error", str(error), "no seats left")


def check_usage(call):
    """Each callback has its own way to tell tokens; the cost is LiteLLM's own."""
    if MAJOR == 2:
        usage = {"input": 1000, "output": 100, "total": 1100}
        readback.equal("usage", call["usageDetails"], usage)
        # Of a stream it does not always send one; without it all tokens are fresh ones.
        cost = round(call["costDetails"]["total"], 9)
        readback.equal(f"cost, {cost}", cost in (recorded.COST, 0.0035), True)
        return
    names = {} if is_otel else {"cached": "cache_read_input_tokens", "reasoning": None}
    recorded.check_usage(call, **names)
    readback.equal("cost", call["costDetails"], {"total": recorded.COST})


# The OpenTelemetry callback adds a span with the raw request.
spans = 2 if is_otel else 1
scripted.script(REPLY)
trace, call = record("plain", spans, ask(temperature=0.2))
check_usage(call)
readback.equal("temperature", float(call["modelParameters"]["temperature"]), 0.2)
scripted.contains("input", call["input"], scripted.QUESTION)
readback.equal("output", call["output"]["content"], scripted.ANSWER)
readback.equal("output of the trace", trace["output"]["content"], scripted.ANSWER)
readback.equal("cost of all", trace["totalCost"], recorded.COST)

scripted.script(REPLY)
trace, call = record("stream", spans, stream)
check_usage(call)
readback.equal("output of a stream", call["output"]["content"], scripted.ANSWER)
if not is_otel:
    recorded.check_first_token(call)

scripted.script(CALL)
trace, call = record("tool", spans, ask(tools=[{"type": "function", "function": TOOL}]))
check_usage(call)
scripted.contains("tool call", call["output"], "get_weather")

# With version 2 of the SDK, LiteLLM sends nothing of a failure.
if MAJOR > 2:
    scripted.script(FAILURE)
    trace, call = record("failing", 1, fail)
    readback.equal("level", call["level"], "ERROR")
    scripted.contains("status message", call["statusMessage"], "no seats left")

# Another provider; its cached tokens come on top of the input.
scripted.script(REPLY)
model = {"model": "anthropic/claude-sonnet-4-5", "api_base": scripted.URL, "api_key": "none"}
trace, call = record("anthropic", spans, ask(**model, max_tokens=100))
readback.equal("model", call["model"], "claude-sonnet-4-5")
readback.equal("tokens in all", call["usageDetails"]["total"], 1100)
readback.equal("cost is known", call["costDetails"]["total"] > 0, True)

embed = lambda about: litellm.embedding(model="text-embedding-3-small", input=["Lisbon"], metadata=about)
trace, call = record("embed", spans, embed)
readback.equal("tokens of an embedding", call["usageDetails"]["input"], 8)
readback.equal("its cost", round(call["costDetails"]["total"], 9), 1.6e-07)
print(f"litellm {callback} with langfuse {MAJOR}: ok")
