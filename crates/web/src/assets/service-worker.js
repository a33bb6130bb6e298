// Shows push notifications and opens the page they are about.

// What happened, in words. The server sends no more than these need.
function words(type, data) {
  switch (type) {
    case "turn.ended":
      return data.outcome === "failed" ? "Turn failed" : "Turn finished";
    case "person.needed": {
      const more = data.ask?.more > 0 ? ` (and ${data.ask.more} more)` : "";
      return data.ask?.kind === "permission" ? `Permission needed: ${data.ask.text}` : `${data.ask?.text ?? "The agent has a question"}${more}`;
    }
    case "session.failed":
      return data.why ? `The agent stopped: ${data.why}` : "The agent stopped";
    default:
      return data.text ?? "Test notification";
  }
}

function told(data) {
  try {
    const { type, data: about } = data.json();
    return { type, about: about ?? {} };
  } catch {
    return { type: "", about: {} };
  }
}

self.addEventListener("push", (event) => {
  const { type, about } = told(event.data);
  const title = about.title || (about.session ? "Chat" : "Ratchet");
  const options = {
    body: words(type, about),
    // A chat has one notice, its latest.
    tag: about.session ?? "ratchet",
    renotify: true,
    requireInteraction: type === "person.needed",
    icon: "/assets/worker/icon.svg",
    data: { path: about.path },
  };
  event.waitUntil(self.registration.showNotification(title, options));
});

// Only ways within this site: whatever a notice says, it leads nowhere else.
function way(path) {
  const url = new URL(typeof path === "string" ? path : "/", self.location.origin);
  return url.origin === self.location.origin ? url : new URL("/", self.location.origin);
}

async function lead(path) {
  const to = way(path);
  const open = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const there = open.find((client) => new URL(client.url).pathname === to.pathname);
  return there ? there.focus() : self.clients.openWindow(to.href);
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(lead(event.notification.data?.path));
});
