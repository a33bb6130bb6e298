"""Records calls of `langfuse.openai`, Langfuse's replacement of the OpenAI client."""

import urllib.parse
import uuid

import readback
import recorded
import scripted

from recorded import CALL, FAILURE, MAJOR, MESSAGES, REPLY
from langfuse.openai import OpenAI

TOOL = {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}
session = recorded.new_session()
client = OpenAI(max_retries=0)
if MAJOR == 2:
    from langfuse import Langfuse
    from langfuse.decorators import langfuse_context, observe

    langfuse = Langfuse()
else:
    from langfuse import Evaluation, get_client, observe, propagate_attributes

    langfuse = get_client()

name = f"travel/{uuid.uuid4()}"
langfuse.create_prompt(name=name, prompt="Where to, in {{month}}?", labels=["production"])
prompt = langfuse.get_prompt(name)
readback.equal("prompt", prompt.compile(month="March"), scripted.QUESTION)


def chat(name, **more):
    return client.chat.completions.create(name=name, model=scripted.MODEL, messages=MESSAGES, **more)


@observe(name="travel")
def travel(question):
    scripted.script(CALL, REPLY, REPLY, CALL, REPLY)
    function = {"type": "function", "function": TOOL}
    chat("ask", tools=[function], temperature=0.2, metadata=recorded.TYPED, langfuse_prompt=prompt)
    streamed = chat("stream", stream=True, stream_options={"include_usage": True}, max_tokens=50)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in streamed if chunk.choices)
    readback.equal("streamed", said, scripted.ANSWER)
    respond = lambda name, **more: client.responses.create(
        name=name, model=scripted.MODEL, input=question, **more
    )
    respond("respond", instructions="Be brief.")
    respond("respond-tool", tools=[{"type": "function", **TOOL}])
    # Version 2 loses the usage of such a stream.
    if MAJOR > 2:
        for _ in respond("respond-stream", stream=True):
            pass
    scripted.script(FAILURE)
    try:
        chat("fail")
        raise SystemExit("the model was to fail")
    except Exception as error:
        readback.equal("error", type(error).__name__, "BadRequestError")
    if MAJOR > 2:
        client.embeddings.create(name="embed", model="text-embedding-3-small", input="Lisbon")
        langfuse.score_current_trace(name="quality", value=0.75)
    else:
        about = {"session_id": session, "user_id": readback.USER, "tags": readback.TAGS}
        langfuse_context.update_current_trace(**about, metadata={"tenant": "acme"})
        langfuse_context.score_current_trace(name="quality", value=0.75)
    return said


if MAJOR == 2:
    from langfuse.openai import openai

    travel(scripted.QUESTION)
    langfuse_context.flush()
    openai.flush_langfuse()
else:
    about = {"session_id": session, "user_id": readback.USER, "tags": readback.TAGS}
    with propagate_attributes(**about, metadata={"tenant": "acme"}):
        travel(scripted.QUESTION)
langfuse.flush()

# In version 2 the decorated function is the trace itself.
trace = recorded.whole_trace(session, 5 if MAJOR == 2 else 8)
recorded.check_persons(trace, session)
readback.equal("name", trace["name"], "travel")
readback.equal("metadata of the trace", trace["metadata"]["tenant"], "acme")
readback.equal("output of the trace", trace["output"], scripted.ANSWER)
readback.check_scores(trace, {"quality": ("NUMERIC", 0.75, None, None)})
outer = None if MAJOR == 2 else recorded.named(trace, "travel")["id"]
calls = {row["name"]: row for row in trace["observations"] if row["id"] != outer}
for call in calls.values():
    readback.equal("parent", call["parentObservationId"], outer)
whole, streamed = ["ask", "respond", "respond-tool"], ["stream", "respond-stream"][: MAJOR - 1]
for answered in whole + streamed:
    recorded.check_usage(calls[answered])
for answered in streamed:
    recorded.check_first_token(calls[answered])

ask = calls["ask"]
readback.equal("messages", ask["input"]["messages"], MESSAGES)
called = ask["output"]["tool_calls"][0]["function"]
readback.equal("tool call", called["name"], "get_weather")
parameters = ask["modelParameters"]
readback.equal("temperature", float(parameters["temperature"]), 0.2)
readback.equal("no limit of tokens", parameters["max_tokens"], "inf" if MAJOR == 2 else "Infinity")
readback.equal("prompt of the call", (ask["promptName"], ask["promptVersion"]), (name, 1))
kept = {key: ask["metadata"].get(key) for key in recorded.TYPED}
readback.equal("metadata of the call", kept, recorded.TYPED)
stream = calls["stream"]
readback.equal("streamed output", stream["output"], scripted.ANSWER)
readback.equal("limit of tokens", int(stream["modelParameters"]["max_tokens"]), 50)
scripted.contains("response", calls["respond"]["output"], scripted.ANSWER)
if MAJOR > 3:
    scripted.contains("instructions", calls["respond"]["input"], "Be brief.")
readback.equal("response's tool call", calls["respond-tool"]["output"]["name"], "get_weather")
recorded.check_failure(calls["fail"])
cost = len(whole + streamed) * recorded.COST
if MAJOR > 2:
    embed = calls["embed"]
    readback.equal("embedding", (embed["type"], embed["usageDetails"]["input"]), ("EMBEDDING", 8))
    cost += 8 * 0.02 / 1e6
readback.equal("cost of all", round(trace["totalCost"], 9), round(cost, 9))
recorded.check_by_sdk(langfuse, trace)

# A call of its own is a trace of its own; what belongs to the trace comes as metadata.
alone = recorded.new_session()
scripted.script(REPLY)
if MAJOR == 2:
    chat("alone", session_id=alone, user_id=readback.USER, tags=readback.TAGS, metadata={"n": 2})
    openai.flush_langfuse()
else:
    persons = {"langfuse_session_id": alone, "langfuse_user_id": readback.USER}
    chat("alone", metadata={**persons, "langfuse_tags": readback.TAGS, "n": 2})
    langfuse.flush()
trace = recorded.whole_trace(alone, 1)
recorded.check_persons(trace, alone)
readback.equal("metadata of a call alone", trace["metadata"]["n"], 2)
readback.equal("input of a call alone", trace["input"], MESSAGES)
readback.equal("output of a call alone", trace["output"]["content"], scripted.ANSWER)

# An experiment whose task asks the model.
if MAJOR > 2:
    dataset = f"dropin/{uuid.uuid4()}"
    langfuse.create_dataset(name=dataset)
    langfuse.create_dataset_item(dataset_name=dataset, input="Lisbon", expected_output="sunny")
    scripted.script(REPLY)
    task = lambda *, item, **rest: chat("task").choices[0].message.content
    exact = lambda *, output, **rest: Evaluation(name="length", value=len(output))
    result = langfuse.get_dataset(dataset).run_experiment(name="trip", task=task, evaluators=[exact])
    langfuse.flush()
    [row] = result.item_results
    readback.equal("output of the item", row.output, scripted.ANSWER)
    trace = readback.get_trace(row.trace_id)
    recorded.check_usage(recorded.named(trace, "task"))
    readback.equal("score", [score["name"] for score in trace["scores"]], ["length"])
    path = f"/api/public/datasets/{urllib.parse.quote(dataset, safe='')}/runs"
    [run] = readback.get(path)["data"]
    readback.equal("run", run["name"], result.run_name)
print(f"openai drop-in of langfuse {MAJOR}: ok")
