// Media, queues and comments through version 3 of the SDK for JavaScript, read back over plain HTTP.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { LangfuseMedia } from "langfuse";

import { client, get, send } from "./client.mjs";

const langfuse = client();
const mark = randomUUID().slice(0, 8);

const body = { name: `js3-${mark}`, scoreConfigIds: [] };
const queue = await send("POST", "/api/public/annotation-queues", body);
assert.equal((await langfuse.api.annotationQueuesGetQueue(queue.id)).name, `js3-${mark}`);

// Media inside an event are uploaded by the SDK itself, once its cryptography is loaded: that goes
// on in the background, and the calls before this one have given it time.
const bytes = Buffer.from(`hello ${mark}`);
const media = new LangfuseMedia({ contentBytes: bytes, contentType: "text/plain" });
const trace = langfuse.trace({ name: "gallery", input: { page: media } });
await langfuse.flushAsync();
const found = await get(`/api/public/traces/${trace.id}`);
const [, id] = /id=([^|@]+)/.exec(found.input.page);
const kept = await get(`/api/public/media/${id}`);
assert.equal(kept.contentType, "text/plain");
assert.deepEqual(Buffer.from(await (await fetch(kept.url)).arrayBuffer()), bytes);
const resolved = await langfuse.resolveMediaReferences({ obj: found.input, resolveWith: "base64DataUri" });
assert.equal(resolved.page, `data:text/plain;base64,${bytes.toString("base64")}`);

const entry = { objectId: trace.id, objectType: "TRACE" };
const item = await langfuse.api.annotationQueuesCreateQueueItem(queue.id, entry);
await langfuse.api.annotationQueuesUpdateQueueItem(queue.id, item.id, { status: "COMPLETED" });
const items = await get(`/api/public/annotation-queues/${queue.id}/items?status=COMPLETED`);
assert.deepEqual(items.data.map((row) => row.id), [item.id]);
await langfuse.api.annotationQueuesDeleteQueueItem(queue.id, item.id);
assert.deepEqual((await get(`/api/public/annotation-queues/${queue.id}/items`)).data, []);

const comment = await langfuse.api.commentsCreate({
  projectId: "sdk-checks",
  objectType: "TRACE",
  objectId: trace.id,
  content: `from javascript 3, ${mark}`,
});
assert.equal((await get(`/api/public/comments/${comment.id}`)).content, `from javascript 3, ${mark}`);
const said = await langfuse.api.commentsGet({ objectType: "TRACE", objectId: trace.id });
assert.deepEqual(said.data.map((row) => row.id), [comment.id]);
await langfuse.shutdownAsync();
console.log("langfuse js 3: queues and comments ok");
