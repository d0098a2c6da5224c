// Sorts, filters, points at figures and opens queries. All else is in the page without it.
"use strict";
(() => {
  const words = JSON.parse(document.getElementById("words").textContent);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const say = (name, values = {}) => words[name].replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
  const number = (value, digits = 3) =>
    value === null || value === undefined ? "–"
      : value.toFixed(digits).replace("-", "−").replace(".", words.decimal);

  // An element with attributes and children; text is always text, whatever it holds.
  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== ""));
    return node;
  }

  function theme() {
    const root = document.documentElement, button = document.getElementById("theme");
    const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const label = () => { button.textContent = dark() ? button.dataset.light : button.dataset.dark; };
    button.hidden = false;
    button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; label(); });
    label();
  }

  // ---- Tables

  function sortable(table) {
    const headings = all("thead tr:first-child th[data-sort]", table);
    headings.forEach((heading) => {
      const column = heading.cellIndex, button = make("button", { type: "button" }, ...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const numbers = heading.dataset.sort === "number";
        const first = numbers && !/^(k|ms|p\d)/.test(button.textContent) ? "descending" : "ascending";
        const now = heading.getAttribute("aria-sort");
        const wanted = !now ? first : now === "ascending" ? "descending" : "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", wanted);
        sort(table, column, numbers, wanted === "ascending" ? 1 : -1);
      });
    });
  }

  // Rows without a figure come last, whichever way it goes.
  function sort(table, column, numbers, way) {
    const body = table.tBodies[0];
    const value = (row) => {
      const cell = row.cells[column];
      if (!cell || cell.colSpan > 1) return null;
      const given = numbers ? cell.dataset.v ?? cell.style.getPropertyValue("--v") : cell.textContent;
      return given === "" ? null : numbers ? Number(given) : given;
    };
    const rows = [...body.rows].map((row, place) => ({ row, place, value: value(row) }));
    rows.sort((a, b) => {
      if (a.value === null || b.value === null) return (a.value === null) - (b.value === null) || a.place - b.place;
      const order = numbers ? a.value - b.value : a.value.localeCompare(b.value);
      return way * order || a.place - b.place;
    });
    body.append(...rows.map((one) => one.row));
  }

  function filtered(table) {
    const box = table.closest("section").querySelector(".filters");
    const text = box.querySelector('[data-filter="text"]'), k = box.querySelector('[data-filter="k"]');
    const count = box.querySelector("[data-count]"), rows = [...table.tBodies[0].rows];
    const apply = () => {
      const wanted = text.value.trim().toLowerCase();
      rows.forEach((row) => {
        row.hidden = !(row.cells[0].textContent.toLowerCase().includes(wanted) && (!k.value || row.dataset.k === k.value));
      });
      tell(count, rows.filter((row) => !row.hidden).length, rows.length);
    };
    [text, k].forEach((control) => control.addEventListener("input", apply));
    apply();
  }

  function tell(status, shown, whole) {
    status.textContent = status.dataset.count.replace("{shown}", shown).replace("{all}", whole);
  }

  // ---- Charts: what is at hand is said in a box; with the keyboard, arrows go from mark to mark.

  const tip = make("div", { class: "tip", role: "status", hidden: true });
  document.body.append(tip);

  function pointed(chart, facts, article) {
    const svg = chart.querySelector(".plot > svg");
    const marks = all("use[data-i]", svg);
    if (!marks.length) return;
    all("title", svg).forEach((title) => title.remove());
    const middle = (mark) => { const box = mark.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
    let at = -1;
    const leave = () => { marks[at]?.classList.remove("at-hand"); at = -1; tip.hidden = true; };
    const go = (next) => {
      if (next !== at) { marks[at]?.classList.remove("at-hand"); at = next; marks[at].classList.add("at-hand"); }
      show(facts, facts.cells[marks[at].dataset.i], middle(marks[at]), article);
    };
    svg.addEventListener("pointermove", (event) => {
      let best = -1, nearest = 48 ** 2;
      marks.forEach((mark, i) => {
        const [x, y] = middle(mark), far = (x - event.clientX) ** 2 + (y - event.clientY) ** 2;
        if (far < nearest) { nearest = far; best = i; }
      });
      if (best < 0) leave(); else go(best);
    });
    svg.addEventListener("pointerleave", leave);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step) { event.preventDefault(); go((at + step + marks.length) % marks.length); }
      if (event.key === "Escape") leave();
    });
  }

  function show(facts, [system, k, figures], [x, y], article) {
    const chosen = article.querySelector(".measures input:checked + .face").textContent;
    const table = make("table", {});
    figures.forEach(([name, figure]) => table.append(
      make("tr", { class: name.split("@")[0] === chosen ? "now" : null }, make("td", {}, name), make("td", {}, figure))));
    tip.replaceChildren(make("b", {}, `${facts.systems[system]}, k = ${k}`), table);
    tip.hidden = false;
    const box = tip.getBoundingClientRect(), room = document.documentElement;
    const left = x + 16 + box.width < room.clientWidth ? x + 16 : Math.max(8, x - 16 - box.width);
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.max(8, Math.min(y - box.height / 2, room.clientHeight - box.height - 8))}px`;
  }

  // A name brings its system forward in every chart; a second time lets it go.
  function named(article) {
    const bring = (number) => all(".chart", article).forEach((chart) => {
      chart.classList.toggle("has-hl", number !== null);
      all("[data-s]", chart).forEach((part) => part.classList.toggle("hl", part.dataset.s === number));
      all(".names button", chart).forEach((button) =>
        button.setAttribute("aria-pressed", button.parentNode.dataset.s === number));
    });
    all(".names li", article).forEach((item) => {
      const button = make("button", { type: "button", "aria-pressed": "false" }, ...item.childNodes);
      item.append(button);
      button.addEventListener("click", () => bring(button.getAttribute("aria-pressed") === "true" ? null : item.dataset.s));
    });
  }

  // ---- Queries

  function browsed(section, facts) {
    const list = section.querySelector(".list"), opened = section.querySelector(".opened");
    const search = section.querySelector("[data-search]"), order = section.querySelector("[data-order]");
    const status = section.querySelector("[data-count]"), items = all("li", list);
    const sides = { left: facts.left, right: facts.right };
    let current = null;
    const buttons = items.map((item) => {
      const inside = item.firstElementChild, button = make("button", { type: "button", class: "q" }, ...inside.childNodes);
      inside.replaceWith(button);
      button.addEventListener("click", () => { open(Number(item.dataset.q)); });
      return button;
    });
    function open(q) {
      current = q;
      items.forEach((item, i) => buttons[i].setAttribute("aria-current", String(Number(item.dataset.q) === q)));
      opened.hidden = false;
      opened.replaceChildren(...told(facts, q, sides, (side, system) => { sides[side] = system; arrange(); open(q); opened.querySelector(`[data-side="${side}"]`).focus(); }));
    }
    function arrange() {
      const ahead = (q) => {
        const query = facts.queries[q], at = facts.lead;
        const one = query.values[sides[order.value]]?.[at], other = query.values[sides[order.value === "left" ? "right" : "left"]]?.[at];
        return one === undefined || other === undefined || one === null || other === null ? -9999 : one - other;
      };
      const sorted = [...items];
      if (order.value) sorted.sort((a, b) => ahead(b.dataset.q) - ahead(a.dataset.q) || a.dataset.q - b.dataset.q);
      list.append(...sorted);
    }
    function find() {
      const wanted = plain(search.value.trim());
      items.forEach((item) => { item.hidden = !plain(item.textContent).includes(wanted); });
      tell(status, items.filter((item) => !item.hidden).length, items.length);
    }
    search.addEventListener("input", find);
    order.addEventListener("input", arrange);
    find();
    if (items.length) open(0);
  }

  // Without accents and capitals, so that "devolucion" finds "Devolución".
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

  function told(facts, q, sides, change) {
    const query = facts.queries[q];
    const parts = [
      make("h3", {}, query.text || say("no_text")),
      make("p", { class: "note" }, [query.id, ...query.about, say("relevant_count", { count: query.relevant })].join(" · ")),
    ];
    if (!query.lists) return [...parts, make("p", { class: "note" }, say("no_rankings"))];
    const columns = ["left", "right"].map((side) => {
      const select = make("select", { "aria-label": say(side), "data-side": side });
      facts.systems.forEach((name, i) => select.append(make("option", { value: i, selected: i === sides[side] }, name)));
      select.addEventListener("change", () => change(side, Number(select.value)));
      const other = sides[side === "left" ? "right" : "left"];
      const figures = (query.values[sides[side]] || []).map((value, i) => `${facts.shown[i]} ${number(value === null ? null : value / 1000)}`);
      return make("div", {}, select, make("p", { class: "side-figures" }, figures.map(whole).join(" · ") || "–"),
        ranking(facts, query, sides[side], other));
    });
    parts.push(make("div", { class: "sides" }, ...columns));
    const out = query.missing.filter(([, ranks]) =>
      [sides.left, sides.right].some((system) => !(ranks[system] && ranks[system] <= facts.k)));
    if (out.length) parts.push(make("h4", {}, say("left_out")), make("ul", { class: "hits" }, ...out.map((one) => missing(facts, query, one, sides))));
    return parts;
  }

  function ranking(facts, query, system, other) {
    const list = make("ol", { class: "hits" }), hits = pairs(query.lists[system]), others = pairs(query.lists[other]);
    if (!hits.length) return make("p", { class: "note" }, say("nothing_found"));
    const places = new Map(others.map(([doc], i) => [doc, i + 1]));
    query.missing.forEach(([doc, ranks]) => { if (ranks[other]) places.set(doc, ranks[other]); });
    const stages = Object.entries(query.staged[system] || {}).map(([stage, flat]) => [facts.stages[stage], pairs(flat)]);
    hits.forEach(([doc, score], i) => {
      if (i === facts.k) list.append(make("li", { class: "cut" }, say("cut_here", { k: facts.k })));
      const line = [`${say("score")} ${short(score)}`];
      stages.forEach(([stage, ranked]) => {
        const [rank, value] = ranked[i];
        if (rank || value !== null) line.push(`${stage}${rank ? ` #${rank}` : ""}${value === null ? "" : ` ${short(value)}`}`);
      });
      if (places.has(doc)) line.unshift(say("here", { rank: places.get(doc) }));
      else if (others.length) line.unshift(say("not_here", { depth: others.length }));
      list.append(make("li", { class: i >= facts.k ? "after" : null }, make("span", { class: "r" }, String(i + 1)),
        chunk(facts, query, doc), make("p", { class: "line" }, line.map(whole).join(" · "))));
    });
    const later = [...list.querySelectorAll("li.after")].slice(5);
    if (!later.length) return list;
    later.forEach((item) => { item.hidden = true; });
    const more = make("button", { type: "button", class: "quiet" }, say("show_more", { count: later.length }));
    more.addEventListener("click", () => { later.forEach((item) => { item.hidden = false; }); more.remove(); });
    return make("div", {}, list, more);
  }

  function missing(facts, query, [doc, ranks], sides) {
    const where = ["left", "right"].map((side) => {
      const rank = ranks[sides[side]], depth = facts.depths[sides[side]];
      const place = rank ? say("rank", { rank }) : depth ? say("beyond", { depth }) : say("beyond_unknown");
      return `${facts.systems[sides[side]]}: ${place}`;
    });
    return make("li", {}, chunk(facts, query, doc), make("p", { class: "line" }, where.join(" · ")));
  }

  function chunk(facts, query, doc) {
    const [place, grade] = query.docs[doc], [id, title, text, cut] = facts.documents[place];
    const judged = grade === null ? make("span", { class: "badge unj" }, say("unjudged"))
      : make("span", { class: grade > 0 ? "badge rel" : "badge" }, say("grade", { grade }));
    const body = make("p", {}, text, cut ? make("span", { class: "soft" }, ` […] ${say("text_cut")}`) : "");
    return make("details", {}, make("summary", {}, make("span", { class: "title" }, title || id), judged),
      make("p", { class: "line" }, id), body);
  }

  // What stands in turn in a flat list, two by two.
  function pairs(flat) {
    const found = [];
    for (let i = 0; i < flat.length; i += 2) found.push([flat[i], flat[i + 1]]);
    return found;
  }

  const whole = (text) => text.replaceAll(" ", "\u00a0");
  const short = (value) => number(value, Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3);

  // ---- All of it

  function copied(button) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentNode.querySelector("code"), before = button.textContent;
      getSelection().selectAllChildren(code);
      try { await navigator.clipboard.writeText(code.textContent); } catch { document.execCommand("copy"); }
      button.textContent = button.dataset.done;
      setTimeout(() => { button.textContent = before; }, 1500);
    });
  }

  theme();
  all("table.sortable").forEach(sortable);
  all(".js").forEach((part) => { if (!part.classList.contains("opened")) part.hidden = false; });
  all("table[data-filtered]").forEach(filtered);
  all("button.copy").forEach(copied);
  all("article.collection").forEach((article) => {
    const facts = JSON.parse(article.querySelector("script.facts").textContent);
    named(article);
    all(".chart", article).forEach((chart) => pointed(chart, facts, article));
    const section = article.querySelector("section.queries");
    if (section) browsed(section, facts);
  });
})();
