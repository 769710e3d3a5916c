// The first part of the script of the console: local times, and the stream of a page. `console.js`
// is the second part of the same module. Each page can be read and each operation can be performed
// without it.

const $ = (id) => document.getElementById(id);
const set = document.body.dataset;
const units = set.units.split(",");
const SECOND = 1000;
const SILENCE = 2 * SECOND;

// ---- Times ----------------------------------------------------------------------------------

function duration(ms) {
  const s = Math.floor(ms / SECOND);
  const two = (large, unit, small, smallUnit) =>
    small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`;
  if (s < 1) return `${Math.max(0, Math.floor(ms))} ${units[0]}`;
  if (s < 60) return `${s} ${units[1]}`;
  if (s < 3600) return two(Math.floor(s / 60), units[2], s % 60, units[1]);
  if (s < 86400) return two(Math.floor(s / 3600), units[3], Math.floor(s / 60) % 60, units[2]);
  return two(Math.floor(s / 86400), units[4], Math.floor(s / 3600) % 24, units[3]);
}

// Distances from now change too fast for milliseconds.
const relative = (ms) =>
  (ms > 0 ? set.in : set.ago).replace("{}", duration(Math.max(SECOND, Math.abs(ms))));

const formats = new Map();

function parts(date, zone) {
  if (!formats.has(zone)) {
    const options = {
      year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit",
      second: "2-digit", hourCycle: "h23", timeZone: zone,
    };
    let format = null;
    try {
      format = new Intl.DateTimeFormat("en-CA", options);
    } catch {
      // This browser does not know the zone.
    }
    formats.set(zone, format);
  }
  const found = formats.get(zone)?.formatToParts(date);
  return found && Object.fromEntries(found.map((part) => [part.type, part.value]));
}

function clock(element, now) {
  const date = new Date(element.dateTime);
  const zone = set.tz === "browser" ? undefined : (set.tz === "job" && element.dataset.zone) || "UTC";
  const at = parts(date, zone);
  // The server knows more zones.
  if (!at) return element.textContent;
  const today = parts(now, zone);
  const millis = "ms" in element.dataset ? `.${String(date.getMilliseconds()).padStart(3, "0")}` : "";
  const time = `${at.hour}:${at.minute}:${at.second}${millis}`;
  const day = `${at.month}-${at.day}`;
  if (at.year !== today.year) return `${at.year}-${day} ${time}`;
  return day === `${today.month}-${today.day}` ? time : `${day} ${time}`;
}

// Texts are only written if they differ, so that a selection by the reader stays.
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function localise(root) {
  const now = new Date();
  for (const element of root.querySelectorAll("time[datetime]")) {
    if (element.dataset.zone !== "UTC") write(element, clock(element, now));
    if (element.title !== element.dateTime) element.title = element.dateTime;
  }
  tick(root);
}

// On a narrow screen the rows of a table are cards, and each cell names its column.
function nameColumns(root) {
  const around = root.closest?.("table");
  for (const table of around ? [around] : root.querySelectorAll("table")) {
    const names = [...table.querySelectorAll("thead th")].map((heading) => heading.textContent.trim());
    for (const row of root.matches?.("tr") ? [root] : table.querySelectorAll("tbody tr")) {
      [...row.children].forEach((cell, index) => {
        const name = names[index] ?? "";
        if (cell.dataset.column !== name) cell.dataset.column = name;
      });
    }
    if (names.length > 0 && !("cards" in table.dataset)) table.dataset.cards = "";
  }
}

function tick(root) {
  const now = Date.now();
  for (const element of root.querySelectorAll("[data-rel]")) {
    write(element, relative(Date.parse(element.dataset.rel) - now));
  }
  // A fire that has begun is no next one. The page gets the later ones from its console.
  for (const element of root.querySelectorAll("[data-until]")) {
    element.hidden = Date.parse(element.dataset.until) <= now;
  }
  // Without its console, the page does not know whether a run goes on.
  if (document.querySelector("#cut:not([hidden])")) return;
  for (const element of root.querySelectorAll("[data-since]:not(.gone *)")) {
    write(element, duration(now - Date.parse(element.dataset.since)));
  }
}

// ---- The stream -----------------------------------------------------------------------------

let source = null;
// Failed connections since the last event.
let failed = 0;
let contact = performance.now();
let contactAt = new Date();
// Lists whose latest rows are not shown yet, by id: the element, its latest content, and the number
// of new rows.
const pending = new Map();

function morph(target, element) {
  // A large grid has a thousand cells, which have nothing inside. Idiomorph examines the page for each.
  if (!target.firstChild && !element.firstChild && target.tagName === element.tagName) {
    return copyAttributes(target, element);
  }
  Idiomorph.morph(target, element, { ignoreActiveValue: true, callbacks: {
    // What the reader has opened stays open, and the chosen row stays chosen.
    beforeAttributeUpdated: (name) => !["open", "data-here", "data-cards", "data-column"].includes(name),
    // A list within a greater part keeps the places of its rows, too.
    beforeNodeMorphed: (old, fresh) => {
      // What the reader has typed into such a form stays.
      if ("keep" in (old.dataset ?? {}) && "keep" in (fresh.dataset ?? {})) return false;
      if (isList(old) && isList(fresh) && old.id === fresh.id && old !== target) { merge(old, fresh); return false; }
      return true;
    },
  } });
}

function copyAttributes(target, element) {
  for (const { name, value } of element.attributes) {
    if (target.getAttribute(name) !== value) target.setAttribute(name, value);
  }
  for (const { name } of [...target.attributes]) {
    if (!element.hasAttribute(name)) target.removeAttribute(name);
  }
}

const isList = (element) => "rows" in (element.dataset ?? {});

// Rows keep their places: known ones change, lost ones fade, and new ones are announced.
function merge(target, fresh) {
  const wanted = new Map([...fresh.children].map((row) => [row.id, row]));
  for (const row of target.children) {
    const other = wanted.get(row.id);
    row.classList.toggle("gone", !other);
    if (other) rows.push(other.cloneNode(true));
    wanted.delete(row.id);
  }
  if (wanted.size > 0) pending.set(target.id, { target, fresh, added: wanted.size });
  else pending.delete(target.id);
}

function announce() {
  let added = 0;
  for (const list of pending.values()) added += list.added;
  $("more").hidden = added === 0;
  if (added > 0) write($("more-show"), set.more.replace("{}", added));
}

// A row can change before the reader has asked for it.
function renew(row) {
  for (const { fresh } of pending.values()) {
    for (const waiting of fresh.children) {
      if (waiting.id === row.id) waiting.replaceWith(row.cloneNode(true));
    }
  }
}

// Changes of the page wait here, the latest of each part by its id, so that a slow browser holds no
// more than one page. The rows of a list come before them.
const waiting = new Map();
const rows = [];
let isApplying = false;

function receive(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  for (const part of template.content.children) {
    for (const element of part.content.children) {
      waiting.delete(element.id);
      waiting.set(element.id, element);
    }
  }
  if (!isApplying) applyAll();
}

function apply(element) {
  if (element.id === "content") pending.clear();
  renew(element);
  const target = $(element.id);
  if (!target) return;
  if (isList(target) && isList(element)) merge(target, element);
  else morph(target, element);
  localise(target);
  nameColumns(target);
}

function next() {
  if (rows.length > 0) return rows.shift();
  const [first] = waiting.values();
  waiting.delete(first?.id);
  return first;
}

// The time between two pauses, in milliseconds: the reader's input and frames do not wait longer.
const SLICE = 10;
const pause = () => globalThis.scheduler?.yield?.() ?? new Promise((done) => { setTimeout(done); });

async function applyAll() {
  isApplying = true;
  try {
    let begun = performance.now();
    for (let element = next(); element; element = next()) {
      apply(element);
      if (performance.now() - begun < SLICE) continue;
      await pause();
      begun = performance.now();
    }
  } finally {
    isApplying = false;
  }
  announce();
  age();
}

function heard() {
  failed = 0;
  set.heard = "";
  contact = performance.now();
  contactAt = new Date();
  $("cut").hidden = true;
}

function connect() {
  if (!set.stream || source || document.hidden) return;
  source = new EventSource(set.stream);
  source.addEventListener("message", (event) => { heard(); receive(event.data); });
  source.addEventListener("beat", heard);
  // A page that is gone is loaded again, which shows why. Without its registry, the console has no
  // stream for any page.
  source.addEventListener("end", (event) => {
    if (event.data === "closed") disconnect();
    else location.reload();
  });
  // The browser would connect again by itself, always after the same time.
  source.addEventListener("error", () => { disconnect(); retry(); });
}

let retrying;
const FIRST_RETRY = SECOND / 4;
const LAST_RETRY = 8 * SECOND;

// The delays double, up to a bound. Pages choose different ones, so that a console that is back is
// not asked by all of them at once.
// The first attempt asks for the stream alone: a stream that was served ends after some minutes.
function retry() {
  const longest = Math.min(LAST_RETRY, FIRST_RETRY * 2 ** failed);
  const again = failed === 0 ? connect : reconnect;
  failed += 1;
  clearTimeout(retrying);
  retrying = setTimeout(again, longest * (1 + Math.random()) / 2);
}

// A page that leads elsewhere now, such as to the sign-in, is loaded again.
async function reconnect() {
  if (source || document.hidden) return;
  const answer = await fetch(location.href, { method: "HEAD" }).catch(() => null);
  if (!answer) retry();
  else if (answer.redirected || [401, 403, 404].includes(answer.status)) location.reload();
  else connect();
}

function disconnect() {
  source?.close();
  source = null;
}

function age() {
  if (!set.stream || document.hidden) return;
  const silence = performance.now() - contact;
  const shown = document.querySelector("#fresh [data-live]");
  if (shown) {
    const word = silence <= SILENCE ? shown.dataset.live : shown.dataset.cut;
    // With tenths of a second, each page would be drawn anew five times a second.
    write(shown, `${word} · ${Math.floor(silence / SECOND)} ${units[1]}`);
  }
  $("fresh").classList.toggle("ok", silence <= SILENCE && Boolean(shown));
  if (silence <= SILENCE) return;
  const cut = $("cut");
  if (cut.hidden) {
    $("cut-at").dateTime = contactAt.toISOString();
    localise(cut);
    cut.hidden = false;
  }
  write($("cut-age"), relative(-silence));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) disconnect();
  else { contact = performance.now(); connect(); }
});
// A page from the history of the browser has no stream any more.
addEventListener("pageshow", (event) => { if (event.persisted) { disconnect(); connect(); } });
addEventListener("pagehide", disconnect);

$("more-show").addEventListener("click", () => {
  for (const { target, fresh } of pending.values()) {
    morph(target, fresh);
    localise(target);
    nameColumns(target);
  }
  pending.clear();
  announce();
});

// The number of changes is shown once, and not again after the page is loaded anew.
const here = new URL(location.href);
if (here.searchParams.has("changed")) {
  here.searchParams.delete("changed");
  here.searchParams.delete("did");
  $("result")?.focus();
  history.replaceState(null, "", here);
}
