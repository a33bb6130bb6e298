// Records one trace with version 3 of the Langfuse SDK for JavaScript, which sends batches of
// events. What it recorded is read over plain HTTP, and what it can read itself, by itself.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { LangfuseWeb } from "langfuse";

import { baseUrl, client, get, publicKey } from "./client.mjs";

const langfuse = client({ environment: "staging", release: "r1" });
const session = `session/${randomUUID()}`;
const question = [{ role: "user", content: "Where to, in März?" }];
const usage = { input: 800, input_cached_tokens: 200, output: 100 };

// This SDK has no check of keys but the call itself.
const { data: projects } = await langfuse.api.projectsGet();
assert.deepEqual(projects.map((project) => project.id), ["sdk-checks"]);

const trace = langfuse.trace({
  name: "trip",
  userId: "user-7",
  sessionId: session,
  tags: ["beta"],
  metadata: { tenant: "acme" },
});
const root = trace.span({ name: "plan-trip", input: { city: "?" } });
const generation = root.generation({
  name: "ask-model",
  model: "gpt-4o",
  modelParameters: { temperature: 0.2 },
  input: question,
});
generation.end({
  output: "Lisbon",
  usage: {
    prompt_tokens: 1000,
    completion_tokens: 100,
    total_tokens: 1100,
    prompt_tokens_details: { cached_tokens: 200 },
  },
});
root.span({ name: "search", input: { query: "flights" } }).end({ output: ["LIS", "OPO"] });
root.event({ name: "broken", level: "ERROR", statusMessage: "no seats left" });
const priced = langfuse.trace({ name: "priced" });
priced
  .generation({ name: "told-cost", model: "gpt-4o" })
  .end({ usageDetails: usage, costDetails: { input: 0.5, output: 0.25 } });
root.end({ output: { done: true } });
trace.update({ tags: ["alpha"], output: { done: true } });
trace.score({ name: "quality", value: 0.75, comment: "fine" });
generation.score({ name: "thumbs_feedback", value: 1, dataType: "BOOLEAN" });
await langfuse.flushAsync();

const found = await get(`/api/public/traces/${trace.id}`);
assert.equal(found.name, "trip");
assert.equal(found.userId, "user-7");
assert.equal(found.sessionId, session);
assert.deepEqual(found.tags, ["alpha", "beta"]);
assert.equal(found.environment, "staging");
assert.equal(found.release, "r1");
assert.equal(found.metadata.tenant, "acme");
assert.deepEqual(found.output, { done: true });
const byName = Object.fromEntries(found.observations.map((row) => [row.name, row]));
assert.deepEqual(Object.keys(byName).sort(), ["ask-model", "broken", "plan-trip", "search"]);
const asked = byName["ask-model"];
assert.equal(asked.type, "GENERATION");
assert.equal(asked.parentObservationId, byName["plan-trip"].id);
assert.deepEqual(asked.modelParameters, { temperature: 0.2 });
assert.deepEqual(asked.input, question);
assert.equal(asked.output, "Lisbon");
assert.deepEqual(asked.usageDetails, { ...usage, total: 1100 });
// Dollars per million: 2.50 fresh, 1.25 cached, 10 out.
assert.equal(asked.costDetails.total.toFixed(6), ((800 * 2.5 + 200 * 1.25 + 100 * 10) / 1e6).toFixed(6));
assert.equal(found.totalCost, asked.costDetails.total);
assert.equal((await get(`/api/public/traces/${priced.id}`)).totalCost, 0.75);
assert.deepEqual(byName.search.output, ["LIS", "OPO"]);
assert.equal(byName.broken.type, "EVENT");
assert.equal(byName.broken.level, "ERROR");
const scores = Object.fromEntries(found.scores.map((score) => [score.name, score]));
assert.equal(scores.quality.value, 0.75);
assert.equal(scores.thumbs_feedback.observationId, generation.id);

const { data: whole } = await langfuse.fetchTrace(trace.id);
assert.equal(whole.observations.length, 4);
const { data: traces } = await langfuse.fetchTraces({ sessionId: session, tags: ["alpha"] });
assert.deepEqual(traces.map((row) => row.id), [trace.id]);
const { data: steps } = await langfuse.fetchObservations({ traceId: trace.id, type: "GENERATION" });
assert.deepEqual(steps.map((row) => row.id), [generation.id]);
assert.equal((await langfuse.fetchObservation(generation.id)).data.name, "ask-model");
const { data: sessions } = await langfuse.fetchSessions({ limit: 100 });
assert.ok(sessions.some((row) => row.id === session));
assert.ok(trace.getTraceUrl().startsWith(baseUrl));

// A browser has the public key only, and may score with it.
const web = new LangfuseWeb({ baseUrl, publicKey });
await web.score({ traceId: trace.id, name: "from-a-page", value: 1 });
const rated = await get(`/api/public/traces/${trace.id}`);
assert.ok(rated.scores.some((score) => score.name === "from-a-page"));

// A trace of which nothing is known but its name: this SDK promises numbers.
const bare = langfuse.trace({ name: "bare" });
await langfuse.flushAsync();
const { data: unknown } = await langfuse.fetchTrace(bare.id);
assert.deepEqual([unknown.totalCost, unknown.latency], [0, 0]);
await langfuse.shutdownAsync();
console.log("langfuse js 3: ok");
