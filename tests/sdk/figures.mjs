// Observations v2, metrics and deletes with the Langfuse SDK for JavaScript.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { LangfuseClient } from "@langfuse/client";

const baseUrl = process.env.RATCHET_URL.replace(/\/$/, "");
const publicKey = process.env.RATCHET_PUBLIC_KEY;
const secretKey = process.env.RATCHET_SECRET_KEY;
const langfuse = new LangfuseClient({ baseUrl, publicKey, secretKey });
const authorization = `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString("base64")}`;

const mark = randomUUID().replaceAll("-", "");
const now = Date.now();
const moment = (millis) => new Date(now + millis).toISOString();
const event = (type, body) => ({ id: `${type}-${body.id}`, timestamp: moment(0), type, body });
const step = (number) => [
  event("trace-create", { id: `${mark}-${number}`, name: "figures", tags: [mark] }),
  event("generation-create", {
    id: `${mark}-call-${number}`,
    traceId: `${mark}-${number}`,
    name: `ask-${mark}`,
    model: "gpt-4o",
    startTime: moment(-60_000 * number),
    endTime: moment(-60_000 * number + 1_000),
    input: { number },
    usageDetails: { input: 8, output: 2 },
    costDetails: { input: 0.25 },
  }),
];
const recorded = await fetch(`${baseUrl}/api/public/ingestion`, {
  method: "POST",
  headers: { authorization, "content-type": "application/json" },
  body: JSON.stringify({ batch: [0, 1, 2].flatMap(step) }),
});
assert.deepEqual((await recorded.json()).errors, []);

const first = await langfuse.api.observations.getMany({ name: `ask-${mark}`, fields: "core,io,usage", limit: 2 });
assert.equal(first.data.length, 2);
const rest = await langfuse.api.observations.getMany({
  name: `ask-${mark}`,
  fields: "core,io,usage",
  limit: 2,
  cursor: first.meta.cursor,
});
assert.deepEqual(rest.data.map((row) => row.id), [`${mark}-call-2`]);
assert.equal(rest.data[0].input, '{"number":2}');
assert.equal(rest.data[0].totalCost, 0.25);
assert.equal(rest.meta.cursor ?? null, null);

const answer = await langfuse.api.metrics.metrics({
  query: JSON.stringify({
    view: "observations",
    metrics: [{ measure: "totalTokens", aggregation: "sum" }],
    dimensions: [{ field: "name" }],
    filters: [{ column: "name", operator: "=", value: `ask-${mark}`, type: "string" }],
    fromTimestamp: moment(-3_600_000),
    toTimestamp: moment(3_600_000),
  }),
});
assert.deepEqual(answer.data, [{ name: `ask-${mark}`, sum_totalTokens: 30 }]);

await langfuse.api.trace.delete(`${mark}-0`);
await langfuse.api.trace.deleteMultiple({ traceIds: [`${mark}-1`, `${mark}-2`] });
const left = await fetch(`${baseUrl}/api/public/traces?tags=${mark}`, { headers: { authorization } });
assert.deepEqual((await left.json()).data, []);
console.log("figures with javascript: ok");
