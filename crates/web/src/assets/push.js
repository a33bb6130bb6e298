// Subscribes this browser to notifications (Web Push).
const box = document.querySelector("[data-push]");
const says = box?.querySelector("[data-push-says]");
const on = box?.querySelector("[data-push-on]");
const off = box?.querySelector("[data-push-off]");
const WORKER = "/service-worker.js";

function say(words, isOn, isOff) {
  says.textContent = words;
  on.hidden = !isOn;
  off.hidden = !isOff;
}

// What people call their browser: its name and where it runs.
function name() {
  const agent = navigator.userAgent;
  const known = [["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]];
  const found = known.find(([mark]) => agent.includes(mark))?.[1] ?? "Browser";
  const places = [["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Mac OS", "Mac"], ["Windows", "Windows"], ["Linux", "Linux"]];
  const place = places.find(([mark]) => agent.includes(mark))?.[1];
  return place ? `${found} on ${place}` : found;
}

async function subscription() {
  const registration = await navigator.serviceWorker.getRegistration(WORKER);
  return registration?.pushManager.getSubscription();
}

async function look() {
  if (!window.isSecureContext) return say("Notifications need https or localhost.", false, false);
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) return say("This browser does not support push notifications.", false, false);
  if (Notification.permission === "denied") return say("Notifications are blocked for this site. Allow them in the browser settings and reload this page.", false, false);
  if (await subscription()) return say("Notifications are enabled in this browser.", false, true);
  return say("Notifications are disabled in this browser.", true, false);
}

async function turnOn() {
  say("Waiting for permission…", false, false);
  if ((await Notification.requestPermission()) !== "granted") return look();
  const registration = await navigator.serviceWorker.register(WORKER);
  const options = { userVisibleOnly: true, applicationServerKey: box.dataset.push };
  const { endpoint, keys } = (await registration.pushManager.subscribe(options)).toJSON();
  const body = new URLSearchParams({ name: name(), endpoint, p256dh: keys.p256dh, auth: keys.auth });
  const token = document.querySelector("[data-form-token]")?.dataset.formToken ?? "";
  const answer = await fetch(box.dataset.to, { method: "POST", body, headers: { "x-form-token": token } });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  location.assign(answer.url);
}

async function turnOff() {
  // The push service reports the missing subscription to the server with the next notification.
  await (await subscription())?.unsubscribe();
  return look();
}

const tried = (act) => () => act().catch((error) => say(`Failed: ${error.message}`, true, false));

if (box) {
  on.addEventListener("click", tried(turnOn));
  off.addEventListener("click", tried(turnOff));
  tried(look)();
}
