"""Records chains, a retriever and an agent of LangChain through Langfuse's callback handler."""

import uuid

import readback
import recorded
import scripted

from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from recorded import CALL, FAILURE, MAJOR, REPLY

if MAJOR == 2:
    from langfuse import Langfuse
    from langfuse.callback import CallbackHandler

    langfuse = Langfuse()
else:
    from langfuse import get_client
    from langfuse.langchain import CallbackHandler

    langfuse = get_client()

TEMPLATE = [
    {"role": "system", "content": "You are a {{who}}."},
    {"role": "user", "content": "{{question}}"},
]
ASKED = {"who": "guide", "question": scripted.QUESTION}
# LangChain hands numbers to the trace and to each step; version 4 turns the trace's to texts.
GIVEN = {"attempt": 1, "cached": True, "zip": "10115"}
CHAIN = "SPAN" if MAJOR == 2 else "CHAIN"
name = f"langchain/{uuid.uuid4()}"
langfuse.create_prompt(name=name, type="chat", prompt=TEMPLATE, labels=["production"])
linked = langfuse.get_prompt(name, type="chat")
prompt = ChatPromptTemplate.from_messages(linked.get_langchain_prompt())
prompt.metadata = {"langfuse_prompt": linked}
model = ChatOpenAI(model=scripted.MODEL, temperature=0.2, max_retries=0, stream_usage=True)


class Books(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content="Lisbon is in Portugal.", metadata={"page": 3})]


@tool
def get_weather(city: str) -> str:
    """Tells the weather."""
    return scripted.WEATHER


def config(run_name, session):
    """How a chain is told to whom it belongs."""
    if MAJOR == 2:
        about = {"session_id": session, "user_id": readback.USER, "tags": readback.TAGS}
        return {"callbacks": [CallbackHandler(**about)], "metadata": GIVEN, "run_name": run_name}
    about = {"langfuse_session_id": session, "langfuse_user_id": readback.USER}
    metadata = {**about, "langfuse_tags": readback.TAGS, **GIVEN}
    return {"callbacks": [CallbackHandler()], "metadata": metadata, "run_name": run_name}


def record(run_name, observations, work):
    """Has a chain work, and reads back what was recorded."""
    session = recorded.new_session()
    told = config(run_name, session)
    work(told)
    if MAJOR == 2:
        told["callbacks"][0].flush()
    langfuse.flush()
    trace = recorded.whole_trace(session, observations)
    scripted.check_rooted(trace)
    recorded.check_persons(trace, session)
    readback.equal("name", trace["name"], run_name)
    kept = {key: trace["metadata"].get(key) for key in GIVEN}
    readback.equal("metadata of the trace", kept, GIVEN)
    recorded.check_by_sdk(langfuse, trace)
    return trace


def check_call(call, parent):
    recorded.check_usage(call, "input_cache_read", "output_reasoning")
    readback.equal("parent", call["parentObservationId"], parent["id"])
    kept = {key: call["metadata"].get(key) for key in GIVEN}
    readback.equal("metadata of the call", kept, GIVEN)


# A prompt, a model and a parser; whole and streamed.
chain = prompt | model | StrOutputParser()
for run_name in ["plain", "stream"]:
    scripted.script(REPLY)
    said = []
    answers = chain.stream if run_name == "stream" else lambda *asked: [chain.invoke(*asked)]
    trace = record(run_name, 4, lambda told: said.extend(answers(ASKED, told)))
    readback.equal("answer", "".join(said), scripted.ANSWER)
    readback.equal("input of the trace", trace["input"], ASKED)
    readback.equal("output of the trace", trace["output"], scripted.ANSWER)
    root, call = recorded.named(trace, run_name), recorded.named(trace, "ChatOpenAI")
    readback.equal("type of the chain", root["type"], CHAIN)
    check_call(call, root)
    readback.equal("temperature", float(call["modelParameters"]["temperature"]), 0.2)
    readback.equal("prompt", (call["promptName"], call["promptVersion"]), (name, 1))
    roles = [message["role"] for message in call["input"]]
    readback.equal("messages", roles, ["system", "user"])
    readback.equal("output", call["output"]["content"], scripted.ANSWER)
    readback.equal("cost of all", round(trace["totalCost"], 9), recorded.COST)
    if run_name == "stream":
        recorded.check_first_token(call)


def fail(told):
    try:
        (prompt | model).invoke(ASKED, told)
        raise SystemExit("the model was to fail")
    except Exception as error:
        scripted.contains("error", str(error), "no seats left")


# An error in the middle is one of the call and of the chain.
scripted.script(FAILURE)
trace = record("failing", 3, fail)
recorded.check_failure(recorded.named(trace, "ChatOpenAI"))
recorded.check_failure(recorded.named(trace, "failing"))
readback.equal("level of a step before", recorded.named(trace, "ChatPromptTemplate")["level"], "DEFAULT")

# A chain within a chain, with a retriever.
scripted.script(REPLY)
inner = {"context": Books(), "question": lambda question: question}
rag = inner | ChatPromptTemplate.from_template("{context} {question}") | model
trace = record("rag", 6, lambda told: rag.invoke(scripted.QUESTION, told))
root, parallel = recorded.named(trace, "rag"), recorded.named(trace, "RunnableParallel<context,question>")
books = recorded.named(trace, "Books")
readback.equal("retriever", books["type"], "SPAN" if MAJOR == 2 else "RETRIEVER")
readback.equal("its parent", books["parentObservationId"], parallel["id"])
readback.equal("query", books["input"], scripted.QUESTION)
scripted.contains("documents", books["output"], "Lisbon is in Portugal.")
check_call(recorded.named(trace, "ChatOpenAI"), root)

# An agent with a tool.
scripted.script(CALL, REPLY)
if MAJOR == 2:
    from langchain.agents import AgentExecutor, create_tool_calling_agent

    messages = [("system", "Be brief."), ("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
    steps = create_tool_calling_agent(model, [get_weather], ChatPromptTemplate.from_messages(messages))
    agent, asked = AgentExecutor(agent=steps, tools=[get_weather]), {"input": scripted.QUESTION}
else:
    from langchain.agents import create_agent

    agent = create_agent(model, [get_weather], system_prompt="Be brief.")
    asked = {"messages": recorded.MESSAGES}
trace = record("agent", 16 if MAJOR == 2 else 7, lambda told: agent.invoke(asked, told))
weather = recorded.named(trace, "get_weather")
readback.equal("tool", weather["type"], "SPAN" if MAJOR == 2 else "TOOL")
scripted.contains("tool's input", weather["input"], "Lisbon")
scripted.contains("tool's output", weather["output"], scripted.WEATHER)
by_id = {row["id"]: row for row in trace["observations"]}
calls = scripted.steps(trace, "GENERATION")
readback.equal("model calls", len(calls), 2)
for call in calls:
    recorded.check_usage(call, "input_cache_read", "output_reasoning")
    readback.equal("within", scripted.inside(by_id, call, recorded.named(trace, "agent")), True)
scripted.contains("call of the tool", calls[0]["output"], "get_weather")
scripted.contains("answer", calls[1]["output"], scripted.ANSWER)
readback.equal("cost of all", round(trace["totalCost"], 9), 2 * recorded.COST)
print(f"langchain with langfuse {MAJOR}: ok")
