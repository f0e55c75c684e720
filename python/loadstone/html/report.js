// The report's script: networks as tabs, waterfalls, what a mark says on hover and focus, the arrow keys, copies
// and downloads. Text from the page under test is only ever set as text.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const CRITICAL = "\u25c6";
  const LEAST = 15; // hundredths of a percent
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");

  function make(tag, attributes, ...children) {
    const isSvg = ["svg", "rect", "text"].includes(tag);
    const element = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // --- numbers, written as the rest of the page has them ---

  function grouped(number) {
    return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
  }

  function clock(us) {
    if (us == null) return "-";
    if (us >= 100000) return grouped(Math.floor((us + 500) / 1000)) + " ms";
    const tenths = Math.floor((us + 50) / 100);
    return Math.floor(tenths / 10) + "." + (tenths % 10) + " ms";
  }

  // --- waterfalls ---

  class Waterfall {
    constructor(page, variant) {
      this.page = page;
      this.variant = variant;
      this.end = variant.step * (variant.labels.length - 1);
      this.critical = new Set(variant.path.map((span) => span[0]).filter((place) => typeof place === "number"));
    }

    table() {
      const heads = ["Object", "Kind", "Size", "Conn.", "Done"].map((head) => make("th", { scope: "col" }, head));
      const head = make("thead", {}, make("tr", {}, ...heads, make("th", { scope: "col" }, this.axis())));
      if (this.variant.path.length) head.append(this.ribbon());
      const body = make("tbody", {}, ...this.page.labels.map((_, at) => this.row(at)));
      return make("table", { class: `fall steps-${this.variant.labels.length - 1}` }, head, body);
    }

    axis() {
      const { step, labels } = this.variant;
      const axis = make("svg", { class: "axis", role: "img", "aria-label": "Time" });
      labels.forEach((label, k) => {
        const anchor = k === 0 ? "start" : k < labels.length - 1 ? "middle" : "end";
        axis.append(make("text", { x: this.percent(k * step), y: "11", "text-anchor": anchor }, label));
      });
      return axis;
    }

    ribbon() {
      const label = "What the load waited for";
      const spans = this.variant.path.map(([place, part, begin, end]) => {
        const [key, words] = data.parts[part];
        const what = typeof place === "number" ? this.page.labels[place] : place;
        const says = `${words}: ${clock(end - begin)}\n${what}\n${clock(begin)} to ${clock(end)}`;
        return make("rect", { class: key.replaceAll("_", "-"), ...this.extent(begin, end), "data-tip": says });
      });
      return make(
        "tr",
        { class: "path" },
        make("th", { scope: "row", colspan: "5" }, label),
        make("td", {}, make("svg", { class: "ribbon", role: "group", "aria-label": label }, ...spans)),
      );
    }

    row(at) {
      const { page, variant } = this;
      const isCritical = this.critical.has(at);
      const connection = variant.connection[at];
      const cells = [page.kinds[at], page.sizes[at], connection ?? "-", clock(this.time("last_byte", at))];
      const bars = this.segments(at).map(([kind, begin, end]) =>
        make("rect", { class: kind, ...this.extent(begin, end) }),
      );
      const name = (isCritical ? CRITICAL + " " : "") + page.labels[at];
      return make(
        "tr",
        isCritical ? { class: "critical" } : {},
        make("th", { scope: "row" }, make("bdi", {}, name)),
        ...cells.map((cell) => make("td", {}, String(cell))),
        make("td", {}, make("svg", {}, ...bars)),
      );
    }

    time(mark, at) {
      return this.variant.marks[mark]?.[at] ?? null;
    }

    segments(at) {
      const isFine = this.time("arrived", at) !== null && this.time("answered", at) !== null;
      const asked = isFine
        ? [["ask", "sent", "arrived"], ["think", "arrived", "answered"], ["ask", "answered", "first_byte"]]
        : [["ask", "sent", "first_byte"]];
      const segments = [];
      for (const [kind, first, second] of [["wait", "found", "sent"], ...asked, ["get", "first_byte", "last_byte"]]) {
        const begin = this.time(first, at);
        const end = this.time(second, at);
        if (begin === null) break;
        if (end === null || end > begin || kind === "get") segments.push([kind, begin, end ?? this.end]);
        if (end === null) break;
      }
      return segments;
    }

    extent(begin, end) {
      const left = Math.min(Math.floor((begin * 10000) / this.end), 10000 - LEAST);
      const right = Math.floor((Math.min(end, this.end) * 10000) / this.end);
      return { x: left / 100 + "%", width: Math.max(LEAST, right - left) / 100 + "%" };
    }

    percent(us) {
      return Math.floor((us * 10000) / this.end) / 100 + "%";
    }

    says(at) {
      const { page, variant } = this;
      const connection = variant.connection[at];
      const lines = [page.names[at], [page.kinds[at], page.sizes[at]].join(", ")];
      if (connection !== null) lines[1] += `, connection ${connection}`;
      const words = {
        found: "found",
        retried: "asked for again",
        sent: "request sent",
        arrived: "request at the server",
        answered: "answer begun",
        first_byte: "first byte",
        last_byte: "last byte",
      };
      for (const [mark, word] of Object.entries(words)) {
        if (this.time(mark, at) !== null) lines.push(`${word}: ${clock(this.time(mark, at))}`);
      }
      const waited = new Map();
      for (const [place, part, begin, end] of variant.path) {
        if (place === at) waited.set(part, (waited.get(part) ?? 0) + end - begin);
      }
      if (waited.size) lines.push("The load waited for it:");
      for (const [part, us] of waited) lines.push(`${clock(us)} ${data.parts[part][2]}`);
      return lines.join("\n");
    }
  }

  const waterfalls = new WeakMap(); // by the table's body

  function fill(panel, page, variant) {
    const waterfall = new Waterfall(page, variant);
    panel.replaceChildren(make("p", { class: "about" }, variant.about), waterfall.table());
    waterfalls.set(panel.querySelector("tbody"), waterfall);
    const marks = panel.querySelectorAll(".ribbon rect");
    for (const mark of marks) mark.setAttribute("role", "img");
    speak(marks);
  }

  function filter(block, page) {
    const { which, host, kind } = block.querySelector(".filters").elements;
    const body = block.querySelector("tbody");
    const { critical } = waterfalls.get(body);
    for (const [at, row] of [...body.rows].entries()) {
      const isShown =
        (which.value === "all" || critical.has(at)) &&
        (!host.value || page.hosts[at] === host.value) &&
        (!kind.value || page.kinds[at] === kind.value);
      row.hidden = !isShown;
      row.tabIndex = -1;
    }
    const first = shownRows(body)[0];
    if (first) first.tabIndex = 0;
  }

  function shownRows(body) {
    return [...body.rows].filter((row) => !row.hidden);
  }

  for (const block of document.querySelectorAll(".waterfall")) {
    const page = data.pages[block.dataset.page];
    const form = block.querySelector(".filters");
    const draw = () => {
      fill(block.querySelector(".panel"), page, page.networks[block.dataset.network].variants[form.elements.variant.value]);
      filter(block, page);
    };
    for (const [name, values] of [["host", page.hosts], ["kind", page.kinds]]) {
      const choices = [...new Set(values)].filter((value) => value);
      form.elements[name].append(...choices.map((value) => make("option", { value }, value)));
    }
    form.hidden = false;
    form.addEventListener("change", (event) => (event.target.name === "variant" ? draw() : filter(block, page)));
    // Hundreds of rows for each: drawn when someone looks.
    block.closest("details").addEventListener("toggle", (event) => {
      if (event.target.open && !block.querySelector("tbody")) draw();
    });
  }

  // --- networks as tabs ---

  function tabs(group, networks) {
    const buttons = networks.map((network, at) => {
      const name = network.querySelector("h2 bdi").textContent;
      const button = make("button", { type: "button", role: "tab", id: `${network.id}-tab`, "aria-controls": network.id }, name);
      network.setAttribute("role", "tabpanel");
      button.addEventListener("click", () => choose(at));
      return button;
    });
    const choose = (at) => {
      networks.forEach((network, k) => {
        network.hidden = k !== at;
        buttons[k].setAttribute("aria-selected", k === at);
        buttons[k].tabIndex = k === at ? 0 : -1;
      });
    };
    const list = make("div", { class: "tabs", role: "tablist", "aria-label": "Networks" }, ...buttons);
    list.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const to = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length;
      choose(to);
      buttons[to].focus();
    });
    group.prepend(list);
    group.classList.add("tabbed");
    const follow = () => {
      const at = networks.findIndex((network) => location.hash === `#${network.id}`);
      if (at >= 0) {
        choose(at);
        group.scrollIntoView();
      }
    };
    addEventListener("hashchange", follow);
    choose(0);
    follow();
  }

  for (const group of document.querySelectorAll(".networks")) {
    const networks = [...group.querySelectorAll(".network")];
    if (networks.length > 1) tabs(group, networks);
  }

  // --- what a mark says ---

  function speak(marks) {
    marks.forEach((mark, at) => {
      if (!mark.hasAttribute("tabindex")) mark.setAttribute("tabindex", at === 0 ? 0 : -1);
      mark.setAttribute("aria-label", mark.dataset.tip.replaceAll("\n", ", "));
    });
  }

  function speaker(target) {
    return target instanceof Element ? target.closest("[data-tip], .fall tbody tr") : null;
  }

  function show(mark, x) {
    const body = mark.closest("tbody");
    tip.textContent = mark.dataset.tip ?? waterfalls.get(body).says(mark.sectionRowIndex);
    tip.hidden = false;
    const at = mark.getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const left = (x ?? at.left + Math.min(at.width, innerWidth) / 2) - size.width / 2;
    const above = at.top - size.height - 8;
    tip.style.left = Math.max(8, Math.min(left, document.documentElement.clientWidth - size.width - 8)) + "px";
    tip.style.top = Math.max(8, above >= 8 ? above : Math.min(at.bottom + 8, innerHeight - size.height - 8)) + "px";
  }

  function hide() {
    tip.hidden = true;
  }

  document.addEventListener("pointerover", (event) => {
    const mark = speaker(event.target);
    if (mark) show(mark, event.clientX);
    else hide();
  });
  document.addEventListener("focusin", (event) => {
    const mark = speaker(event.target);
    if (!mark) return hide();
    mark.setAttribute("aria-describedby", "tip");
    show(mark);
  });
  document.addEventListener("focusout", (event) => {
    event.target.removeAttribute("aria-describedby");
    hide();
  });
  document.addEventListener("pointerleave", hide);
  for (const chart of document.querySelectorAll(".chart")) speak(chart.querySelectorAll("[data-tip]"));

  // --- the arrow keys: Tab goes to a chart or waterfall, they go on within ---

  function middle(mark) {
    const at = mark.getBoundingClientRect();
    return at.left + at.width / 2;
  }

  function beside(mark, marks, step) {
    const rows = [...new Set(marks.map((other) => other.dataset.row))];
    const row = rows[rows.indexOf(mark.dataset.row) + step];
    const there = marks.filter((other) => other.dataset.row === row);
    const distance = (other) => Math.abs(middle(other) - middle(mark));
    return there.sort((first, second) => distance(first) - distance(second))[0];
  }

  function marksBeside(mark) {
    return [...mark.closest(".chart, .ribbon").querySelectorAll("[data-tip]")];
  }

  function next(key, mark) {
    const body = mark.closest("tbody");
    const isRow = body !== null && !mark.dataset.tip;
    const marks = isRow ? shownRows(body) : marksBeside(mark);
    if (!isRow) marks.sort((first, second) => (first.dataset.row ?? 0) - (second.dataset.row ?? 0));
    const at = marks.indexOf(mark);
    const last = marks.length - 1;
    const places = { Home: 0, End: last };
    if (isRow) {
      Object.assign(places, { ArrowUp: at - 1, ArrowDown: at + 1 });
      Object.assign(places, { PageUp: Math.max(0, at - 10), PageDown: Math.min(last, at + 10) });
    } else {
      Object.assign(places, { ArrowLeft: at - 1, ArrowRight: at + 1 });
      if (key === "ArrowUp") return beside(mark, marks, -1) ?? mark;
      if (key === "ArrowDown") return beside(mark, marks, 1) ?? mark;
    }
    return key in places ? (marks[places[key]] ?? mark) : null;
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return hide();
    const mark = speaker(event.target);
    if (!mark || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = next(event.key, mark);
    if (!to) return;
    event.preventDefault();
    mark.setAttribute("tabindex", -1);
    to.setAttribute("tabindex", 0);
    to.focus();
  });

  // --- copies and downloads ---

  function save(name, content) {
    const link = make("a", { href: URL.createObjectURL(new Blob([content], { type: "application/json" })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function slug(...words) {
    return words.join("-").replace(/[^A-Za-z0-9.]+/g, "-").replace(/^-+|-+$/g, "");
  }

  const saves = {
    document: () => save("loadstone.json", document.getElementById("document").textContent),
    scenario: () => {
      const form = document.querySelector(".scenario");
      const [pageAt, networkAt] = form.elements.network.value.split("-");
      const page = data.pages[pageAt];
      const network = page.networks[networkAt];
      const variant = network.variants[form.elements.variant.value];
      const name = slug(page.name, network.name, variant.name) + ".scenario.json";
      save(name, JSON.stringify({ page: page.page, ...variant.scenario }));
    },
  };

  async function copy(button) {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  }

  document.querySelector(".scenario").hidden = false;
  for (const button of document.querySelectorAll("[data-copy], [data-download]")) {
    button.hidden = false;
    button.addEventListener("click", () => (button.dataset.copy ? copy(button) : saves[button.dataset.download]()));
  }
})();
