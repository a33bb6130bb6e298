// Makes prompts with version 3 of the SDK for JavaScript, and reads those that others made before.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { client, get, send } from "./client.mjs";

const langfuse = client();
const folder = `sdk prompts/${randomUUID()}`;
const history = [
  { role: "user", content: "Hi" },
  { role: "assistant", content: "Hello" },
];

async function checkText(name) {
  const prompt = await langfuse.getPrompt(name, undefined, { cacheTtlSeconds: 0 });
  assert.equal(prompt.compile({ name: "Ada" }), "Dear Ada, be kind.");
  assert.deepEqual(prompt.config, { model: "gpt-4o", temperature: 0.5 });
  assert.deepEqual(prompt.labels, ["production", "latest"]);
  assert.deepEqual(prompt.tags, ["sdk-text"]);
  assert.equal(prompt.commitMessage, "first");
}

async function checkChat(name) {
  const prompt = await langfuse.getPrompt(name, undefined, { type: "chat", cacheTtlSeconds: 0 });
  const compiled = prompt.compile({ name: "Ada" }, { history });
  const said = compiled.map(({ role, content }) => ({ role, content }));
  assert.deepEqual(said, [
    { role: "system", content: "Be kind." },
    ...history,
    { role: "user", content: "Where is Ada?" },
  ]);
}

for (const [tag, check] of [
  ["sdk-text", checkText],
  ["sdk-chat", checkChat],
]) {
  const made = await langfuse.api.promptsList({ tag, limit: 100 });
  for (const { name } of made.data) await check(name);
  console.log(`langfuse js 3: read ${made.data.length} prompts with the tag ${tag}`);
}

await langfuse.createPrompt({ name: `${folder}/tone`, prompt: "kind", labels: ["production"] });
await langfuse.createPrompt({
  name: `${folder}/greeting`,
  prompt: `Dear {{name}}, be @@@langfusePrompt:name=${folder}/tone|label=production@@@.`,
  labels: ["production"],
  tags: ["sdk-text"],
  config: { model: "gpt-4o", temperature: 0.5 },
  commitMessage: "first",
});
await checkText(`${folder}/greeting`);
await langfuse.createPrompt({
  name: `${folder}/chat`,
  type: "chat",
  prompt: [
    { role: "system", content: "Be kind." },
    { type: "placeholder", name: "history" },
    { role: "user", content: "Where is {{name}}?" },
  ],
  labels: ["production"],
  tags: ["sdk-chat"],
});
await checkChat(`${folder}/chat`);

const name = `${folder}/versions`;
for (const prompt of ["one", "two"]) {
  await langfuse.createPrompt({ name, prompt, labels: ["production"] });
}
assert.equal((await langfuse.getPrompt(name)).prompt, "two");
assert.equal((await langfuse.getPrompt(name, 1)).prompt, "one");
await langfuse.updatePrompt({ name, version: 1, newLabels: ["production", "eu"] });
assert.equal((await langfuse.getPrompt(name, undefined, { cacheTtlSeconds: 0 })).prompt, "one");
assert.equal((await langfuse.getPrompt(name, undefined, { label: "eu" })).version, 1);

// What is cached is not asked for again, though somebody else has written a newer version.
const kept = `${folder}/kept`;
const cached = { cacheTtlSeconds: 600 };
await langfuse.createPrompt({ name: kept, prompt: "one", labels: ["production"] });
assert.equal((await langfuse.getPrompt(kept, undefined, cached)).prompt, "one");
await send("POST", "/api/public/v2/prompts", { name: kept, prompt: "two", labels: ["production"] });
assert.equal((await langfuse.getPrompt(kept, undefined, cached)).prompt, "one", "from the cache");
assert.equal((await langfuse.getPrompt(kept, undefined, { cacheTtlSeconds: 0 })).prompt, "two", "past it");

const missing = `${folder}/missing`;
const fallback = await langfuse.getPrompt(missing, undefined, { fallback: "Hi {{name}}", maxRetries: 0 });
assert.equal(fallback.compile({ name: "Ada" }), "Hi Ada");
await assert.rejects(langfuse.getPrompt(missing, undefined, { maxRetries: 0 }), /not found/i);

// The generation that used a prompt says which.
const prompt = await langfuse.getPrompt(name, 1);
const trace = langfuse.trace({ name: "prompted" });
trace.generation({ name: "ask", prompt, model: "gpt-4o" }).end();
await langfuse.shutdownAsync();
const [used] = (await get(`/api/public/traces/${trace.id}`)).observations;
assert.deepEqual([used.promptName, used.promptVersion], [name, 1]);
console.log("langfuse js 3: prompts ok");
