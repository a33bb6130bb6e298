"""A server with AgentCore's contract and an agent of Strands behind it, for tests of experiments.

Prints its port, then serves. The agent passes questions on to a sub-agent, as the scripted model
says; its spans join the trace that the caller names in `traceparent`.
"""

import os
import socket

from bedrock_agentcore import BedrockAgentCoreApp
from opentelemetry import context as current, propagate
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.telemetry import StrandsTelemetry

StrandsTelemetry().setup_otlp_exporter()


def model():
    args = {"base_url": f"{os.environ['MODEL_URL']}/v1", "api_key": "none"}
    return OpenAIModel(client_args=args, model_id="gpt-4o")


def sub_agent(name, question):
    agent = Agent(name=name, model=model(), system_prompt=f"You are {name}.", callback_handler=None)
    return str(agent(question)).strip()


@tool
def ask_billing(question: str) -> str:
    """Asks about payments."""
    return sub_agent("billing", question)


@tool
def ask_shipping(question: str) -> str:
    """Asks about parcels."""
    return sub_agent("shipping", question)


class JoinTrace:
    """Makes the caller's span the parent of all that a request starts."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        headers = {name.decode(): value.decode() for name, value in scope.get("headers", [])}
        token = current.attach(propagate.extract(headers))
        try:
            await self.app(scope, receive, send)
        finally:
            current.detach(token)


app = BedrockAgentCoreApp()
app.add_middleware(JoinTrace)


@app.entrypoint
def invoke(payload, context):
    assert len(context.session_id) >= 33, context.session_id
    agent = Agent(
        name="front-desk", model=model(), tools=[ask_billing, ask_shipping], callback_handler=None
    )
    return {"output": {"text": str(agent(payload["prompt"])).strip()}}


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
app.run(fd=listener.fileno(), log_level="error")
