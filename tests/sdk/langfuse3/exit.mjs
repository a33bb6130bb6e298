// A process that shuts its SDK down and ends loses nothing; a killed one keeps what was
// acknowledged. This SDK flushes nothing at the end unless the program says so.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { client, get } from "./client.mjs";

const many = 1000;

function record(langfuse) {
  const trace = langfuse.trace({ name: "exit" });
  trace.span({ name: "outer" }).span({ name: "inner", input: "last words" }).end();
  return trace.id;
}

async function check(traceId) {
  const { observations } = await get(`/api/public/traces/${traceId}`);
  assert.deepEqual(observations.map((row) => row.name).sort(), ["inner", "outer"]);
}

// The lines that a program of this file says until it has ended, or was killed after some.
async function said(how, killAfter = Infinity) {
  const stdio = ["ignore", "pipe", "inherit"];
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), how], { stdio });
  const lines = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === killAfter) child.kill("SIGKILL");
  }
  return lines;
}

const how = process.argv[2];
if (how === undefined) {
  const [ended] = await said("ends");
  await check(ended);
  const acknowledged = await said("goes-on", 5);
  assert.ok(acknowledged.length >= 5 && acknowledged.length < many, "killed in the middle");
  for (const traceId of acknowledged) await check(traceId);
  console.log("langfuse js 3: exit ok");
} else {
  const langfuse = client();
  if (how === "ends") {
    console.log(record(langfuse));
    await langfuse.shutdownAsync();
  } else {
    for (let turn = 0; turn < many; turn += 1) {
      const traceId = record(langfuse);
      await langfuse.flushAsync();
      console.log(traceId);
    }
  }
}
