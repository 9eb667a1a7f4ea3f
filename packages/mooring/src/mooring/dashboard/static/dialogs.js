// Acts open in a dialog over the page. Without scripts, and after a login, the same question is a page of its own.
"use strict";
(() => {
  const dialog = document.getElementById("dialog");
  let asker = null;
  async function open(address) {
    const answer = await fetch(address, {headers: {Accept: "text/html", "HX-Request": "true"}});
    if (!answer.ok || answer.redirected) { location.href = address; return; }
    const text = await answer.text();
    dialog.innerHTML = text;
    dialog.showModal();
    dialog.querySelector("[autofocus]")?.focus();
  }
  document.addEventListener("click", event => {
    const link = event.target.closest?.("a[data-act]");
    if (link && !event.ctrlKey && !event.metaKey) { event.preventDefault(); asker = link; open(link.getAttribute("href")); }
    const back = event.target.closest?.("#dialog [data-cancel]");
    if (back) { event.preventDefault(); dialog.close(); }
    if (event.target === dialog) dialog.close();
  });
  // A live part may have replaced the link meanwhile: then the browser cannot return the focus to it.
  dialog.addEventListener("close", () => {
    if (asker.isConnected) return;
    document.querySelector(`a[data-act][href="${CSS.escape(asker.getAttribute("href"))}"]`)?.focus();
  });
  // The end of a log stays in sight while it grows, unless somebody scrolled up to read.
  let atEnd = true;
  document.addEventListener("htmx:beforeSwap", () => {
    const lines = document.querySelector("#log pre");
    atEnd = !lines || lines.scrollTop + lines.clientHeight > lines.scrollHeight - 30;
  });
  function scroll() { const lines = document.querySelector("#log pre"); if (lines && atEnd) lines.scrollTop = lines.scrollHeight; }
  document.addEventListener("htmx:afterSettle", scroll);
  scroll();
})();
