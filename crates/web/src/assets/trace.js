// One trace: the tree under the keys, content on demand, columns to drag.
import { toast } from "./ratchet.js";

const page = document.querySelector(".trace-page");
const tree = document.getElementById("tree");
const panes = page.querySelector(".panes");
const base = page.dataset.trace;
const total = Number(tree.dataset.total);
const perChunk = Number(tree.dataset.chunk);
const errors = tree.dataset.errors ? tree.dataset.errors.split(",").map(Number) : [];
const chunks = [...tree.querySelectorAll(".chunk")];
const closed = new Map(); // number of a closed line -> how many lines are below it

/** What the address says besides the step: the scope, and the view unless it is the usual one. */
function query(extra) {
  const params = new URLSearchParams(location.search);
  for (const name of ["observation", "from", "to", "done"]) params.delete(name);
  for (const [name, value] of Object.entries(extra)) {
    if (value) params.set(name, value);
    else params.delete(name);
  }
  const text = params.toString();
  return text ? `?${text}` : "";
}

/** Fetches markup of ours. Scripts in it would not run: it never passes through an HTML setter. */
async function fetched(address, signal) {
  const answer = await fetch(address, { signal, headers: { accept: "text/html" } });
  if (!answer.ok) throw new Error(`the server returned ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html").body;
}

// Sizes live in a style sheet of our own: `style=` attributes are what the policy forbids.

const sheet = new CSSStyleSheet();
document.adoptedStyleSheets.push(sheet);
const columns = {}; // widths of columns
let tall = "";
function lay() {
  const widths = Object.entries(columns).map(([name, width]) => `--${name}: ${width}px;`).join(" ");
  sheet.replaceSync(`.panes { ${widths} ${tall} }`);
}

// The tree.

const line = (number) => tree.querySelector(`[data-row="${number}"]`);
const belowOf = (node) => Number(node.dataset.below ?? 0);
const isHidden = (number) => [...closed].some(([from, below]) => number > from && number <= from + below);

const numberOf = new Map(); // id of a step that was loaded -> number of its line

function settle(nodes) {
  for (const node of nodes) {
    const number = Number(node.dataset.row);
    if (node.dataset.id) numberOf.set(node.dataset.id, number);
    node.tabIndex = node.ariaSelected === "true" ? 0 : -1;
    node.hidden = isHidden(number);
    if (node.ariaExpanded !== null) node.setAttribute("aria-expanded", String(!closed.has(number)));
  }
}

// Lines out of sight are taken out of the page and kept, so that it stays light at any size.
const away = new Map();
const loading = new Map();
function put(chunk, nodes) {
  settle(nodes);
  chunk.replaceChildren(...nodes);
  away.delete(chunk);
}

const hasLines = (chunk) => Boolean(chunk.firstElementChild?.matches(".node"));

/** Leaves room for so many lines. */
function keepRoom(chunk, lines) {
  const room = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  room.setAttribute("class", "room");
  room.setAttribute("height", String(lines * height));
  chunk.replaceChildren(room);
}

function load(chunk) {
  if (hasLines(chunk)) return Promise.resolve();
  if (away.has(chunk)) return Promise.resolve(put(chunk, away.get(chunk)));
  const known = loading.get(chunk);
  if (known) return known;
  const { from, to } = chunk.dataset;
  const work = fetched(`${base}/rows${query({ from, to, view: "" })}`)
    .then((body) => put(chunk, [...body.children]))
    .finally(() => loading.delete(chunk));
  loading.set(chunk, work);
  return work;
}

function takeAway(chunk) {
  if (!hasLines(chunk)) return;
  const nodes = [...chunk.children];
  const isNeeded = nodes.some((node) => node.ariaSelected === "true" || node === document.activeElement);
  if (isNeeded) return;
  away.set(chunk, nodes);
  keepRoom(chunk, nodes.filter((node) => !node.hidden).length);
}

const chunkOf = (number) => chunks[Math.floor(number / perChunk)];
const height = tree.querySelector(".node")?.offsetHeight || 28;
for (const chunk of chunks) {
  if (!hasLines(chunk)) keepRoom(chunk, chunk.dataset.to - chunk.dataset.from);
}
settle(tree.querySelectorAll(".node"));
const inSight = new Set();
let rest;
function tidy() {
  for (const chunk of chunks) {
    if (inSight.has(chunk)) load(chunk).catch(() => {});
    else takeAway(chunk);
  }
}
const watcher = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) inSight[isIntersecting ? "add" : "delete"](target);
  // Lines that only fly by are not fetched.
  clearTimeout(rest);
  rest = setTimeout(tidy, 60);
}, { root: tree.closest(".pane"), rootMargin: "800px" });
for (const chunk of chunks) watcher.observe(chunk);

const selected = () => tree.querySelector('[aria-selected="true"]');
const current = () => Number(selected()?.dataset.row ?? 0);

/** The line that is seen after or before another. */
function neighbour(number, step) {
  let next = step > 0 ? number + 1 + (closed.get(number) ?? 0) : number - 1;
  for (const [from, below] of [...closed].sort((a, b) => a[0] - b[0])) {
    if (next > from && next <= from + below) { next = step > 0 ? from + below + 1 : from; break; }
  }
  return Math.max(0, Math.min(total - 1, next));
}

/** Puts every line where the closed ones leave it. */
function relay() {
  for (const chunk of chunks) {
    if (hasLines(chunk)) settle(chunk.querySelectorAll(".node"));
    else if (!away.has(chunk)) {
      let lines = 0;
      for (let number = Number(chunk.dataset.from); number < Number(chunk.dataset.to); number += 1) lines += isHidden(number) ? 0 : 1;
      keepRoom(chunk, lines);
    } else keepRoom(chunk, away.get(chunk).filter((node) => !isHidden(Number(node.dataset.row))).length);
  }
  tidy();
}

/** Collapses all branches, or expands all that is collapsed. */
function foldAll(button) {
  const isFolding = button.getAttribute("aria-pressed") === "false";
  closed.clear();
  const branches = isFolding && tree.dataset.branches ? tree.dataset.branches.split(",") : [];
  for (const branch of branches) {
    const [number, below] = branch.split(":").map(Number);
    closed.set(number, below);
  }
  for (const node of tree.querySelectorAll(".node[aria-expanded]")) {
    node.setAttribute("aria-expanded", String(!closed.has(Number(node.dataset.row))));
  }
  button.setAttribute("aria-pressed", String(isFolding));
  button.textContent = isFolding ? "Expand" : "Collapse";
  relay();
}

async function fold(number, isOpen) {
  const node = line(number);
  const below = node ? belowOf(node) : 0;
  if (!below || isOpen !== closed.has(number)) return false;
  if (isOpen) closed.delete(number);
  else closed.set(number, below);
  node.setAttribute("aria-expanded", String(isOpen));
  const first = Math.floor(number / perChunk);
  const last = Math.floor((number + below) / perChunk);
  await Promise.all(chunks.slice(first, last + 1).map(load));
  for (const chunk of chunks.slice(first, last + 1)) settle(chunk.querySelectorAll(".node"));
  mark(number);
  tidy();
  return true;
}

function mark(number) {
  const node = line(number);
  if (!node) return null;
  const old = selected();
  if (old && old !== node) { old.setAttribute("aria-selected", "false"); old.tabIndex = -1; }
  node.setAttribute("aria-selected", "true");
  node.tabIndex = 0;
  return node;
}

/** Scrolls the tree, and nothing else, until a line is in sight. */
function reveal(node) {
  const pane = tree.closest(".pane");
  const [line, room] = [node.getBoundingClientRect(), pane.getBoundingClientRect()];
  const top = room.top + pane.querySelector(".tree-tools").offsetHeight;
  if (line.top < top) pane.scrollTop -= top - line.top;
  else if (line.bottom > room.bottom) pane.scrollTop += line.bottom - room.bottom;
}

/** Shows a step: in the tree, in the strip, in the address, and its content. */
async function choose(number, how) {
  await load(chunkOf(number));
  for (const [from, below] of closed) if (number > from && number <= from + below) await fold(from, true);
  const node = mark(number);
  if (!node) return;
  if (how.focus) node.focus({ preventScroll: true });
  reveal(node);
  const id = node.dataset.id ?? "";
  for (const bar of page.querySelectorAll(".strip a.on")) bar.classList.remove("on");
  if (id) page.querySelector(`.strip a[data-id="${CSS.escape(id)}"]`)?.classList.add("on");
  if (how.remember) remember(id);
  await show(id);
}

let remembered = 0;
function remember(id) {
  // Stepping quickly through a tree is one step back, not a hundred.
  const isQuick = Date.now() - remembered < 800;
  remembered = Date.now();
  history[isQuick ? "replaceState" : "pushState"](null, "", `${location.pathname}${query({ observation: id })}`);
}

// Content.

// A click begins and ends on the same thing: nothing is replaced between the two.
let held = Promise.resolve();
page.addEventListener("pointerdown", () => {
  held = new Promise((resolve) => {
    for (const end of ["pointerup", "pointercancel"]) {
      addEventListener(end, () => setTimeout(resolve), { once: true });
    }
  });
});

let pending;
let waiting;
function show(id) {
  pending?.abort();
  clearTimeout(waiting);
  const { signal } = (pending = new AbortController());
  document.getElementById("content").setAttribute("aria-busy", "true");
  return new Promise((resolve) => {
    waiting = setTimeout(async () => {
      const path = id ? `${base}/observations/${encodeURIComponent(id)}/content` : `${base}/content`;
      try {
        const body = await fetched(`${path}${query({})}`, signal);
        await held;
        if (signal.aborted) return resolve();
        for (const part of ["content", "facts"]) {
          const column = document.getElementById(part);
          column.replaceChildren(...body.querySelector(`[data-part="${part}"]`).childNodes);
          column.scrollTop = 0;
        }
      } catch (error) {
        if (error.name !== "AbortError") toast(`Observation could not be loaded: ${error.message}`);
      }
      // Whatever was chosen meanwhile is still on its way.
      if (!signal.aborted) document.getElementById("content").removeAttribute("aria-busy");
      resolve();
    }, 40);
  });
}

function showView(view) {
  const observation = new URLSearchParams(location.search).get("observation") ?? "";
  const word = view === "conversation" ? "" : view;
  history.pushState(null, "", `${location.pathname}${query({ observation, view: word })}`);
  return show(observation);
}

/** Puts a long text in pieces, so that the browser lays out only those in sight. */
async function loadAll(link) {
  const answer = await fetch(link.href);
  if (!answer.ok) return toast(`Payload could not be loaded: ${answer.status}`);
  const text = await answer.text();
  const all = document.createElement("pre");
  all.className = "payload whole";
  all.tabIndex = 0;
  const size = 50_000;
  for (let from = 0; from < text.length; from += size) {
    const piece = document.createElement("span");
    piece.className = "piece";
    piece.textContent = text.slice(from, from + size);
    all.append(piece);
  }
  const cut = link.closest(".cut");
  cut.replaceWith(all);
  all.focus();
}

addEventListener("popstate", async () => {
  const id = new URLSearchParams(location.search).get("observation");
  const number = id ? numberOf.get(id) : 0;
  if (number === undefined) location.reload();
  else await choose(number, {});
});

const isPlain = (event) => !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey && event.button === 0;
page.addEventListener("click", (event) => {
  if (!isPlain(event)) return;
  const target = event.target.closest(".twist, .node, .strip a, [data-view], [data-load], [data-next-error], [data-copy-link], [data-copy-payload], [data-fold-all]");
  if (!target) return;
  const node = target.closest(".node");
  if (node) {
    const number = Number(node.dataset.row);
    event.preventDefault();
    if (target.matches(".twist") && belowOf(node)) fold(number, closed.has(number));
    else choose(number, { focus: true, remember: true });
  } else if (target.matches(".strip a")) {
    const number = numberOf.get(target.dataset.id);
    if (number === undefined) return; // not loaded: the link itself leads there
    event.preventDefault();
    choose(number, { remember: true });
  } else if ("view" in target.dataset) {
    event.preventDefault();
    showView(target.dataset.view);
  } else if ("load" in target.dataset) {
    event.preventDefault();
    loadAll(target);
  } else if ("nextError" in target.dataset) nextError();
  else if ("foldAll" in target.dataset) foldAll(target);
  else if ("copyPayload" in target.dataset) copyPayload(target.dataset.copyPayload);
  else if ("copyLink" in target.dataset) copyLink();
});

// Search in the tree: Enter goes from match to match.

const finder = page.querySelector("[data-tree-find]");
let matches = { text: "", lines: [] };
async function find(direction) {
  const text = finder.elements.text.value.trim();
  const output = finder.querySelector("output");
  if (!text) { output.textContent = ""; return; }
  if (matches.text !== text) {
    const answer = await fetch(`${base}/matching-rows${query({ text, view: "" })}`);
    if (!answer.ok) return toast(`Search failed: the server returned ${answer.status}`);
    const found = await answer.text();
    matches = { text, lines: found ? found.split(",").map(Number) : [], at: -1 };
  }
  const { lines } = matches;
  if (!lines.length) { output.textContent = "no match"; return; }
  matches.at = (matches.at + direction + lines.length) % lines.length;
  if (matches.at < 0) matches.at = lines.length - 1;
  output.textContent = `${matches.at + 1} of ${lines.length}`;
  await choose(lines[matches.at], { remember: true });
}
finder?.addEventListener("submit", (event) => { event.preventDefault(); find(1); });
finder?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); find(-1); }
  if (event.key === "Escape") { finder.reset(); finder.querySelector("output").textContent = ""; tree.querySelector('[tabindex="0"]')?.focus(); }
});

// Keys.

function nextError() {
  if (!errors.length) return toast("No errors");
  const at = current();
  choose(errors.find((number) => number > at) ?? errors[0], { focus: true, remember: true });
}

async function copyLink() {
  const link = page.querySelector("[data-copy-link]")?.dataset.copyLink;
  try {
    await navigator.clipboard.writeText(new URL(link, location.href).href);
    toast("Link copied");
  } catch {
    toast("Copying was blocked by the browser");
  }
}

async function copyPayload(address) {
  try {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error();
    await navigator.clipboard.writeText(await answer.text());
    toast("Copied");
  } catch {
    toast("Copying was blocked by the browser, or the payload could not be loaded");
  }
}

function step(direction) {
  const next = neighbour(current(), direction);
  if (next !== current()) choose(next, { focus: true, remember: true });
}

async function close() {
  const at = current();
  if (await fold(at, false)) return;
  const level = Number(line(at)?.ariaLevel ?? 1);
  for (let number = at - 1; number >= 0; number -= 1) {
    await load(chunkOf(number));
    const node = line(number);
    if (Number(node.ariaLevel) < level) { choose(number, { focus: true, remember: true }); break; }
  }
}

async function open() {
  if (!(await fold(current(), true)) && belowOf(line(current()))) step(1);
}

/** Follows the link to the newer or older trace. */
const go = (key) => document.querySelector(`.neighbours [data-key="${key}"]`)?.click();

const KEYS = {
  j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
  ArrowLeft: close, ArrowRight: open, e: nextError, c: copyLink, "[": () => go("["), "]": () => go("]"),
  f: () => finder?.elements.text.focus(),
  Home: () => choose(0, { focus: true, remember: true }),
  End: () => choose(total - 1, { focus: true, remember: true }),
  Enter: () => document.getElementById("content").focus(),
  r: () => showView(new URLSearchParams(location.search).get("view") === "raw" ? "conversation" : "raw"),
};
// Arrows and the like belong to the tree only while it has the focus; letters work everywhere.
const ONLY_IN_TREE = new Set(["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Home", "End", "Enter"]);
let afterG = false;
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, [contenteditable], dialog");
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  const wasAfterG = afterG;
  afterG = event.key === "g";
  if (wasAfterG || document.querySelector("dialog[open]")) return;
  const isInTree = document.activeElement === document.body || tree.contains(document.activeElement);
  if (!KEYS[event.key] || (ONLY_IN_TREE.has(event.key) && !isInTree)) return;
  event.preventDefault();
  KEYS[event.key]();
});

// Columns.

const STORED = "ratchet.trace.columns";
const LEAST = 180;
const widths = JSON.parse(localStorage.getItem(STORED) ?? "{}");
function widen(name, width) {
  const most = panes.clientWidth - 2 * LEAST;
  const fitted = Math.round(Math.max(LEAST, Math.min(most, width)));
  columns[name] = fitted;
  lay();
  const split = panes.querySelector(`[data-split="${name}"]`);
  split.setAttribute("aria-valuemin", String(LEAST));
  split.setAttribute("aria-valuemax", String(most));
  split.setAttribute("aria-valuenow", String(fitted));
  return fitted;
}
const store = (name, width) => {
  widths[name] = width;
  localStorage.setItem(STORED, JSON.stringify(widths));
};
for (const split of panes.querySelectorAll(".split")) {
  const name = split.dataset.split;
  const column = panes.querySelector(`.${name}-pane`);
  const sign = name === "tree" ? 1 : -1;
  split.tabIndex = 0;
  widen(name, Number(widths[name]) || column.clientWidth || LEAST);
  split.addEventListener("pointerdown", (event) => {
    const [start, width] = [event.clientX, column.getBoundingClientRect().width];
    split.setPointerCapture(event.pointerId);
    const move = (moved) => store(name, widen(name, width + sign * (moved.clientX - start)));
    split.addEventListener("pointermove", move);
    split.addEventListener("pointerup", () => split.removeEventListener("pointermove", move), { once: true });
  });
  split.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    store(name, widen(name, column.getBoundingClientRect().width + sign * step));
  });
}

function fit() {
  const isStacked = getComputedStyle(panes).display !== "grid";
  const room = innerHeight - panes.getBoundingClientRect().top - scrollY - 16;
  tall = isStacked ? "" : `height: ${Math.max(420, room)}px;`;
  lay();
}
fit();
addEventListener("resize", fit);

// What was done is said once, not at every reload.
const asked = new URLSearchParams(location.search);
if (asked.has("done")) history.replaceState(null, "", `${location.pathname}${query({ observation: asked.get("observation") })}`);

const first = mark(current());
if (first) reveal(first);
