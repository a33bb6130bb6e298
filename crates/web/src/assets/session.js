// Opens the steps of a turn in place, fetched once when someone asks for them.

async function fill(details) {
  const body = details.querySelector(".steps-body");
  const source = details.dataset.steps;
  if (!body || !source || details.dataset.filled) return;
  details.dataset.filled = "yes";
  try {
    const answer = await fetch(source, { headers: { accept: "text/html" } });
    if (!answer.ok) throw new Error(String(answer.status));
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    body.replaceChildren(...part.body.childNodes);
  } catch {
    // The link to the trace still stands there.
    delete details.dataset.filled;
  }
}

document.addEventListener(
  "toggle",
  (event) => {
    const details = event.target;
    if (details instanceof HTMLDetailsElement && details.open && "steps" in details.dataset) fill(details);
  },
  true,
);
