// A chart's preview follows its form, which stays in place: whoever steps through a list with the
// arrow keys keeps the focus. Without this, the button does it.
const SELECTOR = "form[data-preview]";

async function follow(form, asked) {
  const address = new URL(form.action);
  address.search = new URLSearchParams(new FormData(form)).toString();
  const answer = await fetch(address, { signal: asked.signal, headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [fields, preview] = [page.querySelector(SELECTOR), page.querySelector("[data-drawn]")];
  if (asked.signal.aborted || !fields || !preview) return;
  document.querySelector("[data-drawn]").replaceWith(document.importNode(preview, true));
  takeFields(form, document.importNode(fields, true));
  history.replaceState(null, "", address);
}

/** Takes new fields over; what somebody is writing stays as it is, and so does the focus. */
function takeFields(form, fresh) {
  const focused = document.activeElement?.name;
  for (const written of form.querySelectorAll("input:not([type=hidden])")) {
    const next = fresh.elements.namedItem(written.name);
    if (next) next.value = written.value;
  }
  form.replaceChildren(...fresh.childNodes);
  if (focused) form.elements.namedItem(focused)?.focus();
}

for (const form of document.querySelectorAll(SELECTOR)) {
  let asked = new AbortController();
  form.addEventListener("change", (event) => {
    if (!event.target.matches("select, input[name=q], input[name=rows], input[name=bins]")) return;
    asked.abort();
    asked = new AbortController();
    follow(form, asked).catch((error) => {
      if (error.name !== "AbortError") form.requestSubmit(form.querySelector("button[data-show]"));
    });
  });
}
