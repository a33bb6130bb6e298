// Records a run and embeddings with version 7 of the Vercel AI SDK, in both forms of its spans.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { LegacyOpenTelemetry, OpenTelemetry } from "@ai-sdk/otel";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { embed, embedMany, generateText, isStepCount, tool } from "ai";
import { MockEmbeddingModelV4, MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

const { RATCHET_URL, RATCHET_PUBLIC_KEY, RATCHET_SECRET_KEY } = process.env;
const pair = Buffer.from(`${RATCHET_PUBLIC_KEY}:${RATCHET_SECRET_KEY}`).toString("base64");
const headers = { Authorization: `Basic ${pair}` };
const get = async (path) => (await fetch(RATCHET_URL + path, { headers })).json();

const exporter = new OTLPTraceExporter({ url: `${RATCHET_URL}/api/public/otel/v1/traces`, headers });
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();

const answer = "Lisbon, it is sunny there.";
const usage = {
  inputTokens: { total: 1000, noCache: 800, cacheRead: 200, cacheWrite: 0 },
  outputTokens: { total: 100, text: 70, reasoning: 30 },
};
const city = { city: "Lisbon" };
const replies = [
  {
    content: [{ type: "tool-call", toolCallId: "c1", toolName: "get_weather", input: JSON.stringify(city) }],
    finishReason: { unified: "tool-calls", raw: "tool_calls" },
  },
  { content: [{ type: "text", text: answer }], finishReason: { unified: "stop", raw: "stop" } },
];

/** One run of two model calls and a tool, told by this integration; its trace is read back. */
async function run(integration) {
  let turn = 0;
  const doGenerate = async () => ({ ...replies[turn++], usage, warnings: [] });
  const session = `session/${randomUUID()}`;
  const runtimeContext = { tenant: "acme", attempt: 2, beta: true, userId: "user-7", sessionId: session };
  const said = await generateText({
    model: new MockLanguageModelV4({ modelId: "gpt-4o", provider: "openai.chat", doGenerate }),
    prompt: "Where to, in March?",
    temperature: 0.2,
    stopWhen: isStepCount(3),
    tools: {
      get_weather: tool({
        description: "Tells the weather of a city",
        inputSchema: z.object({ city: z.string() }),
        execute: async () => "sunny",
      }),
    },
    runtimeContext,
    telemetry: {
      functionId: "plan",
      integrations: [integration],
      includeRuntimeContext: Object.fromEntries(Object.keys(runtimeContext).map((key) => [key, true])),
    },
  });
  assert.equal(said.text, answer);
  await provider.forceFlush();
  const { data } = await get(`/api/public/traces?sessionId=${encodeURIComponent(session)}`);
  assert.equal(data.length, 1, "traces of the session");
  return await get(`/api/public/traces/${data[0].id}`);
}

function check(trace) {
  assert.equal(trace.userId, "user-7");
  const { tenant, attempt, beta } = trace.metadata;
  assert.deepEqual({ tenant, attempt, beta }, { tenant: "acme", attempt: 2, beta: true });
  const steps = (type) => trace.observations.filter((step) => step.type === type);
  const calls = steps("GENERATION");
  assert.equal(calls.length, 2);
  for (const call of calls) {
    assert.equal(call.model, "gpt-4o");
    assert.equal(call.modelParameters.temperature, 0.2);
    assert.ok(!("context.tenant" in call.modelParameters), "the context is no parameter");
    assert.deepEqual(call.usageDetails, {
      input: 800,
      input_cached_tokens: 200,
      output: 70,
      output_reasoning_tokens: 30,
      total: 1100,
    });
    assert.match(JSON.stringify(call.input), /Where to, in March/);
  }
  const [called] = steps("TOOL");
  assert.equal(called.name, "get_weather");
  assert.deepEqual(called.input, city);
  assert.equal(called.output, "sunny");
  const cost = calls.reduce((sum, call) => sum + call.costDetails.total, 0);
  assert.equal(trace.totalCost.toFixed(9), cost.toFixed(9), "nothing is counted twice");
}

/** Embeds one value and two, and reads all embeddings of the function back. */
async function checkEmbeddings(integration) {
  const name = `small-${randomUUID()}`;
  const doEmbed = async ({ values }) => ({
    embeddings: values.map((_, at) => [0.5, at]),
    usage: { tokens: 7 },
    warnings: [],
  });
  const model = new MockEmbeddingModelV4({
    modelId: name,
    provider: "openai.embedding",
    maxEmbeddingsPerCall: 5,
    doEmbed,
  });
  const telemetry = { functionId: "embeds", integrations: [integration] };
  await embed({ model, value: "sunny", telemetry });
  await embedMany({ model, values: ["a", "b"], telemetry });
  await provider.forceFlush();
  const { data } = await get("/api/public/observations?type=EMBEDDING&limit=100");
  const calls = data.filter((step) => step.model === name);
  calls.sort((a, b) => a.startTime.localeCompare(b.startTime));
  assert.deepEqual(calls.map((call) => call.input), [["sunny"], ["a", "b"]]);
  assert.deepEqual(calls.map((call) => call.output), [[[0.5, 0]], [[0.5, 0], [0.5, 1]]]);
  assert.deepEqual(calls.map((call) => call.usageDetails.total), [7, 7]);
}

const everything = { usage: true, providerMetadata: true, embedding: true, runtimeContext: true };
for (const integration of [new OpenTelemetry(everything), new LegacyOpenTelemetry()]) {
  check(await run(integration));
  await checkEmbeddings(integration);
}
await provider.shutdown();
console.log("ai sdk 7: ok");
