// What if: sliders make a question, and the answer follows; the frontier comes a little later.

import { Chart } from "./chart.js";
import { ask, between, el, shown, table } from "./dom.js";
import { slider } from "./slider.js";

const FACTORS = [0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20];
const STEPS = 200;
const REST = 250; // ms without a change before the frontier is asked for
const NAMES = { "": "as in the study", "weighted-sum": "weighted sum", "worst-group": "the worst group", "worst-rate": "the worst group, per person of it", "group-gap": "the gap between groups" };

export class Panel {
  constructor(host) {
    this.host = host;
    this.opened = this.flying = this.waiting = false;
  }

  /** What the page of rounds knows: newer rounds can be used, and another study voids all. */
  known(generation, rounds) {
    this.stored = rounds;
    if (this.generation != null && this.generation !== generation && this.opened) this.begin(true);
    this.generation = generation;
    this.count();
  }

  open() {
    if (!this.opened) this.begin(false);
    else this.chart?.draw(this.chart.data ?? { title: "", x: "", series: [] });
  }

  async begin(anew, world = null) {
    this.opened = true;
    this.frontier?.abort();
    clearTimeout(this.resting);
    this.host.replaceChildren(el("p", { role: "status" }, "rebuilding what the rounds say of every group .."));
    try {
      this.about = await ask("begin", { anew, world });
    } catch (error) {
      this.opened = false;
      this.host.replaceChildren(el("p", { class: "bad", role: "alert" }, error.message), this.again("try again"));
      return;
    }
    this.build();
    this.change();
  }

  again(words) {
    return el("button", { type: "button", onclick: () => this.begin(true) }, words);
  }

  build() {
    const { about } = this;
    this.values = { weights: {}, limits: {} };
    this.based = el("p", { class: "quiet", id: "based" });
    this.newer = el("button", { type: "button", id: "newer", hidden: true, onclick: () => this.begin(true, about.world) });
    const sliders = el("form", { class: "sliders", "aria-label": "The question", onsubmit: (event) => event.preventDefault() });
    sliders.append(...this.sliders());
    this.words = el("p", { id: "question" });
    this.result = el("div", { id: "answer", "aria-live": "polite" });
    this.trade = el("p", { class: "quiet", id: "trade", role: "status" });
    const place = el("div", { id: "frontier" });
    this.host.replaceChildren(el("div", { class: "panel" },
      sliders,
      el("div", {}, el("div", { class: "line" }, this.based, this.newer), this.words, this.result, el("h2", {}, "The price of fairness"), this.trade, place)));
    this.chart = new Chart(place);
    this.count();
  }

  count() {
    if (!this.about || !this.based) return;
    const { rounds, agents, stored } = this.about, more = this.stored - stored;
    this.based.textContent = `Answers from ${rounds} observations of ${agents.join(", ")}`;
    this.newer.hidden = !(more > 0);
    this.newer.textContent = `use ${more} newer ${more > 1 ? "rounds" : "round"}`;
  }

  sliders() {
    const { about } = this, found = [];
    if (about.apart.length > 1) {
      const options = about.apart.map((one) => el("option", { value: one, selected: one === about.world }, `trial ${one}`));
      found.push(this.select("world", "World", options, (value) => this.begin(false, value)));
    }
    if (about.objectives.length > 1) {
      const options = about.objectives.map((one) => el("option", { value: one }, NAMES[one] ?? one));
      found.push(this.select("objective", "Objective", options, (value) => this.set({ objective: value })));
    }
    if (about.worlds) {
      const { what, names } = about.worlds, word = (i) => (i < 0 ? "all together" : names[i].replace(`${what}=`, ""));
      found.push(slider("member", what === "r0" ? "R0" : what, -1, names.length - 1, 1, -1, word, (i) => this.set({ member: i < 0 ? null : i })));
    }
    if (about.budget) {
      const { low, high, value } = about.budget, step = (high - low) / STEPS;
      found.push(el("h2", {}, "Budget"));
      found.push(slider("budget", "at most", low, high, step, value, (x) => shown(x, 3) + (Math.abs(x - value) < step ? " (the scenario's)" : ""),
        (x) => this.set({ budget: Math.abs(x - value) < step ? null : x })));
    }
    if (about.weights.length) {
      found.push(el("h2", {}, "Weights"));
      about.weights.forEach((group, j) => found.push(slider(`weight-${j}`, group, 0, FACTORS.length - 1, 1, FACTORS.indexOf(1),
        (i) => `× ${FACTORS[i]}`, (i) => this.part("weights", group, FACTORS[i] === 1 ? null : FACTORS[i]))));
    }
    if (about.limits.length) {
      found.push(el("h2", {}, about.at_least ? "Limits: at least" : "Limits: at most"));
      about.limits.forEach(({ group, low, high }, j) => {
        const off = about.at_least ? low : high;
        found.push(slider(`limit-${j}`, group, low, high, (high - low) / STEPS, off, (x) => (x === off ? "no limit" : shown(x, 3)),
          (x) => this.part("limits", group, x === off ? null : x), off));
      });
      const sure = [...new Set([0.5, 0.8, 0.9, 0.95, 0.99, about.probability])].sort();
      const options = sure.map((one) => el("option", { value: one, selected: one === about.probability }, `${+(100 * one).toFixed(2)} %`));
      found.push(this.select("sure", "kept with probability", options, (value) => this.set({ probability: Number(value) })));
    }
    found.push(el("button", { type: "button", id: "reset", onclick: () => { this.build(); this.change(); } }, "back to the study's question"));
    return found;
  }

  select(id, label, options, change) {
    const chosen = el("select", { id, onchange: (event) => change(event.target.value) }, ...options);
    return el("p", { class: "controls" }, el("label", {}, label, chosen));
  }

  set(some) {
    Object.assign(this.values, some);
    this.change();
  }

  part(name, group, value) {
    if (value == null) delete this.values[name][group];
    else this.values[name][group] = value;
    this.change();
  }

  /** Ask anew; while an answer is under way, only the last change is asked for afterwards. */
  change() {
    this.frontier?.abort();
    clearTimeout(this.resting);
    this.trade.textContent = "the frontier is computed once the sliders rest ..";
    document.getElementById("frontier").classList.add("busy");
    for (const one of this.host.querySelectorAll('[id^="weight-"]')) {
      one.disabled = !["", "weighted-sum"].includes(this.values.objective ?? this.about.objectives[0]);
    }
    if (this.flying) this.waiting = true;
    else this.send();
  }

  async send() {
    this.flying = true;
    const asked = { world: this.about.world, question: this.values };
    try {
      this.show(await ask("answer", asked));
    } catch (error) {
      this.result.replaceChildren(el("p", { class: "bad", role: "alert" }, error.message));
    }
    this.flying = false;
    if (this.waiting) {
      this.waiting = false;
      this.send();
    } else this.resting = setTimeout(() => this.price(), REST);
  }

  show(answer) {
    this.words.textContent = `Question: ${answer.question}.`;
    const columns = [["recommended", answer.best], ["best simulated", answer.best_tried], ["today's practice", answer.current]].filter((one) => one[1]);
    const heads = ["", ...columns.map((one) => one[0])];
    const head = (words) => el("th", { scope: "row" }, words);
    const each = (f) => columns.map(([, one]) => f(one));
    const estimate = (one) => el("td", {}, shown(one.mean), el("small", {}, between(one.low, one.high)));
    const units = new Set([answer.unit, ...Object.values(answer.group_units)]), one_unit = units.size === 1;
    const named = (words, unit) => (one_unit || !unit ? words : `${words}, ${unit}`);
    const times = (n) => (n > 1 ? `${n} times` : n ? "once" : "no");
    const policy = [
      ...Object.keys(answer.best.policy).map((label) => [head(label), ...each((one) => (Number.isInteger(one.policy[label]) ? String(one.policy[label]) : shown(one.policy[label], 3)))]),
      [head("simulated"), ...each((one) => times(one.tried))],
    ];
    const groups = [
      [head(el("b", {}, named("objective", answer.unit))), ...each((one) => estimate(one.objective))],
      ...this.chosen(answer).map((group) => [head(named(group, answer.group_units[group])), ...each((one) => estimate(one.groups[group]))]),
      ...answer.best.limits.map((limit, k) => [head(`P(${limit.limit})`), ...each((one) => shown(one.limits[k].probability, 3))]),
    ];
    if (answer.best.limits.length > 1) groups.push([head("P(all limits)"), ...each((one) => shown(one.probability, 3))]);
    const wide = (label, inside) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, inside);
    const notes = answer.remarks.map((words, i) => el("li", { class: i === 0 && !answer.kept ? "bad" : "" }, words));
    this.result.replaceChildren(
      el("div", { class: "answer" },
        el("div", {}, el("h2", {}, "Policy"), wide("Policy", table(heads, policy))),
        el("div", {}, el("h2", {}, "Predicted, with 95 % credible intervals", el("small", {}, one_unit ? `  ${answer.unit}` : "")), wide("Predictions", table(heads, groups)))),
      el("ul", { class: "notes" }, ...notes),
    );
    this.result.dataset.seconds = answer.seconds;
    this.result.dataset.question = answer.question;
  }

  /** The groups to show: of one world, where one is asked about. */
  chosen(answer) {
    const all = Object.keys(answer.group_units), { member } = this.values;
    return member == null || !this.about.worlds ? all : all.filter((one) => one.startsWith(`${this.about.worlds.names[member]}: `));
  }

  /** Whatever becomes of it, what is said in the end is no longer that it is computed. */
  async price() {
    this.frontier = new AbortController();
    const { signal } = this.frontier;
    this.trade.textContent = "computing the frontier ..";
    try {
      const found = await ask("frontier", { world: this.about.world, question: this.values }, signal);
      if (!signal.aborted) this.traded(found);
    } catch (error) {
      if (signal.aborted) return; // sliders have moved, and say so themselves
      this.trade.textContent = `The frontier cannot be shown: ${error.message}`;
      document.getElementById("frontier").hidden = true;
    }
    document.getElementById("frontier").classList.remove("busy");
  }

  traded(found) {
    const place = document.getElementById("frontier");
    const next = Object.entries(found.next).map(([label, value]) => `${label} ${typeof value === "number" ? shown(value, 3) : value}`).join(", ");
    const worth = `Next simulation: ${next}; expected improvement ${shown(found.gain, 2)}${found.pays ? ": more rounds would pay." : "."}`;
    place.hidden = Boolean(found.problem);
    if (found.problem) {
      this.trade.textContent = `${found.problem}. ${worth}`;
      return;
    }
    const points = found.points.map((one) => [one.objectives.total.mean, one.objectives["worst-group"].mean,
      `total ${shown(one.objectives.total.mean)}\nworst group ${shown(one.objectives["worst-group"].mean)}\n` +
      Object.entries(one.policy).map(([label, value]) => `${label} ${shown(value, 3)}`).join(", ")]);
    const knee = found.points.findIndex((one) => one.knee);
    this.trade.textContent = (points.length > 1
      ? `${points.length} policies that no other beats in both the total and the worst group; the knee is circled. `
      : "One policy is best in both the total and the worst group. ") + [worth, ...(found.remarks ?? [])].join(" ");
    this.chart.draw({
      title: "Worst group against total", unit: found.units[1], x: `total, ${found.units[0]}`, height: 240,
      series: [{ label: "frontier", colour: "var(--c0)", dots: points, lines: [{ points, faint: true }] }],
      marked: knee >= 0 ? [points[knee]] : [],
    });
  }
}
