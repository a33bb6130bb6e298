// Records one trace with version 5 of the Langfuse SDK for JavaScript, which sends OTLP as JSON.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { LangfuseClient } from "@langfuse/client";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { propagateAttributes, startActiveObservation, startObservation } from "@langfuse/tracing";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const baseUrl = process.env.RATCHET_URL.replace(/\/$/, "");
const publicKey = process.env.RATCHET_PUBLIC_KEY;
const secretKey = process.env.RATCHET_SECRET_KEY;
const keys = { baseUrl, publicKey, secretKey };

const processor = new LangfuseSpanProcessor({ ...keys, environment: "staging", release: "r1" });
const provider = new NodeTracerProvider({ spanProcessors: [processor] });
provider.register();

const session = `session/${randomUUID()}`;
const question = [{ role: "user", content: "Where to, in März?" }];
const attributes = {
  traceName: "trip",
  userId: "user-7",
  sessionId: session,
  tags: ["alpha", "beta"],
  metadata: { tenant: "acme" },
};

const [traceId, generationId] = await propagateAttributes(attributes, () =>
  startActiveObservation(
    "plan-trip",
    async (root) => {
      root.update({ input: { city: "?" } });
      const generation = startObservation(
        "ask-model",
        {
          model: "gpt-4o",
          modelParameters: { temperature: 0.2 },
          input: question,
          metadata: { attempt: 1, cached: true, ratio: -0.5, zip: "01234", deep: { list: [1] } },
        },
        { asType: "generation" },
      );
      const usageDetails = { input: 800, input_cached_tokens: 200, output: 100 };
      generation.update({ output: "Lisbon", usageDetails }).end();
      startObservation("search", { input: { query: "flights" } }, { asType: "tool" })
        .update({ output: ["LIS", "OPO"] })
        .end();
      startObservation("broken", { level: "ERROR", statusMessage: "no seats left" }).end();
      root.update({ output: { done: true } });
      return [root.traceId, generation.id];
    },
    { asType: "agent" },
  ),
);
await processor.forceFlush();

const langfuse = new LangfuseClient(keys);
langfuse.score.create({ traceId, name: "quality", value: 0.75, comment: "fine" });
langfuse.score.create({
  traceId,
  observationId: generationId,
  name: "thumbs_feedback",
  value: 1,
  dataType: "BOOLEAN",
});
await langfuse.score.flush();

const authorization = `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString("base64")}`;
const answer = await fetch(`${baseUrl}/api/public/traces/${traceId}`, { headers: { authorization } });
assert.equal(answer.status, 200);
const trace = await answer.json();

assert.equal(trace.name, "trip");
assert.equal(trace.userId, "user-7");
assert.equal(trace.sessionId, session);
assert.deepEqual(trace.tags, ["alpha", "beta"]);
assert.equal(trace.environment, "staging");
assert.equal(trace.release, "r1");
assert.equal(trace.metadata.tenant, "acme");
assert.deepEqual(trace.input, { city: "?" });
assert.deepEqual(trace.output, { done: true });

const byName = Object.fromEntries(trace.observations.map((row) => [row.name, row]));
assert.deepEqual(Object.keys(byName).sort(), ["ask-model", "broken", "plan-trip", "search"]);
const generation = byName["ask-model"];
assert.equal(generation.id, generationId);
assert.equal(generation.type, "GENERATION");
assert.equal(generation.parentObservationId, byName["plan-trip"].id);
assert.equal(generation.model, "gpt-4o");
assert.deepEqual(generation.modelParameters, { temperature: 0.2 });
assert.deepEqual(generation.input, question);
assert.equal(generation.output, "Lisbon");
const { attempt, cached, ratio, zip, deep } = generation.metadata;
assert.deepEqual({ attempt, cached, ratio, zip }, { attempt: 1, cached: true, ratio: -0.5, zip: "01234" });
assert.deepEqual(deep, { list: [1] });
assert.deepEqual([generation.promptTokens, generation.completionTokens, generation.totalTokens], [1000, 100, 1100]);
assert.deepEqual(generation.usageDetails, {
  input: 800,
  input_cached_tokens: 200,
  output: 100,
  total: 1100,
});
assert.ok(generation.costDetails.total > 0);
assert.equal(trace.totalCost, generation.costDetails.total);
assert.equal(byName["plan-trip"].type, "AGENT");
assert.equal(byName.search.type, "TOOL");
assert.deepEqual(byName.search.output, ["LIS", "OPO"]);
assert.equal(byName.broken.level, "ERROR");
assert.equal(byName.broken.statusMessage, "no seats left");

const scores = Object.fromEntries(trace.scores.map((score) => [score.name, score]));
assert.equal(scores.quality.value, 0.75);
assert.equal(scores.quality.comment, "fine");
assert.equal(scores.thumbs_feedback.dataType, "BOOLEAN");
assert.equal(scores.thumbs_feedback.observationId, generationId);

const projects = await langfuse.api.projects.get();
assert.deepEqual(projects.data.map((project) => project.id), ["sdk-checks"]);
const bySdk = await langfuse.api.trace.get(traceId);
assert.equal(bySdk.observations.length, 4);
const listed = await langfuse.api.trace.list({ sessionId: session, tags: ["alpha", "beta"] });
assert.deepEqual(listed.data.map((row) => row.id), [traceId]);

await provider.shutdown();
console.log("langfuse js 5: ok");
