// The keyboard: rows with j and k, pages with g and a letter, the palette, help.
const isTyping = (element) => element.closest("input, textarea, select, [contenteditable]");
const rows = () => [...document.querySelectorAll("table[data-rows] tbody tr")].filter((row) => row.offsetParent);
const current = () => document.querySelector("table[data-rows] tr[aria-selected]");

const PAGES = { h: "Home", t: "Traces", o: "Observations", s: "Sessions", u: "Users", c: "Scores", q: "Queues", d: "Datasets", p: "Prompts", r: "Chat", b: "Dashboards", e: "Settings" };
const HELP = [
  ["Ctrl K", "search pages, names, IDs and actions"], ["?", "keyboard shortcuts"],
  ["g then a letter", `go to a page: ${Object.entries(PAGES).map(([key, name]) => `${key} ${name.toLowerCase()}`).join(", ")}`], ["Esc", "close dialog"],
];
const ROWS_HELP = [["j / k", "next and previous row"], ["Enter", "open the row"]];
// What a trace's page adds; see trace.js.
const TRACE_HELP = [
  ["j / k or ↓ / ↑", "next and previous observation"], ["← / →", "collapse and expand"], ["e", "next error"],
  ["Enter", "focus content"], ["r", "toggle raw view"], ["c", "copy link to observation"], ["f", "search the tree"],
];

// What the comparison of runs adds; see compare.js.
const COMPARE_HELP = [
  ["j / k", "next and previous item"], ["c / x", "candidate is correct, incorrect"], ["C / X", "baseline is correct, incorrect"],
  ["Enter", "open the item"],
];

function move(step) {
  const all = rows();
  if (!all.length) return;
  const old = current();
  const at = old ? all.indexOf(old) + step : 0;
  const row = all[Math.max(0, Math.min(all.length - 1, at))];
  old?.removeAttribute("aria-selected");
  row.setAttribute("aria-selected", "true");
  row.scrollIntoView({ block: "nearest" });
  row.querySelector("a.row-link")?.focus({ preventScroll: true });
}

function dialog(title) {
  const box = document.createElement("dialog");
  box.setAttribute("aria-label", title);
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  return box;
}

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** The keys of this very page first, then those that work everywhere. */
function helpHere() {
  if (document.querySelector(".trace-page")) return [...TRACE_HELP, ...HELP];
  if (document.querySelector("[data-compared]")) return [...COMPARE_HELP, ...HELP];
  if (document.querySelector("[data-target-chat]")) return [["a", "add the last turn to a dataset"], ...HELP];
  const here = rows().length ? [...ROWS_HELP] : [];
  if (document.querySelector("table[data-rows] input[name=id]")) here.push(["x", "select the row"], ["p", "preview the row"]);
  if (document.querySelector("[data-filter]")) here.push(["/", "type a filter"]);
  return [...here, ...HELP];
}

function help() {
  const box = dialog("Keyboard shortcuts");
  const list = element("dl", "", "facts keys-help");
  for (const [keys, what] of helpHere()) {
    const term = document.createElement("dt");
    term.append(element("kbd", keys));
    list.append(term, element("dd", what));
  }
  box.append(element("h2", "Keyboard shortcuts"), list);
  box.showModal();
}

/** What can be gone to from here: pages, projects, times, and whatever else the menus hold. */
function pageLinks() {
  const seen = new Set();
  const links = [...document.querySelectorAll(".rail li a, .bar .menu-list a")].filter((link) => !seen.has(link.href) && seen.add(link.href));
  return links.map((link) => ({ kind: kindOf(link), name: link.textContent.trim(), href: link.href }));
}

function kindOf(link) {
  const menu = link.closest(".menu")?.querySelector("summary")?.getAttribute("aria-label");
  return menu ? menu.split(":")[0].toLowerCase() : "page";
}

/** What can be done from here. */
function actions() {
  const found = [
    { kind: "action", name: "Toggle theme", run: () => document.querySelector("[data-theme-switch]")?.click() },
    { kind: "action", name: "Keyboard shortcuts", run: help },
    { kind: "action", name: "Copy link to this page", run: () => navigator.clipboard?.writeText(location.href) },
  ];
  for (const action of document.querySelectorAll(".head .actions a.button, .head .actions button.button")) {
    found.push({ kind: "action", name: action.textContent.trim(), run: () => action.click() });
  }
  return found;
}

function entry(box, { kind, name, href, run }) {
  const item = document.createElement("li");
  const link = element(href ? "a" : "button", "");
  link.append(element("span", kind, "muted"), " ", element("bdi", name));
  if (href) link.href = href;
  else {
    link.type = "button";
    link.addEventListener("click", () => { box.close(); run(); });
  }
  item.append(link);
  return item;
}

/** What the server finds by name and id, as lines of the list. */
async function offers(typed, signal) {
  const params = new URLSearchParams(location.search);
  const asked = new URLSearchParams({ q: typed });
  for (const name of ["env", "range"]) if (params.get(name)) asked.set(name, params.get(name));
  const answer = await fetch(`${project()}/find/offers?${asked}`, { signal });
  if (!answer.ok) return [];
  return [...new DOMParser().parseFromString(await answer.text(), "text/html").querySelectorAll("li")];
}

const project = () => location.pathname.match(/^\/project\/[^/]+/)?.[0];

function palette() {
  const box = dialog("Search");
  box.classList.add("palette");
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "Search pages, names, IDs and actions";
  input.setAttribute("aria-label", "Search");
  const list = document.createElement("ul");
  list.className = "palette-list";
  const known = [...pageLinks(), ...actions()];
  let asking = new AbortController();
  const fill = async () => {
    const typed = input.value.trim();
    const found = known.filter((one) => one.name.toLowerCase().includes(typed.toLowerCase()));
    const here = found.slice(0, typed ? 6 : 11).map((one) => entry(box, one));
    list.replaceChildren(...here);
    asking.abort();
    if (!typed || !project()) return;
    asking = new AbortController();
    const { signal } = asking;
    try {
      const more = await offers(typed, signal);
      if (!signal.aborted) list.replaceChildren(...here, ...more);
    } catch {
      // The next letter has been typed, or the server is away: what is known here still stands.
    }
  };
  const items = () => [...list.querySelectorAll("a, button")];
  input.addEventListener("input", fill);
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && document.activeElement === input) items()[0]?.click();
    if (!step) return;
    event.preventDefault();
    const all = [input, ...items()];
    const at = all.indexOf(document.activeElement) + step;
    all[Math.max(0, Math.min(all.length - 1, at))]?.focus();
  });
  box.append(input, list);
  fill();
  box.showModal();
  input.focus();
}

let waitingForPage = false;
function goTo(letter) {
  const link = [...document.querySelectorAll(".rail li a")].find((one) => one.textContent.trim() === PAGES[letter]);
  if (link) location.href = link.href;
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-palette]")) palette();
  else if (event.target.closest("[data-help]")) help();
});

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (!document.querySelector("dialog[open]")) palette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  if (waitingForPage) {
    waitingForPage = false;
    goTo(event.key);
    return;
  }
  switch (event.key) {
    case "j": move(1); break;
    case "k": move(-1); break;
    case "p": current()?.dispatchEvent(new CustomEvent("peek", { bubbles: true })); break;
    case "x": current()?.querySelector("input[name=id]")?.click(); break;
    case "g": waitingForPage = true; break;
    case "?": help(); break;
    case "/": {
      const filter = document.querySelector("[data-filter]");
      if (filter) { filter.focus(); event.preventDefault(); }
      break;
    }
  }
});
