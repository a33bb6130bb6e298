// Reviews by keyboard. An answer that cannot be sent waits in this browser until the server is back.
const form = document.querySelector("[data-review]");
const WAITING = "ratchet-waiting-reviews";
const RETRY_MS = 3000;
const isTyping = (element) => element.closest("textarea, select, input:not([type=radio]):not([type=checkbox])");
const questions = () => [...document.querySelectorAll("[data-question]")];
const opened = Date.now();
let at = 0;

function say(words) {
  const status = document.querySelector("[data-status]");
  if (status) status.textContent = words;
}

function frame(index) {
  const all = questions();
  at = Math.max(0, Math.min(all.length - 1, index));
  all.forEach((question, position) => question.toggleAttribute("data-current", position === at));
  all[at]?.scrollIntoView({ block: "nearest" });
}

const isAnswered = (question) =>
  question.querySelector("input[type=radio]:checked") || question.querySelector("input[type=number], input[type=text], select")?.value;

/** Shows the judge's verdict once the questions that it may influence are answered. */
function reveal() {
  if (![...form.querySelectorAll("[data-reveals]")].every(isAnswered)) return;
  form.querySelector("[data-verdicts]")?.removeAttribute("hidden");
  form.querySelector("[data-until-answered]")?.remove();
}

/** An exact number and a step exclude each other. */
function onlyOne(changed) {
  const question = changed.closest("[data-question]");
  const exact = question?.querySelector("input[type=number]");
  if (!exact) return;
  if (changed.type === "radio") exact.value = "";
  else if (exact.value) for (const choice of question.querySelectorAll("input[type=radio]")) choice.checked = false;
}

function select(key) {
  const choice = questions()[at]?.querySelector(`input[data-key="${key}"]`);
  if (!choice) return;
  choice.checked = true;
  onlyOne(choice);
  reveal();
  frame(at + 1);
}

function waiting() {
  try {
    return JSON.parse(localStorage.getItem(WAITING)) ?? [];
  } catch {
    return [];
  }
}

function keep(answers) {
  if (answers.length) localStorage.setItem(WAITING, JSON.stringify(answers));
  else localStorage.removeItem(WAITING);
}

const unsent = () => waiting().filter((answer) => !answer.problem);
const remove = (key) => keep(waiting().filter((answer) => answer.key !== key));
const change = (key, changed) => keep(waiting().map((answer) => (answer.key === key ? { ...answer, ...changed } : answer)));

/** Sends an answer; gives the address to go on to, or what is wrong with it. Throws where a later attempt may succeed. */
async function send({ action, body }) {
  const response = await fetch(action, { method: "POST", body: new URLSearchParams(body), headers: { accept: "text/html" } });
  if (response.status >= 500 || [408, 429].includes(response.status)) throw new Error(String(response.status));
  const text = await response.text();
  if (response.redirected && !new URL(response.url).pathname.includes("/queues/")) {
    return { problem: "you are signed out; sign in and send it again" };
  }
  if (response.redirected) return { next: response.url };
  const page = new DOMParser().parseFromString(text, "text/html");
  return { problem: page.querySelector(".wrong, .lead")?.textContent ?? `the server returned ${response.status}` };
}

/** What an answer says, without the fields that belong to the form. */
function said({ about, body }) {
  const own = ["form_token", "attempt", "lease", "seconds", "expected_output"];
  const fields = body.filter(([name, value]) => !own.includes(name) && value);
  return [about, ...fields.map(([name, value]) => `${name}: ${value}`)].filter(Boolean).join(", ");
}

function button(label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button";
  made.textContent = label;
  made.addEventListener("click", act);
  return made;
}

/** Lists the answers that the server refused: each stays in this browser until it is sent or discarded. */
function showRefused() {
  document.querySelector("[data-refused]")?.remove();
  const refused = waiting().filter((answer) => answer.problem);
  if (!refused.length) return;
  const list = document.createElement("section");
  list.dataset.refused = "";
  list.className = "review-refused";
  list.setAttribute("aria-label", "Answers that are not saved");
  for (const answer of refused) {
    const line = document.createElement("p");
    line.append(`Not saved: ${answer.problem}. Kept in this browser: ${said(answer)} `);
    line.append(button("Send again", () => sendAgain(answer)), " ", button("Discard", () => discard(answer)));
    list.append(line);
  }
  document.querySelector("main")?.prepend(list);
}

/** Sends a refused answer with the token of this page: the old one may be the reason. */
function sendAgain({ key, body }) {
  const token = document.querySelector("[name=form_token]")?.value;
  const fresh = body.map(([name, value]) => [name, name === "form_token" && token ? token : value]);
  change(key, { body: fresh, problem: undefined });
  flush();
}

function discard({ key }) {
  remove(key);
  showRefused();
}

let isSending = false;

/** Sends what waits, in order, and goes on to the next item when all is sent. A refused answer holds up no other. */
async function flush() {
  if (isSending || !unsent().length) return;
  isSending = true;
  let next;
  try {
    while (unsent().length) {
      const [first] = unsent();
      const done = await send(first);
      if (done.problem) change(first.key, { problem: done.problem });
      else remove(first.key);
      next = done.next ?? next;
    }
  } catch {
    const number = unsent().length;
    say(`No connection. ${number === 1 ? "Your answer is" : `${number} answers are`} kept in this browser and will be sent when the server is back.`);
    setTimeout(flush, RETRY_MS);
    return;
  } finally {
    isSending = false;
  }
  showRefused();
  const problem = form && waiting().find((answer) => answer.action === form.getAttribute("action"))?.problem;
  if (problem) {
    form.ariaBusy = "false";
    say(`Not saved: ${problem}`);
  } else if (next) location.assign(next);
}

function submit(event) {
  event.preventDefault();
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  form.querySelector("[data-seconds]").value = String(Math.max(1, Math.round((Date.now() - opened) / 1000)));
  const body = [...new FormData(form, event.submitter)].map(([name, value]) => [name, String(value)]);
  const action = form.getAttribute("action");
  const about = document.querySelector(".review-record .words")?.textContent.trim().slice(0, 60);
  const answer = { key: `${Date.now()}-${Math.random()}`, action, about, body };
  // A changed answer takes the place of the one that was refused.
  keep([...waiting().filter((other) => !(other.problem && other.action === action)), answer]);
  flush();
}

async function heartbeat() {
  const body = new URLSearchParams(new FormData(form));
  for (const name of [...body.keys()]) if (!["form_token", "lease"].includes(name)) body.delete(name);
  try {
    const response = await fetch(form.dataset.heartbeat, { method: "POST", body });
    if (response.status === 409) say("Another reviewer has this item by now. Your answer will be kept as a second review.");
  } catch {
    // The lease may expire; the answer still counts.
  }
}

function focusText(key) {
  const text = document.querySelector(`[data-focus="${key}"]`);
  if (!text) return false;
  text.focus();
  return true;
}

function act(key) {
  if (/^[0-9-]$/.test(key)) return select(key), true;
  if (key === "j") return frame(at + 1), true;
  if (key === "k") return frame(at - 1), true;
  if (key === "s") return form.requestSubmit(form.querySelector("[data-skip]")), true;
  if (key === "Enter") return form.requestSubmit(), true;
  if (key === "d") {
    const box = form.querySelector("[data-case]");
    if (!box) return false;
    const tick = box.querySelector("[data-case-tick]");
    tick.checked = !tick.checked;
    return true;
  }
  return focusText(key);
}

document.addEventListener("keydown", (event) => {
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const isOnButton = event.target.closest("a, button, summary");
  if (event.key === "u") {
    const undo = document.querySelector("[data-undo]");
    if (!undo) return;
    event.preventDefault();
    undo.requestSubmit();
  } else if (event.key === "n" && !form) document.querySelector("[data-next]")?.click();
  else if (form && !(event.key === "Enter" && isOnButton) && act(event.key)) event.preventDefault();
});

if (form) {
  frame(0);
  form.addEventListener("submit", submit);
  form.addEventListener("change", (event) => {
    onlyOne(event.target);
    reveal();
  });
  form.addEventListener("focusin", (event) => {
    const question = event.target.closest("[data-question]");
    if (question) frame(questions().indexOf(question));
  });
  setInterval(heartbeat, Number(form.dataset.heartbeatSeconds) * 1000);
}
window.addEventListener("online", flush);
// Answers that an earlier version of this page kept have no key.
keep(waiting().map((answer, nth) => ({ key: `kept-${nth}`, ...answer })));
showRefused();
flush();
