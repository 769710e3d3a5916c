// The script of the console: the stream of a page, local times, dialogs, and the keyboard. Each page
// can be read and each operation can be performed without it.

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
    element.title = element.dateTime;
  }
  tick();
}

// On a narrow screen the rows of a table are cards, and each cell names its column.
function nameColumns() {
  for (const table of document.querySelectorAll("table")) {
    const names = [...table.querySelectorAll("thead th")].map((heading) => heading.textContent.trim());
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.children].forEach((cell, index) => {
        const name = names[index] ?? "";
        if (cell.dataset.column !== name) cell.dataset.column = name;
      });
    }
    if (names.length > 0 && !("cards" in table.dataset)) table.dataset.cards = "";
  }
}

function tick() {
  const now = Date.now();
  for (const element of document.querySelectorAll("[data-rel]")) {
    write(element, relative(Date.parse(element.dataset.rel) - now));
  }
  for (const element of document.querySelectorAll("[data-since]:not(.gone *)")) {
    write(element, duration(now - Date.parse(element.dataset.since)));
  }
}

// ---- The stream -----------------------------------------------------------------------------

let source = null;
let contact = performance.now();
let contactAt = new Date();
// Lists whose latest rows are not shown yet, by id: the element, its latest content, and the number
// of new rows.
const pending = new Map();

function morph(target, element) {
  Idiomorph.morph(target, element, { ignoreActiveValue: true, callbacks: {
    // What the reader has opened stays open, and the chosen row stays chosen.
    beforeAttributeUpdated: (name) => !["open", "data-here", "data-cards", "data-column"].includes(name),
    // A list within a greater part keeps the places of its rows, too.
    beforeNodeMorphed: (old, fresh) => {
      // What the reader has typed into such a form stays.
      if ("keep" in (old.dataset ?? {}) && "keep" in (fresh.dataset ?? {})) return false;
      const isList = "rows" in (old.dataset ?? {}) && "rows" in (fresh.dataset ?? {});
      if (isList && old.id === fresh.id && old !== target) { merge(old, fresh); return false; }
      return true;
    },
  } });
}

// Rows keep their places: known ones change, lost ones fade, and new ones are announced.
function merge(target, fresh) {
  const wanted = new Map([...fresh.children].map((row) => [row.id, row]));
  for (const row of [...target.children]) {
    const other = wanted.get(row.id);
    row.classList.toggle("gone", !other);
    if (other) morph(row, other.cloneNode(true));
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

function apply(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const parts = [...template.content.querySelectorAll("template")];
  for (const element of parts.flatMap((part) => [...part.content.children])) {
    if (element.id === "content") pending.clear();
    renew(element);
    const target = $(element.id);
    if (!target) continue;
    const isList = "rows" in target.dataset && "rows" in element.dataset;
    if (isList) merge(target, element);
    else morph(target, element);
  }
  announce();
  localise($("content"));
  nameColumns();
  age();
}

function heard() {
  contact = performance.now();
  contactAt = new Date();
  $("cut").hidden = true;
}

function connect() {
  if (!set.stream || source || document.hidden) return;
  source = new EventSource(set.stream);
  source.addEventListener("message", (event) => { heard(); apply(event.data); });
  source.addEventListener("beat", heard);
  // A page that is gone is loaded again, which shows why. Without its registry, the console has no
  // stream for any page.
  source.addEventListener("end", (event) => {
    if (event.data === "closed") disconnect();
    else location.reload();
  });
  source.addEventListener("error", () => {
    // The browser connects again by itself, except after an answer that is no stream.
    if (source?.readyState === EventSource.CLOSED) { disconnect(); setTimeout(reconnect, 3 * SECOND); }
  });
}

// A page that leads elsewhere now, such as to the sign-in, is loaded again.
async function reconnect() {
  const answer = await fetch(location.href, { method: "HEAD" }).catch(() => null);
  if (answer && (answer.redirected || [401, 403, 404].includes(answer.status))) location.reload();
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
    write(shown, `${word} · ${(silence / SECOND).toFixed(1)} ${units[1]}`);
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
  }
  nameColumns();
  pending.clear();
  announce();
});

// The number of changes is shown once, and not again after the page is loaded anew.
const here = new URL(location.href);
if (here.searchParams.has("changed")) {
  here.searchParams.delete("changed");
  history.replaceState(null, "", here);
}

// ---- Dialogs --------------------------------------------------------------------------------

// An operation opens as a dialog. If that fails, the link leads to its page.
async function openAct(link) {
  try {
    const answer = await fetch(link.href, { headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const form = page.getElementById("act-form");
    if (!answer.ok || !form) throw new Error(answer.statusText);
    const act = form.querySelector("form");
    // Addresses of the form are relative to its own page.
    act.action = new URL(act.getAttribute("action"), link.href);
    for (const inner of form.querySelectorAll("a[href]")) inner.href = new URL(inner.getAttribute("href"), link.href);
    const dialog = $("act");
    dialog.replaceChildren(form);
    dialog.showModal();
    (form.querySelector("[required]") ?? form.querySelector("button")).focus();
  } catch {
    location.assign(link.href);
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (link && "close" in link.dataset && link.closest("dialog")) {
    event.preventDefault();
    link.closest("dialog").close();
  } else if (link && "dialog" in link.dataset && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    openAct(link);
  }
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// Room for the other fields of a form with a file, in bytes.
const RESERVE = 8192;

// A file is read into a field of its form, so that the form is the same without this script.
for (const file of document.querySelectorAll("input[type=file][data-into]")) {
  file.closest(".field").hidden = false;
  file.addEventListener("change", async () => {
    const chosen = file.files[0];
    const max = Number(file.dataset.max);
    // A larger file is not read: its form is not smaller.
    const text = chosen && chosen.size <= max ? await chosen.text() : "";
    // In a form, most signs of JSON take three bytes, and so does the end of a line twice.
    const sent = String(new URLSearchParams({ "": text.replace(/\r?\n/g, "\r\n") })).length;
    const isTooLarge = chosen?.size > max || sent + RESERVE > max;
    file.setCustomValidity(isTooLarge ? file.dataset.fault : "");
    if (isTooLarge) file.reportValidity();
    else if (chosen) $(file.dataset.into).value = text;
  });
}

// A page without a namespace has no palette.
const palette = $("palette");
const query = $("palette-query");
const found = $("palette-found");
let asked = 0;

async function search() {
  const id = ++asked;
  const address = `${set.find}?q=${encodeURIComponent(query.value)}&root=${encodeURIComponent(set.root)}`;
  const answer = await fetch(address).catch(() => null);
  // A slow answer to an earlier question must not replace a later one.
  if (!answer?.ok || id !== asked) return;
  found.innerHTML = await answer.text();
  choose(0);
}

function choose(step) {
  const options = [...found.querySelectorAll("[role=option]")];
  if (options.length === 0) return query.removeAttribute("aria-activedescendant");
  const now = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
  const next = (Math.max(0, now) + step + options.length) % options.length;
  options.forEach((option, index) => option.setAttribute("aria-selected", String(index === next)));
  query.setAttribute("aria-activedescendant", options[next].id);
  options[next].scrollIntoView({ block: "nearest" });
}

function openPalette() {
  if (!palette || document.querySelector("dialog[open]")) return;
  query.value = "";
  palette.showModal();
  search();
}

query?.addEventListener("input", search);
palette?.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    choose(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    event.preventDefault();
    found.querySelector("[aria-selected=true]")?.click();
  }
});
for (const [button, open] of [["palette-open", openPalette], ["keys-open", () => $("keys").showModal()]]) {
  const element = $(button);
  if (!element) continue;
  element.hidden = false;
  element.addEventListener("click", open);
}

// ---- Keyboard -------------------------------------------------------------------------------

let isGoing = false;

function move(step) {
  const rows = [...document.querySelectorAll("main tbody tr")];
  if (rows.length === 0) return;
  const now = rows.findIndex((row) => "here" in row.dataset);
  const next = Math.min(rows.length - 1, Math.max(0, now + step));
  if (rows[now]) delete rows[now].dataset.here;
  rows[next].dataset.here = "";
  rows[next].querySelector("a")?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    return openPalette();
  }
  const isTyping = event.target.closest("input, select, textarea, dialog");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
  }
  const section = isGoing && document.querySelector(`#nav [data-key="${CSS.escape(event.key)}"]`);
  if (section) {
    isGoing = false;
    return section.click();
  }
  isGoing = event.key === "g";
  if (event.key === "/") { event.preventDefault(); $("search")?.focus(); }
  else if (event.key === "?") $("keys").showModal();
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
});

localise(document);
nameColumns();
connect();
setInterval(tick, SECOND);
setInterval(age, 200);
