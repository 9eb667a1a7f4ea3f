// The palette: every page and object, found while typing, opened with Enter.
"use strict";
(() => {
  const palette = document.getElementById("palette"), field = document.getElementById("palette-text");
  const list = document.getElementById("palette-found"), none = document.getElementById("palette-none");
  let found = [], chosen = 0, asked = 0;

  function mark() {
    [...list.children].forEach((row, index) => row.setAttribute("aria-selected", index === chosen));
    list.children[chosen]?.scrollIntoView({block: "nearest"});
    field.setAttribute("aria-activedescendant", found.length ? "found-" + chosen : "");
  }
  function show(items) {
    found = items;
    chosen = 0;
    list.replaceChildren(...items.map((item, index) => {
      const row = document.createElement("li"), kind = document.createElement("small"), note = document.createElement("span");
      row.id = "found-" + index;
      row.setAttribute("role", "option");
      kind.textContent = item.kind;
      note.textContent = item.note;
      row.append(kind, item.name, note);
      row.addEventListener("click", () => { location.href = item.path; });
      return row;
    }));
    none.hidden = items.length > 0;
    mark();
  }
  async function ask() {
    const number = ++asked;
    const answer = await fetch("/find.json?q=" + encodeURIComponent(field.value));
    if (number === asked && answer.ok) show((await answer.json()).items);
  }
  function open() { palette.showModal(); field.value = ""; ask(); }
  field.addEventListener("input", ask);
  field.addEventListener("keydown", event => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (step) { event.preventDefault(); chosen = Math.max(0, Math.min(found.length - 1, chosen + step)); mark(); }
    if (event.key === "Enter" && found[chosen]) location.href = found[chosen].path;
    if (event.key === "Escape") { event.preventDefault(); palette.close(); }  // a search field would only empty itself
  });
  palette.addEventListener("click", event => { if (event.target === palette) palette.close(); });
  document.getElementById("find").addEventListener("click", open);
  document.addEventListener("keydown", event => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); if (!palette.open) open(); }
  });
})();
