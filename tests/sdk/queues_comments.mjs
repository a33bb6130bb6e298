// Media, queues, comments, models and connections through the JavaScript SDK, read back over plain
// HTTP.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { LangfuseClient } from "@langfuse/client";
import { LangfuseMedia } from "@langfuse/core";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { startActiveObservation } from "@langfuse/tracing";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const baseUrl = process.env.RATCHET_URL.replace(/\/$/, "");
const publicKey = process.env.RATCHET_PUBLIC_KEY;
const secretKey = process.env.RATCHET_SECRET_KEY;
const keys = { baseUrl, publicKey, secretKey };
const mark = randomUUID().slice(0, 8);

const processor = new LangfuseSpanProcessor(keys);
const provider = new NodeTracerProvider({ spanProcessors: [processor] });
provider.register();
const { api } = new LangfuseClient(keys);

const authorization = `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString("base64")}`;
async function get(path) {
  const answer = await fetch(baseUrl + path, { headers: { authorization } });
  assert.equal(answer.status, 200, path);
  return answer.json();
}

const bytes = Buffer.from(`hello ${mark}`);
const media = new LangfuseMedia({
  source: "bytes",
  contentBytes: bytes,
  contentType: "text/html",
});
const traceId = await startActiveObservation(`page-${mark}`, async (span) => {
  span.update({ input: { page: media } });
  return span.traceId;
});
await provider.forceFlush();
const mediaId = await media.getId();
const kept = await get(`/api/public/media/${mediaId}`);
assert.equal(kept.contentLength, bytes.length);
const served = await fetch(kept.url);
assert.deepEqual(Buffer.from(await served.arrayBuffer()), bytes);
assert.equal(served.headers.get("content-disposition"), "attachment");
assert.equal(served.headers.get("content-type"), "application/octet-stream");

const queue = await api.annotationQueues.createQueue({ name: `js-${mark}`, scoreConfigIds: [] });
const item = await api.annotationQueues.createQueueItem(queue.id, {
  objectId: traceId,
  objectType: "TRACE",
});
const items = await get(`/api/public/annotation-queues/${queue.id}/items`);
assert.deepEqual(items.data.map((row) => row.id), [item.id]);

const comment = await api.comments.create({
  projectId: "sdk-checks",
  objectType: "TRACE",
  objectId: traceId,
  content: `from javascript, ${mark}`,
});
assert.equal((await get(`/api/public/comments/${comment.id}`)).content, `from javascript, ${mark}`);

const model = await api.models.create({
  modelName: `js-${mark}`,
  matchPattern: `^js-${mark}$`,
  unit: "TOKENS",
  inputPrice: 1,
});
assert.equal((await get(`/api/public/models/${model.id}`)).prices.input.price, 1);
await api.models.delete(model.id);

const connections = await api.llmConnections.list();
assert.ok(Array.isArray(connections.data));
await provider.shutdown();
