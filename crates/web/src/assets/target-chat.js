// A chat with a target: Enter sends, one key adds the last turn to a dataset.
const composer = document.querySelector("[data-target-chat] .composer");
const text = composer?.querySelector("textarea");

text?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (text.value.trim()) composer.requestSubmit();
});

// The answer may take a while: the message is shown, cannot be sent twice, and a streamed answer is
// shown as it comes.
composer?.addEventListener("submit", async (event) => {
  event.preventDefault();
  event.stopPropagation();
  const button = composer.querySelector("button");
  if (button.disabled) return;
  const body = new URLSearchParams(new FormData(composer));
  button.disabled = true;
  text.readOnly = true;
  composer.querySelector(":scope > .wrong")?.remove();
  const note = document.createElement("p");
  note.className = "muted waiting";
  note.setAttribute("role", "status");
  note.textContent = "Waiting for the answer…";
  composer.before(note);
  const problem = await send(body, note);
  if (!problem) return;
  button.disabled = false;
  text.readOnly = false;
  note.remove();
  const wrong = document.createElement("p");
  wrong.className = "wrong";
  wrong.setAttribute("role", "alert");
  wrong.textContent = problem;
  composer.append(wrong);
});

// Sends the message and shows its answer; returns what went wrong.
async function send(body, note) {
  const chat = composer.getAttribute("action");
  let response;
  try {
    response = await fetch(`${chat}/stream`, { method: "POST", body, headers: { accept: "text/html" } });
  } catch {
    return "the server cannot be reached; nothing was saved";
  }
  if (!response.ok) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return page.querySelector(".wrong, .lead")?.textContent ?? `the server returned ${response.status}`;
  }
  try {
    await show(response.body, note);
  } catch {
    // What was recorded of the turn is on the page of the chat.
  }
  const environment = body.get("environment");
  location.assign(environment ? `${chat}?environment=${encodeURIComponent(environment)}` : chat);
}

async function show(parts, note) {
  const reader = parts.pipeThrough(new TextDecoderStream()).getReader();
  let answer;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (!part.value) continue;
    answer ??= shown(note);
    answer.textContent += part.value;
    answer.scrollIntoView({ block: "end" });
  }
}

// Where a streamed answer is shown until its turn is drawn.
function shown(note) {
  const answer = document.createElement("pre");
  answer.className = "streamed-answer";
  note.textContent = "Answering…";
  note.before(answer);
  return answer;
}

function openLast() {
  const add = document.querySelector(".add-turn[data-last]");
  if (!add) return;
  add.open = true;
  add.scrollIntoView({ block: "nearest" });
  add.querySelector("textarea").focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "a" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select") || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  openLast();
});

document.querySelector("[data-target-chat] .chat-turns > li:last-child")?.scrollIntoView({ block: "end" });
