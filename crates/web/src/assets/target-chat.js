// A chat with a target: Enter sends, one key adds the last turn to a dataset.
const composer = document.querySelector("[data-target-chat] .composer");
const text = composer?.querySelector("textarea");

text?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (text.value.trim()) composer.requestSubmit();
});

// The answer may take a while: the message is shown, and cannot be sent twice.
composer?.addEventListener("submit", () => {
  const button = composer.querySelector("button");
  button.disabled = true;
  text.readOnly = true;
  const note = document.createElement("p");
  note.className = "muted waiting";
  note.setAttribute("role", "status");
  note.textContent = "Waiting for the answer…";
  composer.before(note);
  new MutationObserver((_, observer) => {
    if (!composer.querySelector(":scope > .wrong")) return;
    observer.disconnect();
    button.disabled = false;
    text.readOnly = false;
    note.remove();
  }).observe(composer, { childList: true });
});

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
