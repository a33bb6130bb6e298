// Makes prompts with the SDK for JavaScript, and reads those that the Python SDKs made before.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { LangfuseClient } from "@langfuse/client";

const baseUrl = process.env.RATCHET_URL.replace(/\/$/, "");
const publicKey = process.env.RATCHET_PUBLIC_KEY;
const secretKey = process.env.RATCHET_SECRET_KEY;
const langfuse = new LangfuseClient({ baseUrl, publicKey, secretKey });
const folder = `sdk prompts/${randomUUID()}`;
const history = [
  { role: "user", content: "Hi" },
  { role: "assistant", content: "Hello" },
];

async function checkText(name) {
  const prompt = await langfuse.prompt.get(name, { cacheTtlSeconds: 0 });
  assert.equal(prompt.compile({ name: "Ada" }), "Dear Ada, be kind.");
  assert.deepEqual(prompt.config, { model: "gpt-4o", temperature: 0.5 });
  assert.deepEqual(prompt.labels, ["production", "latest"]);
  assert.equal(prompt.commitMessage, "first");
}

async function checkChat(name) {
  const prompt = await langfuse.prompt.get(name, { type: "chat", cacheTtlSeconds: 0 });
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
  const made = await langfuse.api.prompts.list({ tag, limit: 100 });
  for (const { name } of made.data) await check(name);
  console.log(`langfuse js: read ${made.data.length} prompts with the tag ${tag}`);
}

await langfuse.prompt.create({ name: `${folder}/tone`, prompt: "kind", labels: ["production"] });
await langfuse.prompt.create({
  name: `${folder}/greeting`,
  prompt: `Dear {{name}}, be @@@langfusePrompt:name=${folder}/tone|label=production@@@.`,
  labels: ["production"],
  tags: ["sdk-text"],
  config: { model: "gpt-4o", temperature: 0.5 },
  commitMessage: "first",
});
await checkText(`${folder}/greeting`);
await langfuse.prompt.create({
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
  await langfuse.prompt.create({ name, prompt, labels: ["production"] });
}
assert.equal((await langfuse.prompt.get(name)).prompt, "two");
await langfuse.prompt.update({ name, version: 1, newLabels: ["production", "eu"] });
assert.equal((await langfuse.prompt.get(name, { cacheTtlSeconds: 0 })).prompt, "one");
assert.equal((await langfuse.prompt.get(name, { version: 2 })).prompt, "two");
assert.equal((await langfuse.prompt.get(name, { label: "eu" })).version, 1);

// What is cached is not asked for again, though somebody else has written a newer version.
const kept = `${folder}/kept`;
const cached = { cacheTtlSeconds: 600 };
await langfuse.prompt.create({ name: kept, prompt: "one", labels: ["production"] });
assert.equal((await langfuse.prompt.get(kept, cached)).prompt, "one");
const newer = await fetch(`${baseUrl}/api/public/v2/prompts`, {
  method: "POST",
  headers: {
    authorization: `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString("base64")}`,
    "content-type": "application/json",
  },
  body: JSON.stringify({ name: kept, prompt: "two", labels: ["production"] }),
});
assert.ok(newer.ok);
assert.equal((await langfuse.prompt.get(kept, cached)).prompt, "one", "from the cache");
assert.equal((await langfuse.prompt.get(kept, { cacheTtlSeconds: 0 })).prompt, "two", "past it");

const missing = `${folder}/missing`;
const fallback = await langfuse.prompt.get(missing, { fallback: "Hi {{name}}", maxRetries: 0 });
assert.equal(fallback.compile({ name: "Ada" }), "Hi Ada");
await assert.rejects(langfuse.prompt.get(missing, { maxRetries: 0 }));
await langfuse.prompt.delete(name);
await assert.rejects(langfuse.prompt.get(name, { cacheTtlSeconds: 0, maxRetries: 0 }));
console.log("langfuse js: prompts ok");
