// The form that sends a message: the files that go along, and the messages that wait for the agent.
let composer = null;
/** What the conversation offers: its element, how to send, and whether the agent is at work. */
let talk = null;
/** Messages that wait, as they will be sent. */
let waiting = [];
let isSending = false;

const field = () => composer.querySelector("textarea");
const files = () => composer.querySelector("[data-attach]");
const place = () => `chat-queue-${talk.chat.dataset.chat}`;

function button(text, label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "quiet";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  return made;
}

function isolated(text) {
  const made = document.createElement("bdi");
  made.textContent = text;
  return made;
}

/** Files that go with the next message. */
function attach(added) {
  if (!added.length) return;
  const all = new DataTransfer();
  for (const file of [...files().files, ...added]) all.items.add(file);
  files().files = all.files;
  showFiles();
}

function showFiles() {
  const input = files();
  const items = [...input.files].map((file, at) => {
    const item = document.createElement("li");
    const remove = button("Remove", `Remove ${file.name}`, () => {
      const left = new DataTransfer();
      [...input.files].forEach((each, other) => { if (other !== at) left.items.add(each); });
      input.files = left.files;
      showFiles();
    });
    item.append(isolated(file.name), ` ${Math.ceil(file.size / 1000)} kB `, remove);
    return item;
  });
  composer.querySelector("[data-files]").replaceChildren(...items);
}

/** Makes room for the next message. */
export function empty() {
  composer.reset();
  showFiles();
  field().focus();
}

/** Shows what waits, and keeps its texts for the case that the page is loaded again. */
function showWaiting() {
  const items = waiting.map((message, at) => {
    const item = document.createElement("li");
    const take = () => {
      waiting.splice(at, 1);
      showWaiting();
    };
    const edit = () => {
      take();
      restore([message]);
    };
    const count = message.getAll("file").filter((file) => file.size).length;
    const along = count ? ` (${count} ${count === 1 ? "file" : "files"})` : "";
    item.append(
      isolated(message.get("text")), along, " ",
      button("Edit", "Edit this waiting message", edit), button("Remove", "Remove this waiting message", take),
    );
    return item;
  });
  composer.querySelector("[data-waiting]").replaceChildren(...items);
  const texts = waiting.map((message) => message.get("text"));
  if (texts.length) sessionStorage.setItem(place(), JSON.stringify(texts));
  else sessionStorage.removeItem(place());
}

/** Puts messages back where they were written. */
function restore(messages) {
  const texts = [...messages.map((message) => message.get("text")), field().value];
  field().value = texts.filter((text) => text.trim()).join("\n");
  attach(messages.flatMap((message) => message.getAll("file")).filter((file) => file.size));
  field().focus();
}

/** Has what is written wait until the agent is done. */
export function enqueue() {
  if (!field().value.trim() && !files().files.length) return;
  waiting.push(new FormData(composer));
  empty();
  showWaiting();
  drain();
}

/** Sends the next message that waits, if the agent is free. */
export async function drain() {
  if (!composer || isSending || !waiting.length || talk.chat.dataset.state !== "idle") return;
  isSending = true;
  const next = waiting[0];
  const isSent = await talk.send(composer, next);
  isSending = false;
  if (!isSent) return giveBack();
  waiting = waiting.filter((message) => message !== next);
  showWaiting();
}

/** Who stops the agent wants to say something else: what waits can be changed. */
export function giveBack() {
  if (!composer || !waiting.length) return;
  restore(waiting);
  waiting = [];
  showWaiting();
}

function dropFiles() {
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    composer.classList.add("over");
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) composer.classList.remove("over"); });
  addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    composer.classList.remove("over");
    attach(event.dataTransfer.files);
  });
}

export function compose(form, conversation) {
  composer = form;
  talk = conversation;
  const isTouch = matchMedia("(pointer: coarse)").matches;
  files().addEventListener("change", showFiles);
  field().addEventListener("keydown", (event) => {
    const sends = event.key === "Enter" && !event.isComposing && !event.shiftKey && (!isTouch || event.ctrlKey || event.metaKey);
    if (!sends) return;
    event.preventDefault();
    composer.requestSubmit();
  });
  field().addEventListener("paste", (event) => {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    attach(event.clipboardData.files);
  });
  dropFiles();
  for (const text of JSON.parse(sessionStorage.getItem(place()) ?? "[]")) {
    const message = new FormData(composer);
    message.set("text", text);
    message.delete("file");
    waiting.push(message);
  }
  showWaiting();
  drain();
}
