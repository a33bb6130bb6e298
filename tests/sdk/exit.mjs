// A process that shuts its SDK down and ends loses nothing; a killed one keeps what was
// acknowledged. In JavaScript nothing is flushed at the end unless the program says so.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { LangfuseSpanProcessor } from "@langfuse/otel";
import { startObservation } from "@langfuse/tracing";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const baseUrl = process.env.RATCHET_URL.replace(/\/$/, "");
const publicKey = process.env.RATCHET_PUBLIC_KEY;
const secretKey = process.env.RATCHET_SECRET_KEY;
const many = 1000;

function record() {
  const outer = startObservation("outer");
  outer.startObservation("inner", { input: "last words" }).end();
  outer.end();
  return outer.traceId;
}

async function check(traceId) {
  const authorization = `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString("base64")}`;
  const answer = await fetch(`${baseUrl}/api/public/traces/${traceId}`, { headers: { authorization } });
  assert.equal(answer.status, 200);
  const { observations } = await answer.json();
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
  console.log("langfuse js: exit ok");
} else {
  const processor = new LangfuseSpanProcessor({ baseUrl, publicKey, secretKey });
  const provider = new NodeTracerProvider({ spanProcessors: [processor] });
  provider.register();
  if (how === "ends") {
    console.log(record());
    await provider.shutdown();
  } else {
    for (let turn = 0; turn < many; turn += 1) {
      const traceId = record();
      await processor.forceFlush();
      console.log(traceId);
    }
  }
}
