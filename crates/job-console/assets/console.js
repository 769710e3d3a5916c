// The second part of the script of the console, after `live.js`: dialogs, the keyboard, and the start.

// ---- Dialogs --------------------------------------------------------------------------------

// An operation opens as a dialog. If that fails, the link leads to its page.
async function openAct(link) {
  try {
    const answer = await fetch(link.href, { headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const form = page.getElementById("act-form");
    if (!answer.ok || !form) throw new Error(answer.statusText);
    const act = form.querySelector("form");
    // Addresses of the form are relative to its own page. An operation without effect has no form.
    if (act) act.action = new URL(act.getAttribute("action"), link.href);
    for (const inner of form.querySelectorAll("a[href]")) inner.href = new URL(inner.getAttribute("href"), link.href);
    const dialog = $("act");
    // The browser would scroll to this field before the title and the effect are read.
    form.querySelector("[autofocus]")?.removeAttribute("autofocus");
    dialog.replaceChildren(form);
    dialog.showModal();
    const isWhole = dialog.scrollHeight <= dialog.clientHeight;
    const first = form.querySelector("[required]") ?? form.querySelector("button, a.button");
    (isWhole ? first : form.querySelector("h1")).focus({ preventScroll: true });
    dialog.scrollTop = 0;
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

// Browsers give pages the clipboard with HTTPS and on this machine only.
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText($(button.dataset.copy).textContent);
    button.textContent = button.dataset.copied;
  });
}

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
nameColumns(document);
connect();
setInterval(() => tick(document), SECOND);
// A clock shows the date of another day.
setInterval(() => localise(document), 60 * SECOND);
setInterval(age, 200);
