// A server that says no, is slow, goes away and comes back, as in ../trouble.py.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { between } from "./between.mjs";
import { client, get, send } from "./client.mjs";

const mark = randomUUID();
const prompts = "/api/public/v2/prompts";
const events = "/api/public/ingestion";
const proxy = await between();
const langfuse = client({ baseUrl: proxy.url, fetchRetryDelay: 50, requestTimeout: 1000 });
const name = `held-${mark}`;
const setPrompt = (prompt) => send("POST", prompts, { name, prompt, labels: ["production"] });
await setPrompt("one");

// Every refusal says which: the generated client throws the answer, the other readers hand it on.
const { data: refusal } = await langfuse.fetchTrace(`none-${mark}`);
assert.equal(refusal.error, "LangfuseNotFoundError");
await assert.rejects(langfuse.api.traceGet(`none-${mark}`), { status: 404 });
const stranger = client({ baseUrl: proxy.url, publicKey: `pk-lf-${mark}` });
await assert.rejects(stranger.api.projectsGet(), { status: 401 });
for (const status of [429, 503]) {
  await proxy.next("/api/public/projects", "refuse", status);
  await assert.rejects(langfuse.api.projectsGet(), { status });
}
await proxy.next(prompts, "refuse", 503);
const found = await langfuse.getPrompt(name, undefined, { cacheTtlSeconds: 0, maxRetries: 1 });
assert.equal(found.prompt, "one", "at the second attempt");

// What is refused for now is sent again; what is sent again is recorded once.
async function check(what, traceId) {
  const trace = await get(`/api/public/traces/${traceId}`);
  assert.deepEqual(trace.observations.map((row) => row.usageDetails.input), [1], what);
  assert.deepEqual(trace.scores.map((score) => score.value), [0.5], what);
}
for (const [trouble, status] of [
  ["refuse", 429],
  ["refuse", 503],
  ["lose", 0],
  ["hold", 0],
]) {
  const earlier = await proxy.count(events);
  await proxy.next(events, trouble, status);
  const trace = langfuse.trace({ name: "trouble" });
  trace.generation({ name: "ask", model: "gpt-4o", usageDetails: { input: 1 } }).end();
  trace.score({ name: "quality", value: 0.5 });
  await langfuse.flushAsync();
  assert.equal(await proxy.count(events), earlier + 2, `${trouble} ${status}: sent again`);
  await check(`${trouble} ${status}`, trace.id);
}

// A server that is too slow is an error for readers.
await proxy.next(prompts, "hold");
const hasty = { cacheTtlSeconds: 0, maxRetries: 0, fetchTimeoutMs: 500 };
await assert.rejects(langfuse.getPrompt(name, undefined, hasty), { name: "LangfuseFetchNetworkError" });
await proxy.release();

// Prompts outlive the server: from the cache, even a stale one, or else from the program.
const stale = { cacheTtlSeconds: -1, maxRetries: 0 };
assert.equal((await langfuse.getPrompt(name, undefined, stale)).prompt, "one");
await proxy.down();
assert.equal((await langfuse.getPrompt(name, undefined, stale)).prompt, "one", "from a stale cache");
const absent = { fallback: "Hi {{name}}", maxRetries: 0 };
const fallback = await langfuse.getPrompt(`none-${mark}`, undefined, absent);
assert.equal(fallback.compile({ name: "Ada" }), "Hi Ada");
assert.equal(fallback.isFallback, true);
await assert.rejects(langfuse.getPrompt(`none-${mark}`, undefined, { maxRetries: 0 }));
await proxy.up();
await setPrompt("two");
for (let turn = 0; turn < 100; turn += 1) {
  if ((await langfuse.getPrompt(name, undefined, stale)).prompt === "two") break;
  await new Promise((done) => setTimeout(done, 50));
}
assert.equal((await langfuse.getPrompt(name, undefined, stale)).prompt, "two", "after it came back");
await langfuse.shutdownAsync();
proxy.end();
console.log("langfuse js 3: trouble ok");
