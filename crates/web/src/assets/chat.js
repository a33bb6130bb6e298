// A conversation as it happens. Words are added as they come; whatever else happens has the server
// draw the turn again, and what differs is put in its place.
import { compose, drain, empty, enqueue, giveBack } from "./chat-composer.js";
import { toast } from "./ratchet.js";

const chat = document.querySelector("[data-chat]");
const turns = document.querySelector("[data-turns]");
const toggles = document.querySelector("[data-toggles]");
const token = document.querySelector("main")?.dataset.formToken ?? "";
const writer = new XMLSerializer();
/** What the server last drew for an element. */
const drawn = new WeakMap();

const GROWING = ["text_delta", "thinking_delta"];
/** Words that came after what the server last drew. */
let ahead = [];
/** Where the next words go: their kind and the element. */
let tail = null;
let upto = Number(chat?.dataset.last ?? 0);
let seen = upto;
let types = chat?.dataset.types ?? "";
let source = null;
let failures = 0;
let timer = 0;
/** The timer that adds the words that came since it was set. */
let flushing = 0;
/** Words that wait for it. */
let fresh = [];
let isFetching = false;
let isStale = false;
/** Milliseconds that the last drawing by the server took. */
let cost = 0;
/** The first turn that may have changed, where that is not the last. */
let earliest = Infinity;

const remember = (node) => drawn.set(node, writer.serializeToString(node));
const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 160;
const toEnd = () => scrollTo(0, document.documentElement.scrollHeight);
const isAtWork = () => ["starting", "running", "waiting"].includes(chat.dataset.state);

function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

/** Puts what the server drew now in place of what it drew before, if it differs. */
function swap(old, fresh) {
  const now = writer.serializeToString(fresh);
  if (drawn.get(old) === now) return old;
  const before = [...old.querySelectorAll("details")];
  fresh.querySelectorAll("details").forEach((each, place) => {
    if (before[place]) each.open = before[place].open;
  });
  drawn.set(fresh, now);
  old.replaceWith(fresh);
  return fresh;
}

function mergeTurn(old, fresh) {
  const list = old.querySelector(".chat-items");
  const known = new Map([...list.children].map((item) => [item.dataset.key, item]));
  let cursor = list.firstElementChild;
  for (const item of [...fresh.querySelector(".chat-items").children]) {
    const same = known.get(item.dataset.key);
    known.delete(item.dataset.key);
    const isHere = same && same === cursor;
    if (!same) remember(item);
    const node = same ? swap(same, item) : item;
    if (isHere) cursor = node.nextElementSibling;
    else list.insertBefore(node, cursor);
  }
  for (const gone of known.values()) gone.remove();
  for (const key of ["message", "end"]) {
    const [from, to] = [old, fresh].map((turn) => turn.querySelector(`:scope > article > [data-key=${key}]`));
    if (from && to) swap(from, to);
  }
}

function rememberTurn(turn) {
  for (const part of turn.querySelectorAll(":scope > article > [data-key], :scope > article > .chat-items > [data-key]")) remember(part);
}

function merge(part) {
  const root = part.querySelector("[data-upto]");
  if (!root) return;
  const follows = isAtEnd();
  upto = Math.max(upto, Number(root.dataset.upto));
  ahead = ahead.filter((piece) => piece.seq > upto);
  for (const live of turns.querySelectorAll("[data-live]")) live.remove();
  chat.dataset.state = root.dataset.state;
  for (const fresh of [...root.querySelectorAll(":scope > [data-part]")]) {
    const old = document.querySelector(`main [data-part="${fresh.dataset.part}"]`);
    if (old && writer.serializeToString(fresh) !== writer.serializeToString(old)) old.replaceChildren(...fresh.childNodes);
  }
  for (const fresh of [...root.querySelectorAll("[data-turns] > [data-turn]")]) {
    const old = turns.querySelector(`:scope > [data-turn="${fresh.dataset.turn}"]`);
    if (old) mergeTurn(old, fresh);
    else {
      rememberTurn(fresh);
      turns.append(fresh);
    }
  }
  if (turns.children.length) document.querySelector("[data-silence]")?.remove();
  tail = null;
  fresh = [...ahead];
  flush();
  if (follows) toEnd();
  drain();
}

/** Where words of a kind go on: in what still grows, or in something new. */
function begin(kind) {
  const list = turns.lastElementChild?.querySelector(".chat-items");
  if (!list) return null;
  const open = list.lastElementChild;
  if (open?.dataset.open === kind) return open.querySelector(".growing");
  const item = make("li", "chat-item chat-words");
  item.dataset.live = "";
  const words = make("p", "growing");
  if (kind === "thinking_delta") {
    const fold = make("details", "thinking");
    fold.open = true;
    fold.append(make("summary", "", "Thinking"), words);
    item.append(fold);
  } else {
    const box = make("article", "message assistant");
    const head = make("header", "message-head");
    head.append(make("span", "role", "Agent"));
    const body = make("div", "message-body");
    body.append(words);
    box.append(head, body);
    item.append(box);
  }
  list.append(item);
  return words;
}

function add(kind, text) {
  if (tail?.kind !== kind) {
    const node = begin(kind);
    tail = node && { kind, node };
  }
  tail?.node.append(text);
}

/** Adds the words that wait, those of one kind at once: laying out the page is what takes long. */
function flush() {
  clearTimeout(flushing);
  flushing = 0;
  if (!fresh.length) return;
  const follows = isAtEnd();
  const pieces = fresh;
  fresh = [];
  let from = 0;
  pieces.forEach((piece, place) => {
    if (pieces[place + 1]?.kind === piece.kind) return;
    add(piece.kind, pieces.slice(from, place + 1).map((each) => each.text).join(""));
    from = place + 1;
  });
  if (follows) toEnd();
}

/** Has the server draw again what changed, from a turn on, soon, and less often the longer it takes. */
function refresh(turn) {
  isStale = true;
  earliest = Math.min(earliest, Number(turn ?? Infinity));
  if (timer || isFetching) return;
  timer = setTimeout(load, Math.max(60, 2 * cost));
}

async function load() {
  const began = performance.now();
  timer = 0;
  isFetching = true;
  isStale = false;
  const address = new URL(chat.dataset.since, location);
  const from = Math.min(earliest, Number(turns.lastElementChild?.dataset.turn ?? 1));
  earliest = Infinity;
  address.searchParams.set("seq", String(from));
  try {
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    if (!answer.ok) throw new Error(String(answer.status));
    merge(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    say("The page could not be brought up to date; reload it.");
  }
  isFetching = false;
  cost = performance.now() - began;
  if (isStale) refresh();
}

function say(words) {
  const place = document.querySelector("[data-link]");
  if (!place) return;
  place.textContent = words;
  place.hidden = !words;
}

function heard(message) {
  const event = JSON.parse(message.data);
  if (event.seq <= seen) return;
  seen = event.seq;
  if (!GROWING.includes(event.type) || event.body.parent) return refresh();
  const piece = { seq: event.seq, kind: event.type, text: event.body.text ?? "" };
  ahead.push(piece);
  if (isFetching || timer) return;
  fresh.push(piece);
  flushing ||= setTimeout(flush, 40);
}

function connect() {
  source?.close();
  const address = new URL(chat.dataset.events, location);
  address.searchParams.set("after", String(seen));
  address.searchParams.set("types", types);
  const mine = new EventSource(address);
  source = mine;
  for (const kind of types.split(",")) mine.addEventListener(kind, heard);
  mine.addEventListener("open", () => {
    if (failures) refresh();
    failures = 0;
    say("");
  });
  mine.addEventListener("dropped", (message) => {
    if (JSON.parse(message.data).reason !== "the chat is closed") return;
    mine.close();
    refresh();
  });
  mine.addEventListener("error", () => {
    failures += 1;
    // The first failure is usually over within a second.
    if (failures > 1) say("Connection lost. Reconnecting; no messages are lost.");
    if (mine.readyState === EventSource.CLOSED && source === mine) setTimeout(connect, Math.min(1000 * failures, 15000));
  });
}

/** Sends what a form says, and stays; says what is in the way. Returns whether it went. */
async function send(form, data) {
  const body = form.enctype === "multipart/form-data" ? data : new URLSearchParams(data);
  const buttons = [...form.querySelectorAll("button")];
  let isSent = false;
  for (const button of buttons) button.disabled = true;
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { "x-form-token": token } });
    isSent = answer.ok;
    if (!isSent) {
      const text = await answer.text();
      const isPage = answer.headers.get("content-type")?.includes("html");
      toast(isPage ? new DOMParser().parseFromString(text, "text/html").querySelector(".lead")?.textContent ?? "Refused" : text);
    }
  } catch {
    toast("The server does not answer; nothing was sent.");
  }
  for (const button of buttons) button.disabled = false;
  refresh(form.closest("[data-turn]")?.dataset.turn);
  return isSent;
}

addEventListener("submit", (event) => {
  const form = event.target;
  if (!("stay" in form.dataset)) return;
  event.preventDefault();
  if ("composer" in form.dataset) {
    if (isAtWork()) enqueue();
    else send(form, new FormData(form)).then((isSent) => { if (isSent) empty(); });
    return;
  }
  if (form.id === "stop") giveBack();
  send(form, new FormData(form, event.submitter));
});

addEventListener("keydown", (event) => {
  const isElsewhere = document.querySelector("dialog[open], details.menu[open]");
  if (event.key !== "Escape" || !chat || isElsewhere || !isAtWork()) return;
  document.getElementById("stop")?.requestSubmit();
});

/** What is shown is in the address, and remembered for the next conversation. */
function choose() {
  const boxes = [...toggles.querySelectorAll("input[type=checkbox]")];
  const shown = ["", ...boxes.filter((box) => box.checked).map((box) => box.value)];
  localStorage.setItem("chat-show", shown.join(","));
  for (const address of [new URL(location), new URL(chat.dataset.since, location)]) {
    address.searchParams.delete("show");
    for (const word of shown) address.searchParams.append("show", word);
    if (address.pathname === location.pathname) history.replaceState(null, "", address);
    else chat.dataset.since = address.pathname + address.search;
  }
  const hidden = boxes.filter((box) => !box.checked).map((box) => box.dataset.kind);
  types = chat.dataset.all.split(",").filter((kind) => !hidden.includes(kind)).join(",");
  connect();
  refresh(turns.firstElementChild?.dataset.turn);
}

function rememberChoice() {
  toggles.querySelector("button")?.remove();
  toggles.addEventListener("change", choose);
  const kept = localStorage.getItem("chat-show");
  if (kept === null || new URL(location).searchParams.has("show")) return;
  const words = kept.split(",");
  let isOther = false;
  for (const box of toggles.querySelectorAll("input[type=checkbox]")) {
    isOther ||= box.checked !== words.includes(box.value);
    box.checked = words.includes(box.value);
  }
  if (isOther) choose();
}

if (chat) {
  for (const turn of turns.children) rememberTurn(turn);
  const composer = document.querySelector("[data-composer]");
  if (composer) compose(composer, { chat, send, isAtWork });
  if (turns.children.length) toEnd();
  if (chat.dataset.state !== "closed") connect();
  if (toggles) rememberChoice();
}
