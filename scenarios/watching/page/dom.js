// What all pages share: elements, whose texts are only ever texts; calls of the server; how numbers look.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((one) => one != null)); // strings become text nodes
  return node;
}

export class Refused extends Error {}

export async function ask(name, body = {}, signal = undefined) {
  let answer;
  try {
    answer = await fetch(name, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("policyloop watch has ended, or cannot be reached");
  }
  const found = await answer.json();
  if (!answer.ok) throw new Refused(found.error ? found.error.message : `status ${answer.status}`);
  return found;
}

/** A number with some significant digits, without an exponent where it reads well; "-" where there is none. */
export function shown(value, digits = 4) {
  if (typeof value === "string") return value;
  if (value == null || !Number.isFinite(value)) return "-";
  if (Math.abs(value) < 1e-9) return "0"; // a search may end 1e-16 beside a bound
  const size = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  if (size < -4 || size >= 7) return value.toExponential(digits - 1);
  return value.toFixed(Math.max(0, digits - 1 - size));
}

export const between = (low, high) => `[${shown(low, 3)}, ${shown(high, 3)}]`;

/** An entry of a policy as people read it: categories are stored by number. */
export function entry(lever, value) {
  if (lever.kind === "category") return lever.names[Math.round(value)] ?? shown(value);
  return lever.kind === "whole" ? String(value) : shown(value, 3);
}

export const colour = (i) => `var(--c${i % 8})`;

export function table(heads, rows) {
  const cell = (value) => (value instanceof Node ? value : el("td", {}, String(value)));
  return el(
    "table",
    {},
    el("thead", {}, el("tr", {}, ...heads.map((head) => (head ? el("th", { scope: "col" }, head) : el("td"))))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell)))),
  );
}

/** Tabs by the pattern of the ARIA guide: arrows move between them. */
export function tabs(list, opened = () => {}) {
  const all = [...list.querySelectorAll('[role="tab"]')];
  const open = (tab) => {
    for (const one of all) {
      const on = one === tab;
      one.setAttribute("aria-selected", on);
      one.tabIndex = on ? 0 : -1;
      document.getElementById(one.getAttribute("aria-controls")).hidden = !on;
    }
    opened(tab.id);
  };
  all.forEach((tab, i) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = all[(i + step + all.length) % all.length];
      next.focus();
      open(next);
    });
  });
}
