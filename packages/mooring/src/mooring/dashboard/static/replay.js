// Plays the recording of a replay: two maps on one clock. Without motion, it steps from event to event.
"use strict";
(() => {
  const COLUMNS = 6, CELL = 14, STEP_MS = 2000;
  const player = document.getElementById("player");
  const part = id => document.getElementById(id);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const text = value => document.createTextNode(value);
  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  function draw(name, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  const naturally = new Intl.Collator("en", {numeric: true}).compare;
  function elapsed(seconds) {
    const whole = Math.floor(seconds), two = number => String(number).padStart(2, "0");
    return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  }

  // --- one half -----------------------------------------------------------------------------------------------------
  class Half {
    constructor(name, recorded) {
      this.recorded = recorded;
      this.section = part("half-" + name);
      this.map = this.section.querySelector(".scenes");
      this.events = recorded.events.map(([seconds, words]) => {
        const button = make("button", {type: "button"}, make("span", {}, elapsed(seconds)), make("span", {}, words));
        button.addEventListener("click", () => { pause(); show(seconds); });
        this.section.querySelector(".events").append(make("li", {}, button));
        return {seconds, button};
      });
      this.tiles = new Map();
      this.reset();
    }
    reset() {
      this.next = 0;
      this.state = {nodes: new Map(), cells: new Map(), planes: new Map(), gauges: new Map()};
    }
    show(seconds) {
      const frames = this.recorded.frames;
      if (this.next && frames[this.next - 1].seconds > seconds) this.reset();
      for (; this.next < frames.length && frames[this.next].seconds <= seconds; this.next++) {
        for (const [kind, known] of Object.entries(this.state)) {
          for (const [key, value] of Object.entries(frames[this.next][kind] || {})) {
            if (value === null) known.delete(key); else known.set(key, value);
          }
        }
      }
      this.drawMap();
      this.drawWords(seconds);
    }
    drawMap() {
      const {nodes, cells} = this.state;
      const boxes = new Map([...nodes.keys()].sort(naturally).map(node => [node, []]));
      const waiting = [];
      for (const key of [...cells.keys()].sort((one, other) => one - other)) {
        const cell = cells.get(key);
        (boxes.get(cell[1]) || waiting).push(cell);
      }
      const wanted = [...boxes].map(([node, found]) => [node, nodes.get(node), found]);
      if (waiting.length) wanted.unshift(["no node", "unplaced", waiting]);
      for (const [node, tile] of this.tiles) if (!boxes.has(node) && !(node === "no node" && waiting.length)) { tile.box.remove(); this.tiles.delete(node); }
      wanted.forEach(([node, kind, found], place) => this.drawTile(node, kind, found, place));
    }
    drawTile(node, kind, cells, place) {
      const look = JSON.stringify([kind, cells]);
      let tile = this.tiles.get(node);
      if (!tile) this.tiles.set(node, tile = {box: make("div", {}), look: ""});
      if (this.map.children[place] !== tile.box) this.map.insertBefore(tile.box, this.map.children[place] || null);
      if (tile.look === look) return;
      tile.look = look;
      tile.box.className = "scene " + kind;
      const height = Math.max(1, Math.ceil(cells.length / COLUMNS)) * CELL, width = COLUMNS * CELL;
      const picture = draw("svg", {role: "img", "aria-label": this.describe(node, kind, cells), viewBox: `0 0 ${width} ${height}`, width, height});
      cells.forEach(([name, , state, isProtected], index) => {
        const at = {x: index % COLUMNS * CELL, y: Math.floor(index / COLUMNS) * CELL};
        picture.append(draw("use", {href: "#shape-" + state, class: "cell s-" + state, ...at}, draw("title", {}, text(`${name}, ${state}`))));
        if (isProtected) picture.append(draw("use", {href: "#shape-protected", class: "cell s-protected", ...at}));
      });
      tile.box.replaceChildren(make("p", {title: node}, node), picture);
    }
    describe(node, kind, cells) {
      const counts = new Map();
      for (const [, , state, isProtected] of cells) for (const word of isProtected ? [state, "protected"] : [state]) counts.set(word, (counts.get(word) || 0) + 1);
      const described = [...counts].map(([state, count]) => `${count} ${state}`).join(", ") || "empty";
      return `${node}${kind === "draining" ? ", draining" : ""}: ${described}`;
    }
    drawWords(seconds) {
      const ended = seconds >= this.recorded.seconds, badge = this.section.querySelector(".badge");
      badge.textContent = ended ? (this.recorded.outage ? "outage" : "no outage") : "";
      badge.className = "badge" + (ended ? (this.recorded.outage ? " v-bad" : " v-ok") : "");
      const planes = [...this.state.planes].map(([name, runs]) => `control plane ${name} ${runs ? "runs" : "is dead"}`);
      this.section.querySelector(".planes").textContent = planes.join(", ");
      const gauges = [...this.state.gauges].map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
      this.section.querySelector(".gauges").replaceChildren(...gauges);
      const past = this.events.filter(event => event.seconds <= seconds).length;
      if (past === this.past) return;
      this.past = past;
      this.events.forEach(({button}, index) => {
        button.classList.toggle("past", index < past);
        if (index === past - 1) button.setAttribute("aria-current", "step"); else button.removeAttribute("aria-current");
      });
      const list = this.section.querySelector(".events"), last = this.events[Math.max(0, past - 1)];
      if (last) list.scrollTop = last.button.offsetTop - list.offsetTop - list.clientHeight + last.button.offsetHeight + 4;
    }
  }

  // --- one clock ----------------------------------------------------------------------------------------------------
  let halves = [], moments = [], end = 0, now = 0, playing = false, ticked = 0;
  const time = part("time"), button = part("play"), speed = part("speed");

  function show(seconds) {
    now = Math.max(0, Math.min(end, seconds));
    for (const half of halves) half.show(now);
    time.value = String(Math.floor(now));
    time.setAttribute("aria-valuetext", `${elapsed(now)} of ${elapsed(end)}`);
    part("clock").textContent = `${elapsed(now)} of ${elapsed(end)}`;
  }
  function remember() {
    const url = new URL(location.href);
    url.searchParams.set("t", String(Math.floor(now)));
    history.replaceState(null, "", url);
  }
  function pause() { playing = false; button.textContent = "▶ Play"; remember(); }
  function play() {
    if (now >= end) show(0);
    playing = true;
    ticked = performance.now();
    button.textContent = "❚❚ Pause";
    requestAnimationFrame(tick);
  }
  function tick(at) {
    if (!playing) return;
    if (still.matches) {
      if (at - ticked >= STEP_MS) { ticked = at; show(moments.find(moment => moment > now) ?? end); }
    } else {
      show(now + Math.max(0, at - ticked) / 1000 * Number(speed.value));
      ticked = at;
    }
    if (now >= end) pause(); else requestAnimationFrame(tick);
  }
  function begin(recording) {
    const both = {without: recording.without, with: recording.with};
    halves = Object.entries(both).map(([name, recorded]) => new Half(name, recorded));
    end = Math.max(...halves.map(half => half.recorded.seconds));
    moments = [...new Set(halves.flatMap(half => half.recorded.events.map(([seconds]) => seconds)))].sort((a, b) => a - b);
    time.max = String(Math.ceil(end));
    for (const [row, [name, recorded]] of Object.entries(both).entries()) {
      for (const [seconds] of recorded.events) part("controls").querySelector(".marks").append(draw("rect", {class: name, x: seconds / end * 996, y: row * 7, width: 4, height: 5}));
    }
    const rows = recording.figures.map(row => make("tr", {}, make("th", {scope: "row"}, row.figure), make("td", {"data-label": "Without"}, row.without || "–"), make("td", {"data-label": "With"}, row.protected || "–")));
    part("figures").querySelector("tbody").replaceChildren(...rows);
    const wanted = end / 40, choices = [...speed.options].map(option => Number(option.value));
    speed.value = String(choices.reduce((best, one) => Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best));
    for (const id of ["controls", "halves", "legend", "figures"]) part(id).hidden = false;
    part("player-status").hidden = true;
    const asked = new URLSearchParams(location.search).get("t");
    show(Number(asked) || 0);
    player.dataset.ready = "yes";
    if (asked === null && !still.matches) play();
  }

  button.addEventListener("click", () => playing ? pause() : play());
  time.addEventListener("input", () => { pause(); show(Number(time.value)); remember(); });
  part("before").addEventListener("click", () => { pause(); show([...moments].reverse().find(moment => moment < now) ?? 0); remember(); });
  part("after").addEventListener("click", () => { pause(); show(moments.find(moment => moment > now) ?? end); remember(); });
  const asked = Date.now(), status = part("player-status");
  const waiting = setInterval(() => { part("waited").textContent = `${Math.round((Date.now() - asked) / 1000)} s`; }, 1000);
  fetch(player.dataset.recording, {headers: {Accept: "application/json"}}).then(async answer => {
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.message);
    begin(found);
  }).catch(error => {
    status.textContent = `The replay cannot be shown: ${error.message}. Load the page to try again.`;
  }).finally(() => { clearInterval(waiting); part("waiting").hidden = true; });
})();
