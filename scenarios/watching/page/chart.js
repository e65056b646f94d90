// Charts in SVG: dots and lines by series, axes with round ticks, and a word about the nearest point.

import { el, shown } from "./dom.js";

const NS = "http://www.w3.org/2000/svg";
const EDGE = { left: 52, right: 10, top: 8, bottom: 30 };

function svg(tag, attributes, text = "") {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  return node;
}

/** What stands beside a title: the unit, and what dashed lines are. */
function words(data) {
  const lines = (data.references ?? []).filter((one) => Number.isFinite(one.y)).map((one) => one.label);
  return [data.unit, lines.length ? `dashed: ${[...new Set(lines)].join(", ")}` : ""].filter(Boolean).join("; ");
}

const plain = (text) => text.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

/** Numbers on an axis, without zeros at their ends, and with so many digits that none reads as another. */
function named(values) {
  for (let digits = 3; ; digits += 1) {
    const words = values.map((one) => plain(shown(one, digits)));
    if (digits >= 6 || new Set(words).size === values.length) return words;
  }
}

/** Round ticks that cover [low, high]. */
export function ticks(low, high, wanted = 4, whole = false) {
  const raw = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 5, 10].find((one) => one * power >= raw) * power;
  if (whole) step = Math.max(1, Math.round(step));
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
  return found;
}

function limits(values) {
  let low = Infinity, high = -Infinity;
  for (const one of values) {
    if (one < low) low = one;
    if (one > high) high = one;
  }
  if (low > high) return [0, 1];
  if (low === high) return [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
  return [low, high];
}

/**
 * A chart that draws itself again when its width changes.
 *
 * data: { title, unit, x, xWhole, series: [{ label, colour, dots: [[x, y, words]], lines: [{ points, faint }],
 *         bars: [[x, low, high]] }], lever, references: [{ y, label }], from: 0 to include it, height }
 */
export class Chart {
  constructor(host, data = null) {
    this.tip = el("div", { class: "tip", hidden: true });
    this.caption = el("figcaption");
    this.picture = svg("svg", {}); // an image once it is drawn, and has a name
    this.figure = el("figure", {}, this.caption, this.picture, this.tip);
    host.append(this.figure);
    this.picture.addEventListener("pointermove", (event) => this.point(event));
    this.picture.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.width = 0;
    new ResizeObserver(() => {
      if (this.data && Math.abs(this.figure.clientWidth - this.width) > 1) this.draw(this.data);
    }).observe(this.figure);
    if (data) this.draw(data);
  }

  draw(data) {
    this.data = data;
    this.width = this.figure.clientWidth;
    if (!this.width) return; // hidden: it is drawn once it has a width
    const { width } = this, height = data.height ?? 170;
    this.caption.replaceChildren(data.title, el("small", {}, `  ${words(data)}`));
    this.picture.replaceChildren();
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.picture.setAttribute("height", height);
    const dots = data.series.flatMap((one) => one.dots ?? []);
    this.picture.setAttribute("role", "img");
    this.picture.setAttribute("aria-label", data.said ?? `${data.title}: ${data.series.map((one) => one.label).join(", ")}`);
    const paths = data.series.flatMap((one) => (one.lines ?? []).map((line) => line.points));
    const bars = data.series.flatMap((one) => one.bars ?? []);
    const xs = [...dots.map((one) => one[0]), ...paths.flatMap((one) => one.map((p) => p[0])), ...bars.map((one) => one[0])];
    const ys = [
      ...dots.map((one) => one[1]), ...paths.flatMap((one) => one.map((p) => p[1])),
      ...bars.flatMap((one) => [one[1], one[2]]), ...(data.references ?? []).map((one) => one.y),
    ].filter(Number.isFinite);
    const x = this.scale(data.xRange ?? limits(xs), EDGE.left, width - EDGE.right, 0.02);
    const lever = data.lever ?? {};
    let range = limits(data.from === 0 ? [...ys, 0] : ys), marks;
    if (lever.kind === "category") {
      range = [0, lever.names.length - 1 || 1];
      marks = lever.names.map((name, i) => [i, name.length > 8 ? `${name.slice(0, 7)}…` : name]);
    } else if (Number.isFinite(lever.low) && Number.isFinite(lever.high) && lever.high > lever.low) range = [lever.low, lever.high];
    const up = ticks(...range, 4, lever.kind === "whole"), upWords = named(up);
    marks ??= up.map((one, i) => [one, upWords[i]]);
    const y = this.scale(range, height - EDGE.bottom, EDGE.top, 0.06);
    for (const [value, words] of marks) {
      this.picture.append(svg("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }));
      this.picture.append(svg("text", { x: EDGE.left - 7, y: y(value) + 4, "text-anchor": "end" }, words));
    }
    const across = ticks(...x.range, Math.max(2, Math.min(6, width / 90)), data.xWhole);
    const acrossWords = named(across);
    for (const [i, value] of across.entries()) {
      this.picture.append(svg("text", { x: x(value), y: height - EDGE.bottom + 15, "text-anchor": "middle" }, acrossWords[i]));
    }
    this.picture.append(svg("text", { x: width - EDGE.right, y: height - 2, "text-anchor": "end" }, data.x));
    for (const one of data.references ?? []) {
      if (!Number.isFinite(one.y)) continue;
      this.picture.append(svg("line", { class: "dash", x1: EDGE.left, x2: width - EDGE.right, y1: y(one.y), y2: y(one.y) }));
    }
    for (const one of data.series) {
      const add = (d, kind) => {
        const path = svg("path", { d, class: kind });
        path.style.stroke = one.colour;
        this.picture.append(path);
      };
      for (const line of one.lines ?? []) {
        const d = line.points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`).join("");
        if (d) add(d, line.faint ? "path faint" : "path");
      }
      const bars = (one.bars ?? []).map((b) => `M${x(b[0]).toFixed(1)} ${y(b[1]).toFixed(1)}V${y(b[2]).toFixed(1)}`).join("");
      if (bars) add(bars, "path faint");
      const marks = (one.dots ?? []).map((p) => `M${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}h.01`).join("");
      if (marks) add(marks, "dots");
    }
    for (const one of data.marked ?? []) {
      this.picture.append(svg("circle", { class: "mark", cx: x(one[0]), cy: y(one[1]), r: 7 }));
    }
    this.near = data.series.flatMap((one) =>
      (one.dots?.length ? one.dots : (one.lines ?? []).filter((line) => !line.faint).flatMap((line) => line.points))
        .map((p) => ({ px: x(p[0]), py: y(p[1]), words: p[2] ?? `${one.label}\n${data.x} ${shown(p[0], 3)}: ${shown(p[1])}` })));
  }

  scale([low, high], from, to, slack) {
    const room = (high - low) * slack || 1;
    const f = (value) => from + ((value - low + room) / (high - low + 2 * room)) * (to - from);
    f.range = [low, high];
    return f;
  }

  point(event) {
    const box = this.picture.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    let best = null, least = 30 ** 2;
    for (const one of this.near ?? []) {
      const far = (one.px - px) ** 2 + (one.py - py) ** 2;
      if (far < least) [best, least] = [one, far];
    }
    this.tip.hidden = !best;
    if (!best) return;
    this.tip.textContent = best.words;
    const left = best.px > this.width / 2;
    this.tip.style.left = left ? "auto" : `${best.px + 12}px`;
    this.tip.style.right = left ? `${this.width - best.px + 12}px` : "auto";
    this.tip.style.top = `${best.py + this.picture.offsetTop ?? 0}px`;
  }
}

/** As many charts as there are data, kept from one drawing to the next. */
export class Charts {
  constructor(host) {
    this.host = host;
    this.all = [];
  }

  draw(many) {
    if (this.all.length !== many.length) {
      this.host.replaceChildren();
      this.all = many.map(() => new Chart(this.host));
    }
    many.forEach((data, i) => this.all[i].draw(data));
  }
}
