// Scores of all kinds, as scores.py has them: `write`, or `read WRITER…`. Also the feedback snippet,
// in a page that is just enough of one.

import assert from "node:assert/strict";

import { LangfuseClient } from "@langfuse/client";

const baseUrl = process.env.RATCHET_URL.replace(/\/$/, "");
const publicKey = process.env.RATCHET_PUBLIC_KEY;
const langfuse = new LangfuseClient({ baseUrl, publicKey, secretKey: process.env.RATCHET_SECRET_KEY });
const [action, ...writers] = process.argv.slice(2);

async function write() {
  const writer = "javascript";
  const categories = [
    { label: "good", value: 1 },
    { label: "bad", value: -1 },
  ];
  const config = await langfuse.api.scoreConfigs.create({
    name: `grade ${writer}`,
    dataType: "CATEGORICAL",
    categories,
  });
  const score = (name, value, more) =>
    langfuse.score.create({
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
  score("said", "could be shorter", { traceId: `scores-${writer}-words`, dataType: "TEXT" });
  score("output", "the right answer", { traceId: `scores-${writer}-words`, dataType: "CORRECTION" });
  score("refused", "great", { dataType: "CATEGORICAL", configId: config.id });
  await langfuse.flush();
}

async function read(writer) {
  const rows = [];
  let cursor;
  do {
    const slice = await langfuse.api.scoresV3.getManyV3({ traceId: `scores-${writer}`, limit: 3, cursor });
    rows.push(...slice.data);
    cursor = slice.meta.cursor;
  } while (cursor);
  const found = Object.fromEntries(rows.map((row) => [row.name, [row.dataType, row.value]]));
  assert.deepEqual(found, {
    number: ["NUMERIC", 0.25],
    step: ["NUMERIC", 2],
    boolean: ["BOOLEAN", true],
    label: ["CATEGORICAL", "fine"],
    [`grade ${writer}`]: ["CATEGORICAL", "bad"],
  });
}

// The snippet as a browser would run it: with a script element and a document around it.
async function snippet() {
  const source = await (await fetch(`${baseUrl}/feedback.js`)).text();
  assert.ok(source.length < 1200, "the snippet is about a kilobyte");
  const buttons = [];
  const script = {
    src: `${baseUrl}/feedback.js`,
    dataset: { publicKey, traceId: "scores-page" },
    before: (...added) => buttons.push(...added.filter((one) => typeof one === "object")),
  };
  // A thumb waits for its trace.
  const basic = `Basic ${btoa(`${publicKey}:${process.env.RATCHET_SECRET_KEY}`)}`;
  for (const id of ["scores-page", "scores-called"]) {
    const headers = { Authorization: basic, "Content-Type": "application/json" };
    const made = await fetch(`${baseUrl}/api/public/traces`, { method: "POST", headers, body: JSON.stringify({ id }) });
    assert.ok(made.ok, await made.text());
  }
  const window = {};
  const document = { currentScript: script, createElement: () => ({}) };
  new Function("document", "window", source)(document, window);
  assert.deepEqual(buttons.map((button) => button.textContent), ["Helpful", "Not helpful"]);
  const thumbs = async (traceId) => {
    const { data } = await langfuse.api.scoresV3.getManyV3({ traceId, fields: "details" });
    return data.map(({ name, value, comment }) => ({ name, value, comment }));
  };
  await buttons[0].onclick();
  const up = { name: "thumbs_feedback", value: true, comment: null };
  assert.deepEqual(await thumbs("scores-page"), [up]);
  await buttons[1].onclick();
  assert.deepEqual(await thumbs("scores-page"), [{ ...up, value: false }], "a changed mind is one score");
  assert.deepEqual(buttons.map((button) => button.textContent), ["Helpful", "Not helpful ✓"]);
  assert.deepEqual(buttons.map((button) => button.ariaPressed), [false, true]);
  script.dataset.publicKey = "pk-lf-nobody";
  await assert.rejects(buttons[0].onclick(), /key/);
  assert.deepEqual(buttons.map((button) => button.textContent), ["Helpful: not sent", "Not helpful"]);
  script.dataset.publicKey = publicKey;
  await window.ratchetFeedback("scores-called", false, "wrong city");
  assert.deepEqual(await thumbs("scores-called"), [{ ...up, value: false, comment: "wrong city" }]);
  await assert.rejects(window.ratchetFeedback("", true), /traceId/);
}

if (action === "write") {
  await write();
} else {
  for (const writer of writers) await read(writer);
  await snippet();
}
