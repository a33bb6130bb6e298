// Runs over a dataset with the SDK for JavaScript, and reads the items that Python SDKs made.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { LangfuseClient } from "@langfuse/client";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const baseUrl = process.env.RATCHET_URL.replace(/\/$/, "");
const publicKey = process.env.RATCHET_PUBLIC_KEY;
const secretKey = process.env.RATCHET_SECRET_KEY;
const keys = { baseUrl, publicKey, secretKey };
const langfuse = new LangfuseClient(keys);
const processor = new LangfuseSpanProcessor(keys);
const provider = new NodeTracerProvider({ spanProcessors: [processor] });
provider.register();

const capitals = { France: "Paris", Italy: "Rome", Spain: "Madrid" };

async function items(name) {
  const dataset = await langfuse.dataset.get(name);
  const found = dataset.items.map(({ input, expectedOutput }) => [input.country, expectedOutput]);
  assert.deepEqual(Object.fromEntries(found), capitals);
  return dataset;
}

const made = (await langfuse.api.datasets.list({ limit: 100 })).data;
const theirs = made.filter(({ name }) => name.startsWith("sdk datasets/"));
for (const { name } of theirs) await items(name);
console.log(`langfuse js: read ${theirs.length} datasets`);

const name = `sdk datasets/js/${randomUUID()}`;
await langfuse.api.datasets.create({ name, description: "capitals" });
for (const [country, capital] of Object.entries(capitals)) {
  await langfuse.api.datasetItems.create({
    datasetName: name,
    input: { country },
    expectedOutput: capital,
    metadata: { continent: "Europe" },
  });
}
const dataset = await items(name);
const result = await dataset.runExperiment({
  name: "capitals",
  runName: "run/js ü",
  description: "capitals",
  metadata: { by: "js" },
  task: async ({ input }) => capitals[input.country],
  evaluators: [
    async ({ output, expectedOutput }) => ({
      name: "exact",
      value: output === expectedOutput ? 1 : 0,
    }),
  ],
  runEvaluators: [async () => ({ name: "accuracy", value: 1 })],
});
await processor.forceFlush();
await langfuse.flush();
assert.equal(result.itemResults.length, 3);
const run = await langfuse.api.datasets.getRun(name, "run/js ü");
assert.equal(run.id, result.datasetRunId);
assert.equal(run.datasetRunItems.length, 3);
console.log("langfuse js: datasets ok");
await provider.shutdown();
