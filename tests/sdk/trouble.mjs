// A server that says no, is slow, goes away and comes back, as in trouble.py.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { LangfuseClient } from "@langfuse/client";
import { LangfuseAPIError, NotFoundError, UnauthorizedError } from "@langfuse/core";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { startObservation } from "@langfuse/tracing";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

import { between } from "./between.mjs";

const server = process.env.RATCHET_URL.replace(/\/$/, "");
const publicKey = process.env.RATCHET_PUBLIC_KEY;
const secretKey = process.env.RATCHET_SECRET_KEY;
const authorization = `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString("base64")}`;
const headers = { authorization, "content-type": "application/json" };
const mark = randomUUID();
const prompts = "/api/public/v2/prompts";
const spans = "/api/public/otel";
const scores = "/api/public/ingestion";

const proxy = await between();
const keys = { baseUrl: proxy.url, publicKey, secretKey };
const langfuse = new LangfuseClient(keys);
const processor = new LangfuseSpanProcessor({ ...keys, timeout: 2 });
const provider = new NodeTracerProvider({ spanProcessors: [processor] });
provider.register();

const name = `held-${mark}`;
async function setPrompt(prompt) {
  const body = JSON.stringify({ name, prompt, labels: ["production"] });
  assert.ok((await fetch(server + prompts, { method: "POST", headers, body })).ok);
}

// Every refusal is an error that says which.
await setPrompt("one");
const once = { maxRetries: 0 };
await assert.rejects(langfuse.api.prompts.get(`none-${mark}`, {}, once), NotFoundError);
const stranger = new LangfuseClient({ ...keys, publicKey: `pk-lf-${mark}` });
await assert.rejects(stranger.api.projects.get(), UnauthorizedError);
for (const status of [429, 503]) {
  await proxy.next(prompts, "refuse", status);
  await assert.rejects(langfuse.api.prompts.get(name, {}, once), (error) => {
    assert.ok(error instanceof LangfuseAPIError);
    assert.equal(error.statusCode, status);
    return true;
  });
  await proxy.next(prompts, "refuse", status);
  assert.equal((await langfuse.api.prompts.get(name)).prompt, "one", "at the second attempt");
}

// What is refused for now is sent again; what is sent again is recorded once.
function record() {
  const call = startObservation(
    "ask",
    { model: "gpt-4o", usageDetails: { input: 1 } },
    { asType: "generation" },
  );
  call.end();
  langfuse.score.create({ traceId: call.traceId, name: "quality", value: 0.5 });
  return call.traceId;
}
async function check(what, traceId) {
  const trace = await (await fetch(`${server}/api/public/traces/${traceId}`, { headers })).json();
  assert.deepEqual(trace.observations.map((row) => row.usageDetails.input), [1], what);
  assert.deepEqual(trace.scores.map((score) => score.value), [0.5], what);
}
for (const [trouble, status] of [
  ["refuse", 429],
  ["refuse", 503],
  ["lose", 0],
]) {
  const earlier = await proxy.count(spans);
  await proxy.next(spans, trouble, status);
  // Scores are not sent again when an answer is lost.
  if (trouble === "refuse") await proxy.next(scores, trouble, status);
  const traceId = record();
  await processor.forceFlush();
  await langfuse.flush();
  assert.equal(await proxy.count(spans), earlier + 2, `${trouble} ${status}: sent again`);
  await check(`${trouble} ${status}`, traceId);
}

// A server that is too slow is an error for readers, and no loss for recorders.
await proxy.next(prompts, "hold");
const hasty = { ...once, timeoutInSeconds: 1 };
await assert.rejects(langfuse.api.prompts.get(name, {}, hasty), (error) => {
  assert.ok(error instanceof LangfuseAPIError);
  assert.match(error.message, /timeout/);
  return true;
});
await proxy.next(spans, "hold");
const slow = record();
await processor.forceFlush().catch(() => {});
await langfuse.flush();
await check("slow", slow);
await proxy.release();

// Prompts outlive the server: from the cache, even a stale one, or else from the program.
const stale = { cacheTtlSeconds: -1, maxRetries: 0 };
assert.equal((await langfuse.prompt.get(name, stale)).prompt, "one");
await proxy.down();
assert.equal((await langfuse.prompt.get(name, stale)).prompt, "one", "from a stale cache");
const fallback = await langfuse.prompt.get(`none-${mark}`, { fallback: "Hi {{name}}", maxRetries: 0 });
assert.equal(fallback.compile({ name: "Ada" }), "Hi Ada");
assert.equal(fallback.isFallback, true);
await assert.rejects(langfuse.prompt.get(`none-${mark}`, { maxRetries: 0 }));
await proxy.up();
await setPrompt("two");
for (let turn = 0; turn < 100; turn += 1) {
  if ((await langfuse.prompt.get(name, stale)).prompt === "two") break;
  await new Promise((done) => setTimeout(done, 50));
}
assert.equal((await langfuse.prompt.get(name, stale)).prompt, "two", "after it came back");
proxy.end();
await provider.shutdown();
console.log("langfuse js: trouble ok");
// The SDK leaves a timer of a minute behind each request that found nobody.
process.exit(0);
