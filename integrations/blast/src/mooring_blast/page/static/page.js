// Replaces the changing part of a search once a second, until it has ended. Without scripts the page reloads itself.
"use strict";
const place = document.getElementById("look");
const status = document.getElementById("status");
const ended = () => place.querySelector("section").dataset.ended === "yes";

async function look() {
  let wait = 1000;
  try {
    const answer = await fetch(place.dataset.source, { headers: { Accept: "text/html" } });
    if (answer.ok) {
      place.innerHTML = await answer.text();
      const now = place.querySelector("section").dataset.status;
      if (status.textContent !== now) status.textContent = now; // read aloud when it changes
      document.title = now.split(":")[0] + document.title.slice(document.title.indexOf(":"));
    } else {
      wait = 5000;
    }
  } catch {
    wait = 5000; // the server does not answer: what is shown stays
  }
  if (!ended()) setTimeout(look, wait);
}

if (!ended()) setTimeout(look, 1000);
