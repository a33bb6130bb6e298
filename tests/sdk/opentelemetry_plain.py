"""Records one trace each over OTLP/HTTP and OTLP/gRPC with OpenTelemetry's own SDK, with no
Langfuse attribute in it."""

import json
import os
import uuid

import readback

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode

headers = {"authorization": readback.authorization()}
exporters = {
    "http": HttpExporter(endpoint=f"{readback.URL}/v1/traces", headers=headers),
    "http, gzip, under Langfuse's path": HttpExporter(
        endpoint=f"{readback.URL}/api/public/otel/v1/traces",
        headers=headers,
        compression=Compression.Gzip,
    ),
    "grpc": GrpcExporter(
        endpoint=os.environ["RATCHET_GRPC_URL"], headers=tuple(headers.items()), insecure=True
    ),
}


def record(exporter, session):
    resource = Resource.create(
        {"service.name": "traveller", "deployment.environment.name": "staging"}
    )
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("sdk-test", "1.0")
    with tracer.start_as_current_span("trip") as root:
        root.set_attribute("gen_ai.operation.name", "invoke_agent")
        root.set_attribute("gen_ai.agent.name", "traveller")
        root.set_attribute("user.id", readback.USER)
        root.set_attribute("session.id", session)
        with tracer.start_as_current_span("chat gpt-4o") as generation:
            generation.set_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": readback.MODEL,
                    "gen_ai.request.temperature": 0.2,
                    "gen_ai.usage.input_tokens": 1000,
                    "gen_ai.usage.cache_read.input_tokens": 200,
                    "gen_ai.usage.output_tokens": 100,
                    "gen_ai.input.messages": json.dumps(readback.QUESTION),
                }
            )
        with tracer.start_as_current_span("execute_tool search") as tool:
            tool.set_attribute("gen_ai.operation.name", "execute_tool")
            tool.set_attribute("gen_ai.tool.name", "search")
            tool.set_attribute("nobody.knows.this", "kept")
            tool.set_status(Status(StatusCode.ERROR, "no seats left"))
    provider.force_flush()
    provider.shutdown()
    return format(root.get_span_context().trace_id, "032x")


for name, exporter in exporters.items():
    session = f"session/{uuid.uuid4()}"
    trace = readback.get_trace(record(exporter, session))
    readback.equal("name", trace["name"], "trip")
    readback.equal("user", trace["userId"], readback.USER)
    readback.equal("session", trace["sessionId"], session)
    readback.equal("environment", trace["environment"], "staging")
    types = {row["type"]: row for row in trace["observations"]}
    readback.equal("types", sorted(types), ["AGENT", "GENERATION", "TOOL"])
    generation, tool = types["GENERATION"], types["TOOL"]
    readback.equal("model", generation["model"], readback.MODEL)
    readback.equal("input", generation["input"], readback.QUESTION)
    readback.equal("tokens in", generation["usage"]["input"], 1000)
    readback.equal("tokens fresh", generation["usageDetails"]["input"], 800)
    readback.equal("tokens in all", generation["usage"]["total"], 1100)
    readback.equal("cost is known", generation["costDetails"]["total"] > 0, True)
    readback.equal("tool level", tool["level"], "ERROR")
    readback.equal("tool message", tool["statusMessage"], "no seats left")
    readback.equal("unknown attributes", "kept" in json.dumps(tool["metadata"]), True)
    print(f"opentelemetry over {name}: ok")
