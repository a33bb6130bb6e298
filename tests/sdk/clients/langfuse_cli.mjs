// Calls every command of the Langfuse CLI that is not deprecated, and the older ones by their era.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const manifest = createRequire(import.meta.url).resolve("langfuse-cli/package.json");
const program = join(dirname(manifest), "bin/langfuse.mjs");
const environment = {
  ...process.env,
  LANGFUSE_BASE_URL: process.env.RATCHET_URL,
  LANGFUSE_PUBLIC_KEY: process.env.RATCHET_PUBLIC_KEY,
  LANGFUSE_SECRET_KEY: process.env.RATCHET_SECRET_KEY,
};
const called = new Set();

function launch(...words) {
  const options = { env: environment, encoding: "utf8", maxBuffer: 1 << 26 };
  return spawnSync(process.execPath, [program, ...words], options);
}

// Runs one command and returns the body of the answer.
function api(...words) {
  const { status, stdout, stderr } = launch("api", ...words, "--json");
  assert.equal(status, 0, `${words.join(" ")}: ${stdout}${stderr}`);
  called.add(words.slice(0, 2).join(" "));
  return JSON.parse(stdout).body;
}

const body = (value) => ["--body-json", JSON.stringify(value)];
const names = (list) => list.map((row) => row.name);
const mark = randomUUID().slice(0, 8);
const hex = (length) => randomUUID().replaceAll("-", "").repeat(2).slice(0, length);

// Runs one command that is refused, and returns the status of the answer.
function refused(...words) {
  const { status, stdout, stderr } = launch("api", ...words, "--json");
  assert.equal(status, 5, `${words.join(" ")}: ${stdout}${stderr}`);
  called.add(words.slice(0, 2).join(" "));
  return JSON.parse(stdout).status;
}

// ---- What the server is.
assert.equal(api("health", "get").status, "OK");
const detected = launch("api", "versions", "detect").stdout;
assert.match(detected, /^4\.\d+\.\d+ -> 4\./);
const [project] = api("projects", "list").data;

// ---- Telemetry.
const [trace, span] = [hex(32), hex(16)];
const began = BigInt(Date.now()) * 1_000_000n;
const attribute = (key, stringValue) => ({ key, value: { stringValue } });
const sent = {
  traceId: trace,
  spanId: span,
  name: `cli-${mark}`,
  startTimeUnixNano: String(began),
  endTimeUnixNano: String(began + 1_000_000_000n),
  attributes: [
    attribute("langfuse.observation.type", "generation"),
    attribute("langfuse.observation.model.name", "gpt-4o"),
    attribute("langfuse.observation.usage_details", '{"input":800,"output":100}'),
    attribute("langfuse.session.id", `session/${mark}`),
  ],
};
api("otel", "export-traces", ...body({ resourceSpans: [{ scopeSpans: [{ spans: [sent] }] }] }));
const [row] = api("observations", "list", "--trace-id", trace, "--fields", "core,basic,usage").data;
assert.deepEqual([row.id, row.type, row.totalCost], [span, "GENERATION", 0.003]);
const query = {
  view: "observations",
  metrics: [{ measure: "count", aggregation: "count" }],
  filters: [{ column: "name", operator: "=", value: `cli-${mark}`, type: "string" }],
  fromTimestamp: new Date(Date.now() - 3_600_000).toISOString(),
  toTimestamp: new Date(Date.now() + 3_600_000).toISOString(),
};
const [figures] = api("metrics", "get", "--query", JSON.stringify(query)).data;
assert.equal(Number(figures.count_count), 1);

// ---- Scores.
const config = api("score-configs", "create", "--name", `stars-${mark}`, "--data-type", "NUMERIC");
api("score-configs", "update", config.id, "--description", "one to five");
assert.equal(api("score-configs", "get", config.id).description, "one to five");
assert.ok(names(api("score-configs", "list", "--all").data).includes(config.name));
const score = { name: config.name, value: 4.5, traceId: trace, configId: config.id };
const { id: scored } = api("scores", "create", ...body(score));
const [read] = api("scores", "list", "--trace-id", trace).data;
assert.deepEqual([read.id, read.value], [scored, 4.5]);
api("scores", "delete", scored);

// ---- Prompts, in both forms.
const text = { type: "text", name: `text-${mark}`, prompt: "Say {{x}}", labels: ["production"] };
assert.equal(api("prompts", "create", ...body(text)).version, 1);
const chat = [{ role: "user", content: "{{x}}" }];
api("prompts", "create", ...body({ type: "chat", name: `folder/chat ${mark}`, prompt: chat }));
api("prompts", "update-version", text.name, "1", ...body({ newLabels: ["staging"] }));
const prompt = api("prompts", "get", text.name, "--label", "staging");
assert.deepEqual([prompt.prompt, prompt.labels.sort()], ["Say {{x}}", ["latest", "production", "staging"]]);
assert.equal(api("prompts", "get", `folder/chat ${mark}`, "--version", "1").prompt[0].role, "user");
assert.ok(names(api("prompts", "list", "--all").data).includes(text.name));
api("prompts", "delete", text.name);

// ---- Datasets.
const dataset = `folder/set ${mark}`;
api("datasets", "create", ...body({ name: dataset, metadata: { n: 1 } }));
const { id: datasetId, metadata } = api("datasets", "get", dataset);
assert.deepEqual(metadata, { n: 1 });
assert.ok(names(api("datasets", "list", "--all").data).includes(dataset));
const item = api("dataset-items", "create", ...body({ datasetName: dataset, input: { q: 1 } }));
assert.deepEqual(api("dataset-items", "get", item.id).input, { q: 1 });
assert.equal(api("dataset-items", "list", "--dataset-name", dataset).data.length, 1);
const since = ["--from-start-time", new Date(Date.now() - 3_600_000).toISOString()];
assert.deepEqual(api("experiments", "list", ...since, "--dataset-id", datasetId).data, []);
assert.deepEqual(api("experiment-items", "list", ...since, "--experiment-id", mark).data, []);
api("dataset-items", "delete", item.id);

// ---- Queues, comments, media.
const queue = api("annotation-queues", "create", ...body({ name: `q-${mark}`, scoreConfigIds: [config.id] }));
assert.equal(api("annotation-queues", "get", queue.id).name, queue.name);
assert.ok(names(api("annotation-queues", "list", "--all").data).includes(queue.name));
const about = ["--object-id", trace, "--object-type", "TRACE"];
const waiting = api("annotation-queues", "create-item", queue.id, ...about);
api("annotation-queues", "update-item", queue.id, waiting.id, "--status", "COMPLETED");
assert.equal(api("annotation-queues", "get-item", queue.id, waiting.id).status, "COMPLETED");
assert.equal(api("annotation-queues", "list-items", queue.id).data.length, 1);
api("annotation-queues", "delete-item", queue.id, waiting.id);
const [member] = api("organizations", "list-memberships").memberships;
api("annotation-queues", "create-assignment", queue.id, "--user-id", member.userId);
api("annotation-queues", "delete-assignment", queue.id, "--user-id", member.userId);
const comment = api("comments", "create", "--content", "fine", "--project-id", project.id, ...about);
assert.equal(api("comments", "get", comment.id).content, "fine");
assert.equal(api("comments", "list", "--object-type", "TRACE", "--object-id", trace).data.length, 1);
const bytes = Buffer.from(`bytes of ${mark}`);
const hash = createHash("sha256").update(bytes).digest("base64");
const upload = api("media", "get-upload-url", "--content-length", String(bytes.length), "--content-type",
  "text/plain", "--field", "input", "--sha256-hash", hash, "--trace-id", trace);
const type = { "content-type": "text/plain", "x-amz-checksum-sha256": hash };
const put = await fetch(upload.uploadUrl, { method: "PUT", body: bytes, headers: type });
assert.equal(put.status, 200);
api("media", "update", upload.mediaId, "--uploaded-at", new Date().toISOString(), "--upload-http-status", "200");
assert.equal(api("media", "get", upload.mediaId).contentLength, bytes.length);

// ---- Models and connections.
const model = { modelName: `m-${mark}`, matchPattern: `(?i)^m-${mark}$`, unit: "TOKENS", inputPrice: 1 };
const { id: modelId } = api("models", "create", ...body(model));
api("models", "upsert", modelId, ...body({ ...model, inputPrice: 2 }));
assert.equal(api("models", "get", modelId).inputPrice, 2);
assert.ok(api("models", "list", "--all").data.some((row) => row.modelName === model.modelName));
api("models", "delete", modelId);
const secret = ["--provider", `p-${mark}`, "--provider-secret-key", "sk-none"];
const connection = api("llm-connections", "upsert", "--adapter", "openai", ...secret);
assert.ok(api("llm-connections", "list").data.some((row) => row.id === connection.id));
api("llm-connections", "delete", connection.id);

// ---- Evaluators, rules and dashboards.
const judge = {
  type: "llm_as_judge",
  name: `judge-${mark}`,
  prompt: "Is {{answer}} right?",
  variableMapping: [{ variable: "answer", source: "output" }],
  outputDefinition: { dataType: "BOOLEAN" },
};
const evaluator = api("evaluators", "create", ...body(judge));
api("evaluators", "update", evaluator.id, ...body({ description: "of the CLI" }));
assert.equal(api("evaluators", "get", evaluator.id).name, judge.name);
assert.ok(names(api("evaluators", "list", "--all").data).includes(judge.name));
assert.ok(api("evaluators", "list-versions", evaluator.id).data.length >= 1);
const assigned = ["--evaluator-assignments", JSON.stringify([{ evaluatorId: evaluator.id }])];
const rule = api("evaluation-rules", "create", "--enabled", "--name", `rule-${mark}`, ...assigned);
api("evaluation-rules", "update", rule.id, "--no-enabled");
assert.equal(api("evaluation-rules", "get", rule.id).enabled, false);
assert.ok(names(api("evaluation-rules", "list", "--all").data).includes(rule.name));
api("evaluation-rules", "delete", rule.id);
api("evaluators", "delete", evaluator.id);
const cost = { view: "observations", dimensions: [], filters: [], chartType: "NUMBER" };
const metrics = [{ measure: "totalCost", agg: "sum" }];
const widget = api("unstable-dashboard-widgets", "create", ...body({ ...cost, metrics, name: `w-${mark}` }));
api("unstable-dashboard-widgets", "update", widget.id, "--description", "cost");
assert.equal(api("unstable-dashboard-widgets", "get", widget.id).description, "cost");
assert.ok(names(api("unstable-dashboard-widgets", "list", "--all").data).includes(widget.name));
const board = api("unstable-dashboards", "create", ...body({ name: `d-${mark}` }));
api("unstable-dashboards", "update", board.id, "--description", "costs");
const shown = ["--type", "widget", "--widget-id", widget.id];
const place = api("unstable-dashboards", "add-placement", board.id, ...shown);
api("unstable-dashboards", "update-placement", board.id, place.id, "--x", "3");
assert.equal(api("unstable-dashboards", "get", board.id).description, "costs");
assert.ok(names(api("unstable-dashboards", "list", "--all").data).includes(board.name));
api("unstable-dashboards", "delete-placement", board.id, place.id);
api("unstable-dashboards", "delete", board.id);
api("unstable-dashboard-widgets", "delete", widget.id);

// ---- Organization, projects, people.
api("organizations", "list-api-keys");
assert.ok(names(api("organizations", "list-projects").projects).includes(project.name));
const made = api("projects", "create", "--name", `made-${mark}`, "--retention", "0");
api("projects", "update", made.id, "--name", `renamed-${mark}`);
const key = api("projects", "create-api-key", made.id, "--note", "of the CLI");
const keys = api("projects", "list-api-keys", made.id).apiKeys;
assert.ok(keys.some((row) => row.publicKey === key.publicKey));
api("projects", "delete-api-key", made.id, key.id);
const person = ["--user-id", member.userId];
api("organizations", "update-membership", "--role", member.role, ...person);
api("projects", "update-membership", made.id, "--role", "MEMBER", ...person);
assert.equal(api("projects", "list-memberships", made.id).memberships.length, 1);
api("projects", "delete-membership", made.id, ...person);
api("projects", "delete", made.id);
const praise = ["--feedback", "fine", "--target", "api prompts list", "--target-type", "cli"];
api("feedback", "submit", ...praise);

// ---- What each older era of the API calls its commands.
for (const era of ["3.50.0", "3.225.3"]) {
  const old = (...words) => api(...words, "--api-version", era);
  const resources = JSON.parse(launch("api", "schema", "--json", "--api-version", era).stdout).resources;
  const usable = resources.flatMap(({ name, actions }) =>
    actions.filter((action) => !action.deprecated).map((action) => `${name} ${action.name}`));
  const reads = { "traces get": [trace], "observations get": [span], "sessions get": [`session/${mark}`] };
  for (const [command, ids] of Object.entries(reads)) {
    if (usable.includes(command)) assert.equal(old(...command.split(" "), ...ids).id, ids[0]);
  }
  for (const kind of ["traces", "observations", "sessions", "scores", "prompts", "datasets"]) {
    if (usable.includes(`${kind} list`)) old(kind, "list", "--limit", "2");
  }
  if (usable.includes("metrics list-daily")) old("metrics", "list-daily", "--limit", "2");
  const { id } = old("scores", "create", ...body({ name: "era", value: 1, traceId: trace }));
  assert.equal(old("scores", "get", id).value, 1);
  const tried = old("dataset-items", "create", ...body({ datasetName: dataset, input: era }));
  const attempt = { runName: `run ${era}`, datasetItemId: tried.id, traceId: trace };
  old("dataset-run-items", "create", ...body(attempt));
  assert.equal(old("datasets", "get-run", dataset, attempt.runName).datasetRunItems.length, 1);
  assert.deepEqual(names(old("datasets", "list-runs", dataset).data), [attempt.runName]);
  old("datasets", "delete-run", dataset, attempt.runName);
}

// ---- What goes, what nobody has, and what is left out on purpose.
api("traces", "delete", trace);
api("traces", "delete-many", ...body({ traceIds: [trace] }));
assert.equal(refused("organizations", "delete-membership", "--user-id", `nobody-${mark}`), 404);
assert.equal(refused("prompts", "get", `nobody-${mark}`), 404);
const left = [["scim", "create-user", ...body({ userName: "a", name: {} })]];
for (const action of ["get-user", "delete-user"]) left.push(["scim", action, "a"]);
const described = ["list-users", "list-schemas", "list-resource-types", "get-service-provider-config"];
for (const action of described) left.push(["scim", action]);
left.push(["integrations", "list-blob-storage"], ["integrations", "delete-blob-storage", "a"]);
left.push(["integrations", "get-blob-storage-integration-status", "a"]);
left.push(["integrations", "upsert-blob-storage", ...body({})]);
for (const words of left) assert.equal(refused(...words), 404, words.join(" "));

const schema = JSON.parse(launch("api", "schema", "--json").stdout);
const every = schema.resources.flatMap(({ name, actions }) =>
  actions.filter((action) => !action.deprecated).map((action) => `${name} ${action.name}`));
assert.deepEqual(every.filter((command) => !called.has(command)), []);
console.log(`langfuse-cli: ok, ${called.size} commands`);
