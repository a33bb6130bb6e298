{
  // What is looked for must come within this time, in milliseconds.
  patience: 45000,

  frame() {
    return new Promise((resolve) => requestAnimationFrame(() => resolve()));
  },

  // Everything that is known is on the screen.
  async drawn() {
    await document.fonts.ready;
    await this.frame();
    await this.frame();
    return true;
  },

  canBeSeen(element) {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0 && element.checkVisibility({ visibilityProperty: true });
  },

  nameOf(element) {
    const name = element.getAttribute("aria-label") || element.innerText || element.value;
    return (name || element.getAttribute("placeholder") || "").trim().replace(/\s+/g, " ");
  },

  bySelector(selector) {
    try {
      return [...document.querySelectorAll(selector)].filter((found) => this.canBeSeen(found));
    } catch {
      return [];
    }
  },

  // What can be used comes before what can only be read, the same words before words among
  // others, and the innermost before what is around it.
  byWords(words) {
    const use = "a, button, input, select, textarea, summary, label, [role], [tabindex]";
    for (const group of [use, "body *"]) {
      const seen = this.bySelector(group);
      for (const fits of [(name) => name === words, (name) => name.includes(words)]) {
        const fitting = seen.filter((element) => fits(this.nameOf(element)));
        const inner = fitting.filter((a) => !fitting.some((b) => a !== b && a.contains(b)));
        if (inner.length > 0) return inner[0];
      }
    }
    return null;
  },

  find(wanted) {
    return this.bySelector(wanted)[0] || this.byWords(wanted);
  },

  async until(what, isThere) {
    const end = performance.now() + this.patience;
    for (;;) {
      const found = isThere();
      if (found) return found;
      if (performance.now() > end) throw new Error(`there is no ${what} on ${location.href}`);
      await this.frame();
    }
  },

  shows(wanted) {
    return Boolean(this.find(wanted));
  },

  async found(wanted) {
    await this.until(wanted, () => this.find(wanted));
    return true;
  },

  async at(beginning) {
    await this.until(`path ${beginning}`, () => location.pathname.startsWith(beginning));
    return true;
  },

  async text(selector) {
    const found = await this.until(selector, () => this.bySelector(selector)[0]);
    return found.innerText.trim();
  },

  // Where the middle of something is, and what lies over it there.
  async place(wanted) {
    // What is being replaced is about to move.
    await this.until("end of what is busy", () => !document.querySelector("[aria-busy=true]"));
    const found = await this.until(wanted, () => this.find(wanted));
    found.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    await this.frame();
    const { left, top, width, height } = found.getClientRects()[0];
    const [x, y] = [left + width / 2, top + height / 2];
    const top_most = document.elementFromPoint(x, y);
    const isIt = top_most && (found.contains(top_most) || top_most.contains(found));
    return { x, y, under: isIt ? null : this.wordsFor(top_most) };
  },

  wordsFor(element) {
    if (!element) return "the edge of the window";
    const id = element.id ? `#${element.id}` : "";
    const classes = [...element.classList].map((name) => `.${name}`).join("");
    return `<${element.localName}${id}${classes}>`;
  },

  // What makes the page wider than the window: elements beyond the right edge that no scrolling
  // or clipping box of their own holds back.
  sticksOut(width) {
    if (document.documentElement.scrollWidth <= width) return [];
    const holds = (box) => getComputedStyle(box).overflowX !== "visible";
    const isHeld = (element) => {
      for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
        if (holds(box)) return true;
      }
      return false;
    };
    const beyond = [...document.body.querySelectorAll("*")]
      .filter((element) => this.canBeSeen(element))
      .filter((element) => element.getBoundingClientRect().right > width + 0.5)
      .filter((element) => !isHeld(element))
      .map((element) => {
        const right = Math.round(element.getBoundingClientRect().right);
        return `${this.wordsFor(element)} ends at ${right} px`;
      });
    return [`the page is ${document.documentElement.scrollWidth} px wide`, ...beyond.slice(0, 10)];
  },

  // Styles and handlers written into markup as it came from the server.
  inline(source) {
    const markup = new DOMParser().parseFromString(source, "text/html");
    const found = [];
    for (const element of markup.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        const isHandler = name.startsWith("on");
        const isScriptLink = /^\s*(javascript|vbscript|data):/i.test(value.replace(/[\s\0]/g, ""));
        const leads = ["href", "src", "action", "formaction", "xlink:href"].includes(name);
        if (name === "style" || isHandler || (leads && isScriptLink)) {
          found.push(`${this.wordsFor(element)} ${name}=${value.slice(0, 80)}`);
        }
      }
      const isInline = element.localName === "script" && !element.hasAttribute("src");
      const isData = element.localName === "script" && /json/.test(element.type);
      if (element.localName === "style" || (isInline && !isData)) {
        found.push(`${this.wordsFor(element)} with content of its own`);
      }
    }
    return found;
  },

  // A paint is told a little after it is done.
  async cost() {
    const [navigation] = performance.getEntriesByType("navigation");
    const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
    const paint = await this.until("first paint", painted);
    return {
      server: navigation.responseStart - navigation.requestStart,
      paint: paint.startTime,
      loaded: navigation.loadEventEnd,
    };
  },

  // Violations of some of axe-core's rules, or of all if none is named, in few words.
  async axe(rules) {
    const options = { resultTypes: ["violations"] };
    if (rules.length > 0) options.runOnly = rules;
    const { violations } = await axe.run(document, options);
    return violations.map(({ id, help, nodes }) => ({
      rule: id,
      help,
      places: nodes.map(({ target, failureSummary }) => {
        const why = (failureSummary || "").split("\n").slice(1).join(" ").replace(/\s+/g, " ");
        return `${target.flat().join(" ")} (${why.trim()})`;
      }),
    }));
  },
}
