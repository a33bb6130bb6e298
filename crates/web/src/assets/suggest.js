// Completion of the filter: names of fields, then their values. Arrows choose, Enter takes the chosen
// one; without a choice Enter filters, as it does without this script.
const MOST = 12;

// The term before the caret: it starts behind the last space that is not quoted.
function termAt(text, caret) {
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < caret; at++) {
    if (text[at] === '"' && text[at - 1] !== "\\") isQuoted = !isQuoted;
    else if (text[at] === " " && !isQuoted) start = at + 1;
  }
  return start;
}

function matching(fields, typed) {
  const minus = typed.startsWith("-") ? "-" : "";
  const words = typed.slice(minus.length).toLowerCase();
  const field = fields.find((field) => /^[:=<>]/.test(words.slice(field.name.length)) && words.startsWith(field.name.toLowerCase()));
  if (field) {
    const value = words.slice(field.name.length).replace(/^[:=<>]+"?/, "");
    const terms = (field.terms ?? []).filter((term) => term.text.slice(field.name.length).toLowerCase().includes(value));
    return terms.map((term) => ({ text: `${minus}${term.text} `, label: term.text, note: term.count }));
  }
  const named = fields.filter((field) => field.name.toLowerCase().includes(words));
  named.sort((a, b) => b.name.toLowerCase().startsWith(words) - a.name.toLowerCase().startsWith(words));
  return named.map((field) => ({ text: `${minus}${field.name}${field.sign}`, label: `${field.name}${field.sign}`, note: field.label }));
}

function complete(input) {
  const fields = JSON.parse(input.dataset.suggest);
  const list = document.createElement("ul");
  list.id = "q-suggestions";
  list.className = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  list.hidden = true;
  input.after(list);
  input.type = "text";
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-expanded", "false");
  let offered = [];
  let chosen = -1;

  function close() {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function choose(next) {
    const items = list.children;
    items[chosen]?.setAttribute("aria-selected", "false");
    chosen = (next + items.length) % items.length;
    items[chosen].setAttribute("aria-selected", "true");
    items[chosen].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", items[chosen].id);
  }

  function take(item) {
    const caret = input.selectionStart;
    const start = termAt(input.value, caret);
    input.setRangeText(item.text, start, caret, "end");
    input.focus();
    show();
  }

  function option(item, at) {
    const entry = document.createElement("li");
    entry.id = `q-suggestion-${at}`;
    entry.setAttribute("role", "option");
    entry.setAttribute("aria-selected", "false");
    const label = document.createElement("bdi");
    label.textContent = item.label;
    const note = document.createElement("span");
    note.className = "muted";
    note.textContent = item.note ?? "";
    entry.append(label, note);
    // Before the field loses its focus.
    entry.addEventListener("mousedown", (event) => { event.preventDefault(); take(item); });
    return entry;
  }

  function show() {
    const caret = input.selectionStart;
    const typed = input.value.slice(termAt(input.value, caret), caret);
    offered = matching(fields, typed).filter((item) => item.text.trimEnd() !== typed).slice(0, MOST);
    close();
    list.replaceChildren(...offered.map(option));
    list.hidden = !offered.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
  }

  input.addEventListener("input", show);
  input.addEventListener("click", show);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && list.hidden) show();
    if (list.hidden) return;
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen < 0 ? -1 : chosen - 1);
    else if (event.key === "Enter" && chosen >= 0) take(offered[chosen]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

for (const input of document.querySelectorAll("input[data-suggest]")) complete(input);
