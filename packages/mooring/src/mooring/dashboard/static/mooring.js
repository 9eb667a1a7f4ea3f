// Live fragments, the badge, tooltips, theme and keys. No framework, no inline handlers.
"use strict";
(() => {
  const CELL = 14, COLUMNS = 10;
  const {page, subject} = document.body.dataset;
  const badge = document.getElementById("live");

  // --- live -------------------------------------------------------------------------------------------------------
  let source = null, heard = Date.now(), paused = false, told = 0, skipped = false;

  function show(state, text) {
    if (badge) { badge.dataset.state = state; badge.textContent = text; }
  }
  function replace(fragments) {
    for (const [id, html] of Object.entries(fragments)) {
      const box = document.createElement("template");
      box.innerHTML = html.trim();
      swap(document.getElementById(id), box.content.firstElementChild);
    }
    cells.clear();
  }
  function swap(old, fresh) {
    if (!old || !fresh || old.outerHTML === fresh.outerHTML) return;
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    if (active && active.matches("input, select, textarea")) { skipped = true; return; }
    const open = [...old.querySelectorAll("details")].map(d => d.open);
    fresh.querySelectorAll("details").forEach((d, i) => { d.open = open[i] || false; });
    const focused = active && active.closest("[id]").id;
    old.replaceWith(fresh);
    const again = focused && document.getElementById(focused);
    if (again) (again.querySelector(".cells, button, summary") || again).focus();
  }
  function connect() {
    if (!badge || paused || document.hidden || source) return;
    const query = new URLSearchParams(location.search);
    query.set("page", page);
    if (subject) query.set("subject", subject);
    source = new EventSource("/stream?" + query);
    source.addEventListener("fragments", e => { heard = Date.now(); told += 1; replace(JSON.parse(e.data)); });
    source.addEventListener("reload", () => { heard = Date.now(); reload(); });
    source.addEventListener("beat", () => { heard = Date.now(); });
    source.onopen = () => { heard = Date.now(); };
  }
  function disconnect() { if (source) { source.close(); source = null; } }
  // Boxes came or went: take the live parts anew, and leave alone what somebody is typing into the filters.
  async function reload() {
    let since;
    do {
      since = told;
      const answer = await fetch(location.href, {headers: {Accept: "text/html"}});
      if (!answer.ok) { disconnect(); return connect(); }  // what the page is about is gone: the stream reports it
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-part]")) swap(part, fresh.getElementById(part.id));
    } while (since !== told);
    cells.clear();
  }
  function tick() {
    if (!badge) return;
    if (paused) return show("paused", "Paused · resume");
    const age = Math.round((Date.now() - heard) / 1000);
    if (source && source.readyState === EventSource.OPEN && age < 15) return show("live", `Live · ${age} s ago · pause`);
    show("lost", `No answer for ${age} s`);
    if (source && source.readyState === EventSource.CLOSED) { disconnect(); connect(); }
  }
  // --- filters apply while somebody types ----------------------------------------------------------------------------
  const filters = document.querySelector("form[data-filters]");
  let typing, shown = location.pathname + location.search;
  function filter() {
    const given = [...new FormData(filters)].filter(([, value]) => value !== "");
    const query = new URLSearchParams(given).toString();
    const target = filters.getAttribute("action") + (query ? "?" + query : "");
    if (target === location.pathname + location.search) return;
    history.pushState(null, "", target);
    shown = target;
    disconnect();
    reload().then(connect);
  }
  filters?.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(filter, 250); });
  filters?.addEventListener("submit", event => { event.preventDefault(); clearTimeout(typing); filter(); });

  badge?.addEventListener("click", () => {
    paused = !paused;
    if (paused) disconnect(); else { reload(); connect(); }
    tick();
  });
  document.addEventListener("focusout", () => { if (skipped) { skipped = false; setTimeout(reload); } });
  document.addEventListener("visibilitychange", () => { if (document.hidden) disconnect(); else connect(); });
  // A link within the page is a step of the history too: only another address is another page.
  window.addEventListener("popstate", () => { if (location.pathname + location.search !== shown) location.reload(); });
  document.addEventListener("click", event => {
    const copied = event.target.closest?.("[data-copy]");
    if (copied) navigator.clipboard.writeText(copied.dataset.copy).then(() => { copied.textContent = "Copied"; });
    if (event.target.closest?.("[data-close]")) event.target.closest(".toast").remove();
  });
  setInterval(tick, 1000);
  connect();

  // --- names on hover and focus -------------------------------------------------------------------------------------
  const tooltip = document.getElementById("tooltip");
  const cells = new Map();
  let cursor = 0;

  async function workersOf(tile) {
    const node = tile.dataset.node;
    if (!cells.has(node)) {
      const query = new URLSearchParams(location.search);
      query.set("node", node);
      cells.set(node, fetch("/cells.json?" + query).then(answer => answer.ok ? answer.json() : []));
    }
    return cells.get(node);
  }
  async function tell(tile, index, x, y) {
    const worker = (await workersOf(tile))[index];
    if (!worker) return hide();
    const since = worker.since ? ` since ${worker.since.slice(11, 19)} UTC` : "";
    tooltip.textContent = `${worker.namespace}/${worker.name}: ${worker.state}${worker.failing ? ", failing" : ""}${since}\n${worker.reason}` +
      (worker.owner ? `\nowner ${worker.owner}` : "") + (worker.address ? `\n${worker.address}` : "") +
      protection(worker) + (worker.health ? `\n${worker.health}` : "");
    tooltip.hidden = false;
    tooltip.style.left = Math.min(x + 12, innerWidth - 400) + "px";
    tooltip.style.top = Math.min(y + 16, innerHeight - 90) + "px";
  }
  function protection(worker) {
    if (!worker.protected) return "";
    const left = Math.round((Date.parse(worker.protectedUntil) - Date.now()) / 60000);
    return left > 0 ? `\nprotected, ${left} min left` : "\nprotected";
  }
  function cellAt(svg, event) {
    const box = svg.getBoundingClientRect();
    return Math.floor((event.clientY - box.top) / CELL) * COLUMNS + Math.floor((event.clientX - box.left) / CELL);
  }
  async function visit(svg, index) {
    const worker = (await workersOf(svg.closest(".tile")))[index];
    if (worker) location.href = `/workers/${encodeURIComponent(worker.namespace)}/${encodeURIComponent(worker.name)}`;
  }
  function hide() { tooltip.hidden = true; }
  document.addEventListener("click", event => {
    const svg = event.target.closest?.(".tile .cells");
    if (svg) visit(svg, cellAt(svg, event));
  });
  document.addEventListener("pointermove", event => {
    const svg = event.target.closest?.(".tile .cells");
    if (!svg) return hide();
    tell(svg.closest(".tile"), cellAt(svg, event), event.clientX, event.clientY);
  });
  function walk(svg, step) {
    const tile = svg.closest(".tile"), count = Number(tile.dataset.cells);
    if (!count) return;
    cursor = Math.max(0, Math.min(count - 1, cursor + step));
    const box = svg.getBoundingClientRect();
    tell(tile, cursor, box.left + (cursor % COLUMNS) * CELL, box.top + Math.floor(cursor / COLUMNS) * CELL);
  }
  document.addEventListener("focusin", event => { if (event.target.matches(".tile .cells")) { cursor = 0; walk(event.target, 0); } });
  document.addEventListener("focusout", event => { if (event.target.matches(".tile .cells")) hide(); });

  // --- theme and keys -----------------------------------------------------------------------------------------------
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
  });
  const help = document.getElementById("help");
  document.getElementById("keys").addEventListener("click", () => help.showModal());
  const goals = Object.fromEntries([...document.querySelectorAll("nav a[data-key]")].map(a => [a.dataset.key, a.href]));
  const steps = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -COLUMNS, ArrowDown: COLUMNS};
  let going = false;
  document.addEventListener("keydown", event => {
    if (event.target.matches(".tile .cells") && event.key in steps) { event.preventDefault(); return walk(event.target, steps[event.key]); }
    if (event.target.matches(".tile .cells") && event.key === "Enter") return visit(event.target, cursor);
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (going && goals[event.key]) { location.href = goals[event.key]; return; }
    going = event.key === "g";
    if (event.key === "/") { event.preventDefault(); document.getElementById("search")?.focus(); }
    if (event.key === "?") help.showModal();
  });
})();
