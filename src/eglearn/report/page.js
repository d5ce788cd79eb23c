"use strict";
// Read-outs: the pointer, a finger or the arrow keys choose the nearest stop of a chart.
function enliven(area) {
  const { x, names, colours, rows } = JSON.parse(area.querySelector("script").textContent);
  let parts = [], current = -1;
  const add = (name, style) => {
    const element = document.createElement("div");
    element.className = name;
    Object.assign(element.style, style);
    area.append(element);
    parts.push(element);
    return element;
  };
  const hide = () => { for (const part of parts) part.remove(); parts = []; };
  const show = (index) => {
    hide();
    current = Math.max(0, Math.min(rows.length - 1, index));
    const [place, label, ...cells] = rows[current];
    const left = 100 * place + "%";
    add("cross", { left });
    const tip = add("tip", place < 0.5 ? { left: `calc(${left} + 12px)` } : { right: `calc(${100 - 100 * place}% + 12px)` });
    tip.append(`${x}: ${label}`);
    cells.forEach((cell, k) => {
      if (!cell) return;
      add("mark", { left, top: 100 * cell[1] + "%", background: colours[k] });
      const line = document.createElement("div"), swatch = document.createElement("i");
      swatch.style.background = colours[k];
      line.append(swatch, `${names[k]}: ${cell[0]}`);
      tip.append(line);
    });
  };
  area.addEventListener("pointermove", (event) => {
    const box = area.getBoundingClientRect(), place = (event.clientX - box.left) / box.width;
    let low = 0, high = rows.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((rows[middle][0] + rows[middle + 1][0]) / 2 < place) low = middle + 1; else high = middle;
    }
    show(low);
  });
  area.addEventListener("pointerleave", hide);
  area.addEventListener("blur", hide);
  area.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { show(current + step); event.preventDefault(); }
  });
}
for (const area of document.querySelectorAll(".plot")) enliven(area);
// Paper has no collapsed parts.
addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details")) part.open = true; });
