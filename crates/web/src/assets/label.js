// Labels by keyboard: a number marks the framed dimension and moves on to the next.
const form = document.querySelector("[data-label]");
const isTyping = (element) => element.closest("textarea, select, input:not([type=radio])");
const sets = () => [...document.querySelectorAll("[data-dimension]")];
const isMarked = (set) => set.querySelector("input[type=radio]:checked") || set.querySelector("input[type=number]")?.value;
let at = 0;

function frame(index) {
  const all = sets();
  at = Math.max(0, Math.min(all.length - 1, index));
  all.forEach((set, position) => set.toggleAttribute("data-current", position === at));
  all[at]?.scrollIntoView({ block: "nearest" });
}

function mark(position) {
  const choices = [...(sets()[at]?.querySelectorAll("input[type=radio]") ?? [])];
  const choice = position < 0 ? choices.at(-1) : choices.slice(0, -1)[position];
  if (!choice) return;
  choice.checked = true;
  if (at + 1 < sets().length) frame(at + 1);
  else document.querySelector("#why")?.focus();
}

if (form) {
  const first = sets().findIndex((set) => !isMarked(set));
  frame(first < 0 ? 0 : first);
  form.addEventListener("focusin", (event) => {
    const set = event.target.closest("[data-dimension]");
    if (set) frame(sets().indexOf(set));
  });
  // An exact number and a step exclude each other.
  form.addEventListener("change", (event) => {
    const set = event.target.closest("[data-dimension]");
    if (!set) return;
    if (event.target.type === "radio") {
      const exact = set.querySelector("input[type=number]");
      if (exact) exact.value = "";
    } else if (event.target.type === "number" && event.target.value) {
      for (const choice of set.querySelectorAll("input[type=radio]")) choice.checked = false;
    }
  });
}

document.addEventListener("keydown", (event) => {
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (!form) {
    if (event.key === "n") document.querySelector("[data-next]")?.click();
    return;
  }
  if (/^[1-9]$/.test(event.key)) mark(Number(event.key) - 1);
  else if (event.key === "-") mark(-1);
  else if (event.key === "j") frame(at + 1);
  else if (event.key === "k") frame(at - 1);
  else if (event.key === "w") document.querySelector("#why")?.focus();
  else return;
  event.preventDefault();
});
