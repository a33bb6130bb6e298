// Lists: new rows as they come, a look at a row on hover, the question before deleting.
import { toast } from "./ratchet.js";

const list = document.querySelector(".list");
const body = list?.querySelector("tbody");

function parsed(html) {
  return new DOMParser().parseFromString(html, "text/html");
}

async function fetched(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return parsed(await answer.text());
}

// Live: asks for what came or changed every two seconds while the page is seen, and holds it until
// asked. What came is told in the order it came, so nothing is missed, whenever it began.
const EVERY = 2000;
const MOST_WAITING = 500;
const button = document.querySelector("[data-live]");
let arrived = list?.dataset.arrived;
let waiting = new Map();
let isCut = false;
let timer = 0;

function shown(id) {
  return body?.querySelector(`tr[data-id="${CSS.escape(id)}"]`);
}

function showWaiting() {
  let notice = list.querySelector(".waiting-rows");
  if (!waiting.size) { notice?.remove(); return; }
  if (!notice) {
    notice = document.createElement("button");
    notice.type = "button";
    notice.className = "button primary waiting-rows";
    notice.addEventListener("click", takeIn);
    list.append(notice);
  }
  const changed = [...waiting.keys()].filter(shown).length;
  const fresh = waiting.size - changed;
  const more = isCut || waiting.size >= MOST_WAITING ? "+" : "";
  const words = [];
  if (fresh || !changed) words.push(`${fresh}${more} new`);
  if (changed) words.push(`${changed} updated`);
  notice.textContent = words.join(", ");
}

function takeIn() {
  // Nothing to put rows into, or more than are held: the page itself shows them best.
  if (!body || isCut) { location.reload(); return; }
  for (const row of body.querySelectorAll("tr.fresh")) row.classList.remove("fresh");
  const fresh = [];
  for (const [id, row] of waiting) {
    row.classList.add("fresh");
    const old = shown(id);
    const wasChosen = old?.querySelector("input[type=checkbox]")?.checked;
    if (wasChosen) row.querySelector("input[type=checkbox]").checked = true;
    if (old) old.replaceWith(row); else fresh.unshift(row);
  }
  body.prepend(...fresh);
  waiting = new Map();
  showWaiting();
  list.querySelector(".table-wrap").scrollTop = 0;
}

function hold(rows) {
  // From the oldest, so that the newest come on top.
  for (const row of [...rows].reverse()) {
    waiting.delete(row.dataset.id);
    waiting.set(row.dataset.id, row);
  }
  if (waiting.size <= MOST_WAITING) return;
  isCut = true;
  waiting = new Map([...waiting].slice(-MOST_WAITING));
}

async function look() {
  const address = new URL(button.dataset.live, location.href);
  try {
    let hasMore = true;
    while (hasMore && button.getAttribute("aria-pressed") === "true") {
      address.searchParams.set("after", arrived);
      const found = (await fetched(address)).querySelector("table");
      arrived = found.dataset.arrived;
      hasMore = "more" in found.dataset;
      isCut ||= "cut" in found.dataset;
      hold(found.querySelectorAll("tr"));
    }
    showWaiting();
    button.title = "New rows are buffered; click to show them";
  } catch {
    button.title = "Server not reachable; retrying";
  }
}

async function beat() {
  clearTimeout(timer);
  if (button.getAttribute("aria-pressed") !== "true") return;
  if (!document.hidden) await look();
  clearTimeout(timer);
  timer = setTimeout(beat, EVERY);
}

function setLive(isOn) {
  button.setAttribute("aria-pressed", String(isOn));
  const address = new URL(location.href);
  if (isOn) address.searchParams.set("live", "1"); else address.searchParams.delete("live");
  history.replaceState(null, "", address);
  beat();
}

if (button && arrived) {
  button.hidden = false;
  button.addEventListener("click", () => setLive(button.getAttribute("aria-pressed") !== "true"));
  document.addEventListener("visibilitychange", () => { if (!document.hidden) beat(); });
  if (new URL(location.href).searchParams.has("live")) setLive(true);
}

// A look at a row: the first words of what went in and came out.
const REST = 350;
const MOST_KNOWN = 200;
let peek = null;
let resting = 0;
let looking = "";
const known = new Map();

function hidePeek() {
  clearTimeout(resting);
  looking = "";
  peek?.remove();
  peek = null;
}

async function showPeek(row) {
  const id = row.dataset.id;
  looking = id;
  if (!known.has(id)) {
    const address = new URL(list.dataset.peek, location.href);
    address.searchParams.set("id", id);
    try {
      const found = (await fetched(address)).querySelector(".peek");
      if (known.size >= MOST_KNOWN) known.clear();
      known.set(id, found);
    } catch {
      return;
    }
  }
  if (looking !== id || !known.get(id)) return;
  peek?.remove();
  peek = document.importNode(known.get(id), true);
  document.body.append(peek);
  const at = row.getBoundingClientRect();
  const height = peek.offsetHeight;
  const fitsBelow = innerHeight - at.bottom > height + 8;
  peek.style.left = `${Math.max(12, Math.min(at.left + 48, innerWidth - peek.offsetWidth - 12))}px`;
  peek.style.top = `${fitsBelow ? at.bottom + 4 : Math.max(4, at.top - height - 4)}px`;
}

if (body && list.dataset.peek) {
  body.addEventListener("pointerover", (event) => {
    const row = event.target.closest("tr");
    if (event.pointerType !== "mouse" || !row || row.dataset.id === looking) return;
    hidePeek();
    resting = setTimeout(() => showPeek(row), REST);
  });
  body.addEventListener("pointerleave", hidePeek);
  addEventListener("scroll", hidePeek, { capture: true, passive: true });
  addEventListener("keydown", hidePeek);
}

// The question before deleting, in place instead of on a page of its own.
const form = document.getElementById("chosen");

function ask(question) {
  const box = document.createElement("dialog");
  const title = document.createElement("h2");
  title.textContent = question.dataset.question;
  box.setAttribute("aria-label", question.dataset.question);
  box.append(title, document.importNode(question, true));
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => {
    if (!event.target.closest("a[data-keep]")) return;
    event.preventDefault();
    box.close();
  });
  document.body.append(box);
  box.showModal();
}

// All rows that match instead of those that are ticked.
const matching = form?.querySelector("[data-matching]");
matching?.addEventListener("change", () => {
  const ticked = body?.querySelectorAll("input[name=id]:checked").length ?? 0;
  form.querySelector("[data-selected]").textContent = matching.checked ? "All matching" : String(ticked);
});
// Who ticks rows again means these.
if (matching) list.addEventListener("change", () => { matching.checked = false; });

form?.addEventListener("submit", async (event) => {
  if (!event.submitter || !("confirm" in event.submitter.dataset)) return;
  event.preventDefault();
  const sent = new URLSearchParams(new FormData(form, event.submitter));
  try {
    // A button of the form is called action, and would be what form.action is.
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: sent });
    const question = parsed(await answer.text()).querySelector("[data-question]");
    if (question) ask(question); else toast("Request failed; reload the page and try again");
  } catch {
    toast("Server not reachable; nothing was deleted");
  }
});

// One row beside the list: a click on it anywhere but on what can be clicked itself.
function markPeeked(id) {
  for (const row of body.querySelectorAll("tr.peeked")) row.classList.remove("peeked");
  if (id) shown(id)?.classList.add("peeked");
}

function setPeek(id) {
  const address = new URL(location.href);
  address.searchParams.delete("observation");
  if (id) address.searchParams.set("peek", id); else address.searchParams.delete("peek");
  history.replaceState(null, "", address);
}

async function openPanel(id) {
  const address = new URL(list.dataset.panel, location.href);
  address.searchParams.set("peek", id);
  try {
    const found = (await fetched(address)).getElementById("peek");
    if (!found) return;
    document.getElementById("peek")?.remove();
    const panel = document.importNode(found, true);
    list.before(panel);
    panel.focus();
    setPeek(id);
    markPeeked(id);
  } catch {
    toast("Server not reachable; try again");
  }
}

function closePanel() {
  const panel = document.getElementById("peek");
  if (!panel) return;
  panel.remove();
  setPeek("");
  markPeeked("");
}

if (body && list.dataset.panel) {
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    const isPlain = !event.target.closest("a, button, input, label, summary, select");
    if (!row || !isPlain || String(getSelection())) return;
    hidePeek();
    openPanel(row.dataset.id);
  });
  body.addEventListener("peek", (event) => openPanel(event.target.dataset.id));
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-unpeek]")) return;
    event.preventDefault();
    closePanel();
  });
  addEventListener("keydown", (event) => { if (event.key === "Escape") closePanel(); });
  markPeeked(new URL(location.href).searchParams.get("peek"));
}
