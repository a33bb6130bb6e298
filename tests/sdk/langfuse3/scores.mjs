// Scores of all kinds, as ../scores.py has them: `write`, or `read WRITER…`.

import assert from "node:assert/strict";

import { client } from "./client.mjs";

const langfuse = client({ fetchRetryCount: 0 });
const [action, ...writers] = process.argv.slice(2);

async function write() {
  const writer = "javascript3";
  const categories = [
    { label: "good", value: 1 },
    { label: "bad", value: -1 },
  ];
  const config = await langfuse.api.scoreConfigsCreate({
    name: `grade ${writer}`,
    dataType: "CATEGORICAL",
    categories,
  });
  const score = (name, value, more) =>
    langfuse.score({
      id: `${writer}-${name}`,
      traceId: `scores-${writer}`,
      comment: `by ${writer}`,
      name,
      value,
      ...more,
    });
  score("number", 0.25);
  score("step", 2, { observationId: "step" });
  score("boolean", 1, { dataType: "BOOLEAN" });
  score("label", "fine", { dataType: "CATEGORICAL" });
  score("graded", "bad", { dataType: "CATEGORICAL", configId: config.id });
  score("session", 0.5, { traceId: undefined, sessionId: `session-${writer}` });
  score("run", 0.75, { traceId: undefined, datasetRunId: `run-${writer}` });
  // Refused: no such category. The others of the batch are recorded all the same.
  score("refused", "great", { dataType: "CATEGORICAL", configId: config.id });
  await langfuse.shutdownAsync();
}

async function read(writer) {
  const rows = [];
  let page = 1;
  let pages;
  do {
    const answer = await langfuse.api.scoreV2Get({ traceId: `scores-${writer}`, limit: 3, page });
    rows.push(...answer.data);
    pages = answer.meta.totalPages;
    page += 1;
  } while (page <= pages);
  const value = (row) => (row.dataType === "CATEGORICAL" ? row.stringValue : row.value);
  const found = Object.fromEntries(rows.map((row) => [row.name, [row.dataType, value(row)]]));
  assert.deepEqual(found, {
    number: ["NUMERIC", 0.25],
    step: ["NUMERIC", 2],
    boolean: ["BOOLEAN", 1],
    label: ["CATEGORICAL", "fine"],
    [`grade ${writer}`]: ["CATEGORICAL", "bad"],
  });
}

if (action === "write") await write();
else for (const writer of writers) await read(writer);
