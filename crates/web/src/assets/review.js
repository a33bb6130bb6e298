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

/** Sends an answer; gives the address to go on to, or what is wrong with it. Throws without a server. */
async function send({ action, body }) {
  const response = await fetch(action, { method: "POST", body: new URLSearchParams(body), headers: { accept: "text/html" } });
  if (response.status >= 500) throw new Error(String(response.status));
  const text = await response.text();
  if (response.redirected) return { next: response.url };
  const page = new DOMParser().parseFromString(text, "text/html");
  return { problem: page.querySelector(".wrong, .lead")?.textContent ?? `the server returned ${response.status}` };
}

let isSending = false;

/** Sends what waits, in order, and goes on to the next item when all is sent. */
async function flush() {
  if (isSending || !waiting().length) return;
  isSending = true;
  let last;
  try {
    while (waiting().length) {
      const [first] = waiting();
      last = await send(first);
      keep(waiting().slice(1));
      if (last.problem) break;
    }
  } catch {
    const number = waiting().length;
    say(`No connection. ${number === 1 ? "Your answer is" : `${number} answers are`} kept in this browser and will be sent when the server is back.`);
    setTimeout(flush, RETRY_MS);
    return;
  } finally {
    isSending = false;
  }
  if (last?.problem) {
    if (form) form.ariaBusy = "false";
    say(`Not saved: ${last.problem}`);
  } else if (last?.next) location.assign(last.next);
}

function submit(event) {
  event.preventDefault();
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  form.querySelector("[data-seconds]").value = String(Math.max(1, Math.round((Date.now() - opened) / 1000)));
  const body = [...new FormData(form, event.submitter)].map(([name, value]) => [name, String(value)]);
  keep([...waiting(), { action: form.getAttribute("action"), body }]);
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
flush();
