// The keyboard: rows with j and k, pages with g and a letter, the palette, help.
const isTyping = (element) => element.closest("input, textarea, select, [contenteditable]");
const rows = () => [...document.querySelectorAll("table[data-rows] tbody tr")].filter((row) => row.offsetParent);
const current = () => document.querySelector("table[data-rows] tr[aria-selected]");

const PAGES = { h: "", t: "traces", o: "observations", s: "sessions", u: "users", c: "scores", q: "queues", d: "datasets", p: "prompts", b: "dashboards", e: "settings" };
const HELP = [
  ["Ctrl K", "find a page or anything by id"], ["?", "this help"], ["g then a letter", "go to a page: h home, t traces, o observations, s sessions, u users, c scores, q queues, d datasets, p prompts, b dashboards, e settings"],
  ["j / k", "next and previous row"], ["Enter", "open the row"], ["x", "select the row"], ["p", "look at the row beside its list"], ["/", "type a filter"], ["Esc", "close"],
];
// What a trace's page adds; see trace.js.
const TRACE_HELP = [
  ["j / k or ↓ / ↑", "next and previous step"], ["← / →", "close and open a step"], ["e", "next step that failed"],
  ["Enter", "to the content"], ["r", "raw, or the conversation"], ["c", "copy the link of the step"],
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

function help() {
  const box = dialog("Keyboard");
  const list = element("dl", "", "facts");
  const help = document.querySelector(".trace-page") ? [...TRACE_HELP, ...HELP.slice(0, 3)] : HELP;
  for (const [keys, what] of help) {
    const term = document.createElement("dt");
    term.append(element("kbd", keys));
    list.append(term, element("dd", what));
  }
  box.append(element("h2", "Keyboard"), list);
  box.showModal();
}

function pageLinks() {
  const links = [...document.querySelectorAll(".rail li a, .menu-list a")];
  return links.map((link) => ({ name: link.textContent.trim(), href: link.href }));
}

function palette() {
  const box = dialog("Find");
  box.classList.add("palette");
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "a page, or the id of a trace, session, user…";
  input.setAttribute("aria-label", "Find");
  const list = document.createElement("ul");
  list.className = "palette-list";
  const base = location.pathname.match(/^\/project\/[^/]+/)?.[0];
  const fill = () => {
    const wanted = input.value.trim().toLowerCase();
    const found = pageLinks().filter((page) => page.name.toLowerCase().includes(wanted));
    const typed = input.value.trim();
    if (typed && base) {
      const id = encodeURIComponent(typed);
      found.push({ name: `Find “${typed}”`, href: `${base}/find?q=${id}` });
    }
    list.replaceChildren(...found.slice(0, 12).map((page) => {
      const item = document.createElement("li");
      const link = element("a", page.name);
      link.href = page.href;
      item.append(link);
      return item;
    }));
  };
  input.addEventListener("input", fill);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") list.querySelector("a")?.click();
    if (event.key === "ArrowDown") { list.querySelector("a")?.focus(); event.preventDefault(); }
  });
  list.addEventListener("keydown", (event) => {
    const item = document.activeElement.closest("li");
    const next = event.key === "ArrowDown" ? item?.nextElementSibling : event.key === "ArrowUp" ? item?.previousElementSibling : null;
    if (event.key === "ArrowUp" && !next) input.focus();
    next?.querySelector("a").focus();
    if (event.key.startsWith("Arrow")) event.preventDefault();
  });
  box.append(input, list);
  fill();
  box.showModal();
  input.focus();
}

let waitingForPage = false;
function goTo(letter) {
  const base = location.pathname.match(/^\/project\/[^/]+/)?.[0];
  const page = PAGES[letter];
  if (base && page !== undefined) location.href = page ? `${base}/${page}` : base;
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
