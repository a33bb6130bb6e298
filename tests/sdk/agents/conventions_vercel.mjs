// Records one trace with the Vercel AI SDK.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createOpenAI } from "@ai-sdk/openai";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const { RATCHET_URL, RATCHET_PUBLIC_KEY, RATCHET_SECRET_KEY, SCRIPTED_MODEL_URL } = process.env;
const pair = Buffer.from(`${RATCHET_PUBLIC_KEY}:${RATCHET_SECRET_KEY}`).toString("base64");
const headers = { Authorization: `Basic ${pair}` };
const get = async (path) => (await fetch(RATCHET_URL + path, { headers })).json();

const provider = new NodeTracerProvider({
  spanProcessors: [
    new SimpleSpanProcessor(
      new OTLPTraceExporter({ url: `${RATCHET_URL}/api/public/otel/v1/traces`, headers }),
    ),
  ],
});
// Without this every span would be the root of a trace of its own.
provider.register();
const tracer = provider.getTracer("travel");
const model = createOpenAI({ baseURL: `${SCRIPTED_MODEL_URL}/v1`, apiKey: "none" }).chat("gpt-4o");

const question = "Where to, in March?";
const answer = "Lisbon, it is sunny there.";
const tokens = { input: 800, cacheRead: 200, output: 100 };
const call = { id: "call_1", name: "get_weather", input: { city: "Lisbon" } };
const replies = [{ calls: [call], tokens }, { text: answer, tokens }];

async function travel(run, functionId) {
  await fetch(`${SCRIPTED_MODEL_URL}/script`, { method: "POST", body: JSON.stringify({ replies }) });
  const session = `session/${randomUUID()}`;
  const said = await run({
    model,
    prompt: question,
    temperature: 0.2,
    stopWhen: stepCountIs(3),
    tools: {
      get_weather: tool({
        description: "Tells the weather of a city",
        inputSchema: z.object({ city: z.string() }),
        execute: async () => "sunny",
      }),
    },
    experimental_telemetry: {
      isEnabled: true,
      tracer,
      functionId,
      metadata: { sessionId: session, userId: "user-7", tags: ["alpha", "beta"], tenant: "acme" },
    },
  });
  assert.equal(said, answer);
  await provider.forceFlush();
  const { data } = await get(`/api/public/traces?sessionId=${encodeURIComponent(session)}`);
  assert.equal(data.length, 1, "traces of the session");
  return { session, trace: await get(`/api/public/traces/${data[0].id}`) };
}

function check({ session, trace }, operation) {
  assert.equal(trace.sessionId, session);
  assert.equal(trace.userId, "user-7");
  assert.deepEqual(trace.tags, ["alpha", "beta"]);
  const steps = (type) =>
    trace.observations
      .filter((step) => step.type === type)
      .sort((a, b) => a.startTime.localeCompare(b.startTime));
  const [root] = steps("SPAN");
  assert.equal(root.name, operation);
  assert.equal(root.parentObservationId, null);
  assert.deepEqual(root.usageDetails, {}, "the outer call sums up");
  assert.match(JSON.stringify(root.input), /Where to, in March/);
  assert.match(JSON.stringify(root.output), /Lisbon, it is sunny there/);
  const calls = steps("GENERATION");
  assert.equal(calls.length, 2);
  for (const step of calls) {
    assert.equal(step.parentObservationId, root.id);
    assert.equal(step.model, "gpt-4o");
    const usage = { input: 800, input_cached_tokens: 200, output: 100, total: 1100 };
    assert.deepEqual(step.usageDetails, usage);
    assert.equal(step.costDetails.total.toFixed(9), (0.00325).toFixed(9));
    assert.equal(step.modelParameters.temperature, 0.2);
    assert.equal(step.metadata.tenant, "acme");
  }
  assert.match(JSON.stringify(calls[0].input), /Where to, in March/);
  assert.match(JSON.stringify(calls[0].output), /get_weather/);
  assert.match(JSON.stringify(calls[1].output), /Lisbon, it is sunny there/);
  const [called] = steps("TOOL");
  assert.equal(called.name, "get_weather");
  assert.deepEqual(called.input, { city: "Lisbon" });
  assert.equal(called.output, "sunny");
  assert.equal(called.parentObservationId, root.id);
  assert.equal(trace.totalCost.toFixed(9), (2 * 0.00325).toFixed(9));
}

const whole = async (options) => (await generateText(options)).text;
const streamed = async (options) => await streamText(options).text;
check(await travel(whole, "plan"), "plan:ai.generateText");
check(await travel(streamed, "plan"), "plan:ai.streamText");
await provider.shutdown();
console.log("vercel ai: ok");
