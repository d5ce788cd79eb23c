"use strict";
// The page asks every other second for its content and changes the cards that have changed.
const token = new URLSearchParams(location.search).get("token");
const headers = { "X-Eglearn-Token": token };
const main = document.querySelector("main"), shown = new Map();
let mark = null, busy = false;

function parts(root) { return [...root.children].filter((part) => part.id); }
for (const part of parts(main)) shown.set(part.id, part.outerHTML);

function change(html) {
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  const wanted = new Set();
  let before = null;
  for (const part of parts(fresh.content)) {
    wanted.add(part.id);
    const text = part.outerHTML, old = document.getElementById(part.id);
    let now = old;
    // A chart that is being read and a field that is being filled in stay until they are left.
    const held = old && (old.querySelector(".tip") || (old.contains(document.activeElement) && document.activeElement.matches("input")));
    if (!old || (shown.get(part.id) !== text && !held)) {
      now = part;
      if (old) {
        const open = [...old.querySelectorAll("details")].map((d) => d.open), focus = old.contains(document.activeElement) && document.activeElement.id;
        part.querySelectorAll("details").forEach((d, k) => { d.open = open[k]; });
        old.replaceWith(part);
        if (focus) document.getElementById(focus)?.focus();
      }
      shown.set(part.id, text);
      for (const area of part.querySelectorAll(".plot")) enliven(area);
    }
    if (before ? before.nextElementSibling !== now : main.firstElementChild !== now) before ? before.after(now) : main.prepend(now);
    before = now;
  }
  for (const part of parts(main)) if (!wanted.has(part.id)) { part.remove(); shown.delete(part.id); }
}

function say(text) {
  const place = document.getElementById("said");
  if (place) { place.textContent = text; shown.delete("controls"); }
}

async function refresh() {
  if (busy || document.hidden) return;
  busy = true;
  try {
    const answer = await fetch("/content", { headers: mark ? { ...headers, "X-Seen": mark } : headers, cache: "no-store" });
    if (answer.ok && answer.status !== 204) { mark = answer.headers.get("X-Mark"); change(await answer.text()); }
  } catch { say("This page gets no more news: start eglearn ui again."); }
  busy = false;
}

async function wish(told) {
  try {
    const answer = await fetch("/wish", { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(told) });
    if (!answer.ok) { say(await answer.text()); return; }
  } catch { say("This page gets no more news: start eglearn ui again."); return; }
  document.activeElement?.blur();
  await refresh();
}

// Listeners stay on <main>, whose cards come and go.
main.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-wish]");
  if (!button) return;
  if (button.dataset.sure && !button.classList.contains("sure")) {
    button.textContent = button.dataset.sure;
    button.classList.add("sure");
    setTimeout(() => shown.delete("controls"), 4000);
    return;
  }
  wish(JSON.parse(button.dataset.wish));
});
main.addEventListener("submit", (event) => {
  event.preventDefault();
  wish({ budget: Number(document.getElementById("budget").value) });
});
setInterval(refresh, 2000);
document.addEventListener("visibilitychange", refresh);
