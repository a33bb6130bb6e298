// Runs over a dataset with version 3 of the SDK for JavaScript, and reads the items and runs that
// others made.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { client, get, send } from "./client.mjs";

const langfuse = client();
const capitals = { France: "Paris", Italy: "Rome", Spain: "Madrid" };

async function items(name) {
  const dataset = await langfuse.getDataset(name, { fetchItemsPageSize: 2 });
  const found = dataset.items.map(({ input, expectedOutput }) => [input.country, expectedOutput]);
  assert.deepEqual(Object.fromEntries(found), capitals);
  return dataset;
}

const { data: made } = await langfuse.api.datasetsList({ limit: 100 });
const theirs = made.filter(({ name }) => name.startsWith("sdk datasets/"));
for (const { name } of theirs) {
  const dataset = await items(name);
  for (const run of (await langfuse.getDatasetRuns(name)).data) {
    const whole = await langfuse.getDatasetRun({ datasetName: name, runName: run.name });
    const tried = whole.datasetRunItems.map((item) => item.datasetItemId).sort();
    assert.deepEqual(tried, dataset.items.map((item) => item.id).sort());
  }
}
console.log(`langfuse js 3: read ${theirs.length} datasets`);

const name = `sdk datasets/js3/${randomUUID()}`;
await langfuse.createDataset({ name, description: "capitals", metadata: { by: "js3" } });
for (const [country, capital] of Object.entries(capitals)) {
  await langfuse.createDatasetItem({
    datasetName: name,
    id: `${name}/${country}`,
    input: { country },
    expectedOutput: capital,
    metadata: { continent: "Europe" },
  });
}
const named = (await get("/api/public/datasets?limit=100")).data.find((row) => row.name === name);
assert.equal(named.items.length, 3);
assert.deepEqual(named.runs, []);
assert.equal((await langfuse.getDatasetItem(encodeURIComponent(`${name}/Italy`))).expectedOutput, "Rome");

const runName = "run/js3 ü";
const dataset = await items(name);
for (const item of dataset.items) {
  const trace = langfuse.trace({ name: "capital", input: item.input, output: capitals[item.input.country] });
  await item.link(trace, runName, { description: "capitals", metadata: { by: "js3" } });
  trace.score({ name: "exact", value: 1 });
}
await langfuse.flushAsync();
const run = await langfuse.getDatasetRun({ datasetName: name, runName });
assert.equal(run.datasetRunItems.length, 3);
assert.equal(run.description, "capitals");
await send("POST", "/api/public/scores", { datasetRunId: run.id, name: "accuracy", value: 1 });
const since = new Date(Date.now() - 3_600_000).toISOString();
const query = new URLSearchParams({ fromStartTime: since, id: run.id, fields: "scores" });
const [experiment] = (await get(`/api/public/experiments?${query}`)).data;
assert.equal(experiment.itemCount, 3);
assert.deepEqual(experiment.scores.map((score) => score.name), ["accuracy"]);
await langfuse.shutdownAsync();
console.log("langfuse js 3: datasets ok");
