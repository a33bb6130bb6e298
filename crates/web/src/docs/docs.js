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

function access(operation) {
  const ways = (operation.security ?? []).flatMap((way) => Object.keys(way));
  return ways.length === 0 ? "no key needed" : `key: ${ways.join(" or ")}`;
}

function inside(doc, operation) {
  const parts = [make("p", { class: "note" }, access(operation))];
  if (operation.description) parts.push(make("p", {}, operation.description));
  const rows = (operation.parameters ?? []).map((given) => resolve(doc, given)).map((parameter) => [
    make("code", {}, parameter.name),
    `${parameter.in}, ${brief(parameter.schema)}${parameter.required ? ", required" : ""}`,
    parameter.description ?? "",
  ]);
  if (rows.length > 0) parts.push(make("h3", {}, "Parameters"), table(["name", "type", ""], rows));
  const body = resolve(doc, operation.requestBody);
  if (body?.content) parts.push(make("h3", {}, "Body"), ...bodies(doc, body.content));
  const answers = Object.entries(operation.responses ?? {}).map(([status, given]) => {
    const answer = resolve(doc, given);
    return make("details", {}, make("summary", {}, make("code", {}, status), " ", answer.description ?? ""), ...bodies(doc, answer.content));
  });
  parts.push(make("h3", {}, "Answers"), ...answers);
  return parts;
}

function entry(doc, path, method, operation) {
  const details = make(
    "details",
    { id: operation.operationId, "data-words": `${method} ${path} ${operation.summary ?? ""}`.toLowerCase() },
    make(
      "summary",
      {},
      make("code", { class: operation.deprecated ? "method old" : "method" }, method.toUpperCase()),
      make("code", {}, path),
      " ",
      make("span", { class: "note" }, operation.summary ?? ""),
    ),
  );
  details.addEventListener("toggle", () => details.append(...inside(doc, operation)), { once: true });
  return details;
}

function show(doc) {
  const groups = new Map();
  for (const [path, item] of Object.entries(doc.paths ?? {})) {
    for (const method of METHODS.filter((name) => item[name])) {
      const tag = item[method].tags?.[0] ?? "Other";
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(entry(doc, path, method, item[method]));
    }
  }
  const tags = [...groups.keys()].sort();
  const anchor = (tag) => `group-${tag.replaceAll(" ", "-")}`;
  document.querySelector("#about").textContent = `${doc.info?.description ?? ""} Version ${doc.info?.version ?? "?"}.`;
  document.querySelector("#tags").replaceChildren(...tags.map((tag) => make("a", { href: `#${anchor(tag)}` }, tag)));
  const sections = tags.map((tag) => make("section", { id: anchor(tag) }, make("h2", {}, tag), ...groups.get(tag)));
  document.querySelector("#operations").replaceChildren(...sections);
}

function find(text) {
  const wanted = text.trim().toLowerCase();
  for (const section of document.querySelectorAll("section")) {
    const entries = [...section.querySelectorAll("details[data-words]")];
    for (const one of entries) one.hidden = !one.dataset.words.includes(wanted);
    section.hidden = entries.every((one) => one.hidden);
  }
}

async function start() {
  const answer = await fetch("/api/openapi.json");
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  show(await answer.json());
  document.querySelector("#find").addEventListener("input", (event) => find(event.target.value));
  const asked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (asked?.tagName === "DETAILS") asked.open = true;
  asked?.scrollIntoView();
}

start().catch((why) => {
  document.querySelector("#about").textContent = `Cannot show the description: ${why.message}`;
});
