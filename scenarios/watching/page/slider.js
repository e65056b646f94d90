// A slider with its name and its value in words, also for who hears the page.

import { el } from "./dom.js";

export function slider(id, label, low, high, step, value, words, change, off = value) {
  const said = el("output", { for: id }, words(value));
  const box = el("div", { class: "slider" });
  // The last of many small steps may miss the end by a rounding error: positions are counted instead.
  const count = Math.round((high - low) / step), whole = Number.isInteger(step) && Number.isInteger(low);
  const between = (i) => (whole ? low + i * step : Number((low + i * step).toPrecision(4))); // nobody slides finer
  const at = (i) => (i >= count ? high : i <= 0 ? low : between(i));
  const position = Math.round((value - low) / step);
  const input = el("input", { type: "range", id, min: 0, max: count, step: 1, value: position, "aria-valuetext": words(value) });
  input.addEventListener("input", () => {
    const i = Number(input.value), x = i === position ? value : at(i);
    said.value = words(x);
    input.setAttribute("aria-valuetext", words(x));
    box.classList.toggle("off", x === off);
    change(x);
  });
  box.classList.toggle("off", value === off);
  box.append(el("label", { for: id }, label), said, input);
  return box;
}
