// Before anything is recorded: asks now and then, and shows the loop once there is something.
const waiting = document.querySelector("[data-waiting]");

async function ask() {
  if (document.visibilityState === "visible") {
    const answer = await fetch(waiting.dataset.waiting).catch(() => null);
    if (answer?.ok && Number(await answer.text()) > 0) {
      location.reload();
      return;
    }
  }
  setTimeout(ask, 2000);
}

if (waiting) ask();
