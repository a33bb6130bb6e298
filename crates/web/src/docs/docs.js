// Shows the API's description. Every text becomes a text node, so nothing in it can be markup.

const METHODS = ["get", "post", "put", "patch", "delete"];

/** An element with attributes and children; texts among the children stay texts. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** What a reference inside the document leads to. */
function resolve(doc, value) {
  const path = value?.$ref;
  if (typeof path !== "string" || !path.startsWith("#/")) return value;
  const steps = path.slice(2).split("/").map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.reduce((inner, step) => inner?.[step], doc) ?? {};
}

function nameOf(schema) {
  return schema.$ref?.split("/").pop();
}

/** A type in a few words. */
function brief(schema) {
  if (!schema) return "anything";
  if (schema.$ref) return nameOf(schema);
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return choices.map(brief).join(" or ");
  if (schema.allOf) return schema.allOf.map(brief).join(" with ");
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(" | ");
  const types = [schema.type ?? "anything"].flat();
  const words = types.map((type) => {
    if (type === "array") return `list of ${brief(schema.items)}`;
    if (type === "object" && schema.additionalProperties) return `map of ${brief(schema.additionalProperties)}`;
    return schema.format ? `${type} (${schema.format})` : type;
  });
  return words.join(" or ");
}

function table(heads, rows) {
  const cells = (kind, texts) => make("tr", {}, ...texts.map((text) => make(kind, {}, text)));
  return make("table", {}, make("thead", {}, cells("th", heads)), make("tbody", {}, ...rows.map((row) => cells("td", row))));
}

/** A schema's fields, each type opened on demand: types may contain themselves. */
function fields(doc, schema) {
  const shown = resolve(doc, schema) ?? {};
  const parts = [];
  if (shown.description) parts.push(make("p", { class: "note" }, shown.description));
  const required = new Set(shown.required ?? []);
  const rows = Object.entries(shown.properties ?? {}).map(([name, field]) => [
    make("code", {}, name),
    make("span", {}, brief(field), required.has(name) ? ", required" : ""),
    field.description ?? resolve(doc, field)?.description ?? "",
  ]);
  if (rows.length > 0) parts.push(table(["field", "type", ""], rows));
  for (const inner of referred(shown)) parts.push(opened(doc, inner));
  if (parts.length === 0) parts.push(make("p", {}, make("code", {}, brief(shown))));
  return parts;
}

/** The references that a schema shows by name, each once. */
function referred(schema) {
  const found = new Map();
  const look = (value) => {
    if (!value || typeof value !== "object") return;
    if (value.$ref) found.set(value.$ref, value);
    else Object.values(value).forEach(look);
  };
  look({ ...schema, description: undefined });
  return [...found.values()];
}

/** A type that is filled in when it is opened. */
function opened(doc, schema) {
  const details = make("details", {}, make("summary", {}, make("code", {}, brief(schema))));
  details.addEventListener("toggle", () => details.append(...fields(doc, schema)), { once: true });
  return details;
}

function bodies(doc, content) {
  return Object.entries(content ?? {}).flatMap(([type, { schema }]) => [
    make("p", {}, make("code", {}, type), " ", make("span", { class: "note" }, brief(schema))),
    ...(schema?.$ref || schema?.properties ? [opened(doc, schema)] : referred(schema ?? {}).map((inner) => opened(doc, inner))),
  ]);
}

const WAYS = { basic: "public and secret key (Basic)", publicKey: "public key only (Bearer)" };

function access(operation) {
  const ways = (operation.security ?? []).flatMap((way) => Object.keys(way));
  return ways.length === 0 ? "No authentication." : `Authentication: ${ways.map((way) => WAYS[way] ?? way).join(" or ")}.`;
}

/** The call as one would type it; variables hold the key. */
function example(path, method, operation) {
  const words = ["curl"];
  if (method !== "get") words.push("-X", method.toUpperCase());
  if ((operation.security ?? []).some((way) => Object.keys(way).length > 0)) {
    words.push('-u "$RATCHET_PUBLIC_KEY:$RATCHET_SECRET_KEY"');
  }
  if (operation.requestBody?.content?.["application/json"]) {
    words.push("-H 'Content-Type: application/json' -d @body.json");
  }
  words.push(`'${location.origin}${path}'`);
  return make("code", { class: "call" }, words.join(" "));
}

function inside(doc, path, method, operation) {
  const parts = [make("p", { class: "note" }, access(operation))];
  if (operation.deprecated) parts.push(make("p", {}, "Deprecated."));
  if (operation.description) parts.push(make("p", {}, operation.description));
  parts.push(example(path, method, operation));
  const rows = (operation.parameters ?? []).map((given) => resolve(doc, given)).map((parameter) => [
    make("code", {}, parameter.name),
    `${parameter.in}, ${brief(parameter.schema)}${parameter.required ? ", required" : ""}`,
    parameter.description ?? "",
  ]);
  if (rows.length > 0) parts.push(make("h3", {}, "Parameters"), table(["name", "type", ""], rows));
  const body = resolve(doc, operation.requestBody);
  if (body?.content) parts.push(make("h3", {}, "Body"), ...bodies(doc, body.content));
  parts.push(make("h3", {}, "Responses"), ...answers(doc, operation));
  return parts;
}

/** What may come back: successes one by one, refusals, which are much the same everywhere, in one. */
function answers(doc, operation) {
  const all = Object.entries(operation.responses ?? {});
  const one = ([status, given]) => {
    const { description, content } = resolve(doc, given);
    return make("details", {}, make("summary", {}, make("code", {}, status), " ", description ?? ""), ...bodies(doc, content));
  };
  const refusals = all.filter(([status]) => status >= "400");
  const title = make("summary", {}, "refusals: ", make("code", {}, refusals.map(([status]) => status).join(" ")));
  const shown = all.filter(([status]) => status < "400").map(one);
  return refusals.length === 0 ? shown : [...shown, make("details", {}, title, ...refusals.map(one))];
}

function entry(doc, path, method, operation) {
  const summary = make(
    "summary",
    { class: operation.deprecated ? "operation old" : "operation" },
    make("code", { class: `method ${method}` }, method.toUpperCase()),
    make("code", {}, path),
    make("span", { class: "note" }, operation.summary ?? ""),
  );
  const words = `${method} ${path} ${operation.summary ?? ""}`.toLowerCase();
  const details = make("details", { id: operation.operationId, "data-words": words }, summary);
  const fill = () => details.append(...inside(doc, path, method, operation));
  details.addEventListener("toggle", fill, { once: true });
  // What is open can be sent to somebody.
  details.addEventListener("toggle", () => {
    if (details.open) address(details.id);
  });
  return details;
}

let lastOpened;

/** Puts the entry that was opened last into the address: once a frame, or browsers would balk. */
function address(id) {
  if (lastOpened === undefined) {
    requestAnimationFrame(() => {
      history.replaceState(null, "", `#${encodeURIComponent(lastOpened)}`);
      lastOpened = undefined;
    });
  }
  lastOpened = id;
}

/** A group's name as words: `LlmConnections` are LLM connections. */
function spaced(tag) {
  if (tag === "OpenTelemetry") return tag;
  const words = tag.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").split(" ");
  const [first, ...rest] = words.map((word) => (word === "Llm" ? "LLM" : word));
  return [first, ...rest.map((word) => word.toLowerCase())].join(" ");
}

function groupsOf(doc) {
  const groups = new Map();
  for (const [path, item] of Object.entries(doc.paths ?? {})) {
    for (const method of METHODS.filter((name) => item[name])) {
      const tag = spaced(item[method].tags?.[0] ?? "Other");
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(entry(doc, path, method, item[method]));
    }
  }
  return groups;
}

function show(doc) {
  const groups = groupsOf(doc);
  const tags = [...groups.keys()].sort();
  const anchor = (tag) => `group-${tag.replaceAll(" ", "-")}`;
  const link = (tag) => make("a", { href: `#${anchor(tag)}` }, tag, make("span", {}, `${groups.get(tag).length}`));
  document.querySelector("#about").textContent = `${doc.info?.description ?? ""} Version ${doc.info?.version ?? "?"}.`;
  document.querySelector("#tags").replaceChildren(...tags.map(link));
  const sections = tags.map((tag) => make("section", { id: anchor(tag) }, make("h2", {}, tag), ...groups.get(tag)));
  document.querySelector("#operations").replaceChildren(...sections);
}

/** Hides what lacks one of the words. */
function find(text) {
  const wanted = text.trim().toLowerCase().split(/\s+/);
  let shown = 0;
  for (const section of document.querySelectorAll("section")) {
    const entries = [...section.querySelectorAll("details[data-words]")];
    for (const one of entries) one.hidden = !wanted.every((word) => one.dataset.words.includes(word));
    shown += entries.filter((one) => !one.hidden).length;
    section.hidden = entries.every((one) => one.hidden);
    document.querySelector(`#tags a[href="#${CSS.escape(section.id)}"]`).hidden = section.hidden;
  }
  document.querySelector("#count").textContent = shown === 0 ? "no matches" : `${shown} operations`;
}

function open(hash) {
  const asked = document.getElementById(decodeURIComponent(hash.slice(1)));
  if (asked?.tagName === "DETAILS") asked.open = true;
  asked?.scrollIntoView();
}

async function start() {
  const answer = await fetch("/api/openapi.json");
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  show(await answer.json());
  const field = document.querySelector("#find");
  field.addEventListener("input", () => find(field.value));
  find(field.value);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || document.activeElement === field) return;
    event.preventDefault();
    field.focus();
  });
  open(location.hash);
}

start().catch((why) => {
  document.querySelector("#about").textContent = `Cannot load the OpenAPI document: ${why.message}`;
});
