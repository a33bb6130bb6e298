// Runs item by item: keys, and scores that are saved in place.
import { toast } from "./ratchet.js";

const items = () => [...document.querySelectorAll("[data-compared] .pair")];
const current = () => document.querySelector("[data-compared] .pair[aria-current]");

function move(step) {
  const all = items();
  if (!all.length) return;
  const old = current();
  const at = old ? all.indexOf(old) + step : 0;
  const item = all[Math.max(0, Math.min(all.length - 1, at))];
  old?.removeAttribute("aria-current");
  item.setAttribute("aria-current", "true");
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

/** Presses a button of the newest trial in one of the columns. */
function say(column, value) {
  const sides = [...(current()?.querySelectorAll(".pair-side") ?? [])];
  const side = column === "baseline" ? sides[0] : sides[1];
  side?.querySelector(`:scope > form[data-correct] button[value="${value}"]`)?.click();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (document.querySelector("dialog[open]")) return;
  switch (event.key) {
    case "j": move(1); break;
    case "k": move(-1); break;
    case "c": say("candidate", 1); break;
    case "x": say("candidate", 0); break;
    case "C": say("baseline", 1); break;
    case "X": say("baseline", 0); break;
    case "Enter": if (event.target === current()) current().querySelector("h2 a")?.click(); break;
  }
});

/** Takes over what the page says now, without moving the reader away. */
function replace(page, selector) {
  const [now, then] = [page.querySelector(selector), document.querySelector(selector)];
  if (now && then) then.replaceWith(now);
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-correct]")) return;
  event.preventDefault();
  const section = form.closest(".pair");
  const { item } = section.dataset;
  const pressed = event.submitter?.value;
  const body = new URLSearchParams(new FormData(form, event.submitter));
  try {
    const response = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const now = [...page.querySelectorAll("[data-compared] .pair")].find((one) => one.dataset.item === item);
    if (!response.ok || !now) throw new Error(page.querySelector(".lead")?.textContent ?? `the server returned ${response.status}`);
    for (const old of items()) old.removeAttribute("aria-current");
    now.setAttribute("aria-current", "true");
    const at = [...section.querySelectorAll("form[data-correct]")].indexOf(form);
    section.replaceWith(now);
    for (const selector of [".compared", "main .whiskers", ".corrections", ".changes"]) replace(page, selector);
    now.querySelectorAll("form[data-correct]")[at]?.querySelector(`button[value="${pressed}"]`)?.focus({ preventScroll: true });
    toast("Saved");
  } catch (error) {
    toast(`Not saved: ${error.message}`);
  }
});
