// Runs: what is shown follows while something runs.
const EVERY = 2000;

async function refresh() {
  const shown = document.querySelector("[data-refresh]");
  if (!shown) return;
  if (!document.hidden && !shown.contains(document.activeElement)) {
    try {
      const response = await fetch(location.href, { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const now = page.querySelector("main .run-progress");
      if (response.ok && now) shown.replaceWith(now);
    } catch {
      // The server restarts: the next try finds it.
    }
  }
  setTimeout(refresh, EVERY);
}

if (document.querySelector("[data-refresh]")) setTimeout(refresh, EVERY);
