// What every page does once it stands: theme, menus, dialogs, copying, selection, toasts.
import "./keys.js";

const root = document.documentElement;

/** Says a short word in the corner. */
export function toast(text) {
  const note = document.createElement("div");
  note.className = "toast";
  note.textContent = text;
  document.getElementById("toasts")?.append(note);
  setTimeout(() => note.remove(), 4000);
}

function switchTheme() {
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
}

// Times are shown in the zone of the browser from the next page on; until then in UTC, as the bar says.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const shown = document.querySelector("[data-zone]")?.dataset.zone;
if (zone && shown && zone !== shown) {
  document.cookie = `zone=${zone}; path=/; max-age=31536000; samesite=lax`;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  } catch {
    toast("Copying was blocked by the browser");
  }
}

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-theme-switch], [data-copy], [data-open], [data-close]");
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  if (!target) return;
  if ("themeSwitch" in target.dataset) switchTheme();
  else if ("copy" in target.dataset) copy(target.dataset.copy);
  else if ("open" in target.dataset) document.getElementById(target.dataset.open)?.showModal();
  else target.closest("dialog")?.close();
});

document.addEventListener("change", (event) => {
  const all = event.target.closest("[data-select-all]");
  if (all) {
    for (const box of all.closest("table").querySelectorAll("tbody input[name=id]")) box.checked = all.checked;
  }
  const table = event.target.closest("table[data-rows]");
  if (!table) return;
  const chosen = table.querySelectorAll("tbody input[name=id]:checked").length;
  for (const bar of document.querySelectorAll("[data-selection]")) {
    bar.hidden = chosen === 0;
    const count = bar.querySelector("[data-selected]");
    if (count) count.textContent = String(chosen);
  }
});

for (const note of document.querySelectorAll("[data-toast]")) {
  toast(note.textContent);
  note.remove();
}

// Forms that redirect when they succeed: an error is shown in the form, and the input stays.
document.addEventListener("submit", async (event) => {
  const [form, submitter] = [event.target, event.submitter];
  // A button may send its form elsewhere, or ask first.
  const method = submitter?.getAttribute("formmethod") ?? form.getAttribute("method");
  if (!form.matches("form[data-inline-errors]") || method !== "post" || submitter?.matches("[data-confirm]")) return;
  event.preventDefault();
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  form.querySelector(":scope > .wrong")?.remove();
  const body = new URLSearchParams(new FormData(form, submitter));
  let problem;
  try {
    // Not `form.action`: a field of that name would hide it.
    const action = submitter?.getAttribute("formaction") ?? form.getAttribute("action");
    const response = await fetch(action, { method: "POST", body, headers: { accept: "text/html" } });
    const text = await response.text();
    if (response.redirected) return location.assign(response.url);
    const page = new DOMParser().parseFromString(text, "text/html");
    problem = page.querySelector(".wrong, .lead")?.textContent ?? `the server returned ${response.status}`;
  } catch {
    problem = "the server cannot be reached; nothing was saved";
  } finally {
    form.ariaBusy = "false";
  }
  const note = document.createElement("p");
  note.className = "wrong";
  note.setAttribute("role", "alert");
  note.textContent = problem;
  form.append(note);
});

// Marks of a chart lead to the records behind them; the table below the chart has the same links.
document.addEventListener("click", (event) => {
  const mark = event.target.closest?.("[data-href]");
  if (mark && !event.target.closest("a")) location.assign(mark.dataset.href);
});

// Tables without a file of their own: the rows that are shown, as CSV.
function csvCell(text) {
  // A spreadsheet must not take text for a formula.
  const harmless = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

function csvOf(table) {
  const rows = [...table.rows].map((row) => [...row.cells].filter((cell) => !cell.matches(".check, .bar-cell")));
  return rows.map((cells) => cells.map((cell) => csvCell(cell.innerText.trim())).join(",")).join("\r\n");
}

for (const table of document.querySelectorAll("main .table-wrap > table, main table.lying-bars, main table.by-kind")) {
  const wrap = table.closest(".table-wrap") ?? table;
  if (wrap.closest(".list, [data-own-export]") || !table.tBodies[0]?.rows.length) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet export-shown";
  button.textContent = "Export shown rows (CSV)";
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csvOf(table)], { type: "text/csv" }));
    link.download = `${(wrap.getAttribute("aria-label") ?? table.caption?.textContent ?? "table").replaceAll(/[^\w]+/g, "-")}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  wrap.after(button);
}
