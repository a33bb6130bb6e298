// What the checks of version 3 share: clients, and plain HTTP to read what they wrote.

import assert from "node:assert/strict";

import { Langfuse } from "langfuse";

export const baseUrl = process.env.RATCHET_URL.replace(/\/$/, "");
export const publicKey = process.env.RATCHET_PUBLIC_KEY;
export const secretKey = process.env.RATCHET_SECRET_KEY;
const authorization = `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString("base64")}`;

export function client(options = {}) {
  return new Langfuse({ baseUrl, publicKey, secretKey, ...options });
}

export async function send(method, path, body) {
  const headers = { authorization, "content-type": "application/json" };
  const answer = await fetch(baseUrl + path, { method, headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.json();
}

export const get = (path) => send("GET", path);
