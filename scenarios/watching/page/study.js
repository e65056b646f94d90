// The page of a study: it asks each second for rounds that it does not know yet, and shows them.

import { Chart, Charts } from "./chart.js";
import { ask, colour, el, entry, shown, table, tabs } from "./dom.js";
import { drawStations, visits } from "./maps.js";
import { Panel } from "./panel.js";

const $ = (id) => document.getElementById(id);
const EVERY = 1000; // ms
const LATEST = 12;

const state = { generation: null, rounds: [], about: null, hidden: new Set(), last: null };
const charts = { agents: new Chart($("agents-chart")), levers: new Charts($("levers")), groups: new Charts($("groups")) };
const panel = new Panel($("ask"));

async function poll() {
  let more = false;
  try {
    const found = await ask("rounds", { generation: state.generation, known: state.rounds.length });
    more = found.more;
    take(found);
  } catch (error) {
    $("state").textContent = error.message;
    $("state").className = "bad";
  }
  setTimeout(poll, more ? 0 : EVERY);
}

function take(found) {
  if (found.about) begin(found);
  const rows = found.rounds;
  const fresh = rows.trial.map((_, i) => Object.fromEntries(Object.keys(rows).map((name) => [name, rows[name][i]])));
  state.rounds.push(...fresh);
  const advised = state.last?.advice.length !== found.advice.length;
  state.last = found;
  progress(found);
  if (fresh.length || found.about || advised) draw();
  panel.known(found.generation, state.rounds.length);
}

function begin(found) {
  const about = found.about;
  Object.assign(state, { generation: found.generation, rounds: [], about, rows: undefined });
  document.title = `${about.name} – policyloop watch`;
  $("name").textContent = about.title ? `${about.name}: ${about.title}` : about.name;
  $("about").textContent =
    `${about.file}, environment ${about.environment}: ${about.trials} ${about.trials > 1 ? "trials" : "trial"} of ` +
    `${about.rounds} rounds, ${about.sense === "minimize" ? "smaller" : "larger"} is better` +
    (about.created ? `, begun ${about.created}` : "");
  const trials = Array.from({ length: about.trials }, (_, i) => el("option", { value: i + 1 }, String(i + 1)));
  $("trial").replaceChildren(el("option", { value: "all" }, "all"), ...trials);
  $("measure").replaceChildren(
    el("option", { value: "best" }, "best objective so far"),
    el("option", { value: "average" }, "average regret"),
    el("option", { value: "cumulative" }, "cumulative regret"),
  );
  const chips = about.agents.map((agent, i) => {
    const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.color = colour(i);
    const box = el("input", { type: "checkbox", checked: true, onchange: (event) => {
      state.hidden[event.target.checked ? "delete" : "add"](agent);
      draw();
    } });
    return el("label", {}, box, swatch, agent);
  });
  $("agents").replaceChildren(el("legend", {}, "Agents"), ...chips);
}

function progress(found) {
  const done = state.rounds.length, { total } = found;
  $("progress").value = total ? Math.min(1, done / total) : 0;
  const words = [`${done} of ${total} rounds`];
  if (done >= total) words.push("finished");
  else if (found.left) words.push(`${found.left} left at the present pace`);
  else if (!found.more) words.push(`no new round for ${found.silent}`);
  const failed = state.rounds.filter((one) => one.status === "failed" || one.status === "lost").length;
  if (failed) words.push(`${failed} failed`);
  if (found.problem) words.push(found.problem);
  $("state").textContent = words.join(" · ");
  $("state").className = found.problem ? "bad" : "quiet";
}

function picked() {
  const trial = $("trial").value;
  return state.rounds.filter((one) => !state.hidden.has(one.agent) && (trial === "all" || one.trial === Number(trial)));
}

function draw() {
  const { about } = state;
  const rounds = picked();
  const regret = rounds.some((one) => one.regret != null);
  for (const option of $("measure").options) if (option.value !== "best") option.disabled = !regret;
  if (!regret) $("measure").value = "best";
  cards(rounds);
  charts.agents.draw(curves(rounds));
  charts.levers.draw(about.levers.map((lever, i) => ({
    title: lever.label, unit: lever.unit, lever, x: "round", xWhole: true,
    series: byAgent(rounds, (one) => one.policy[i], (value) => `${lever.label} ${entry(lever, value)}`),
    references: about.current ? [{ y: about.current[i], label: about.current_label }] : [],
  })));
  charts.groups.draw(about.groups.map((group, j) => ({
    title: group.label, unit: group.unit, x: "round", xWhole: true,
    series: byAgent(rounds, (one) => one.outcomes[j], (value) => `${group.label} ${shown(value)} ${group.unit}`),
  })));
  places(rounds);
  failures(rounds);
  latest(rounds);
}

/** The map of stations, where policies are stations, and the best of those that were asked. */
function places(rounds) {
  const { map, unit } = state.about;
  $("places").hidden = !map;
  if (!map) return;
  const asked = visits(map, rounds), mean = (one) => one.sum / one.told;
  const told = asked.filter((one) => one.told).sort((one, other) => (better(mean(one), mean(other)) ? -1 : 1));
  const silent = asked.filter((one) => one.silent);
  drawStations($("places-map"), map, asked, told[0]);
  const words = `${asked.length} of ${map.names.length} stations asked, ${asked.filter((one) => one.times > 1).length} of them ` +
    `more than once (larger)` + (silent.length ? `; ${silent.length} told nothing when last asked (crossed)` : "");
  $("places-said").textContent = words;
  $("places-map").setAttribute("aria-label", `Stations on a map: ${words}; the table has the best`);
  const rows = told.slice(0, 5).map((one) => [el("td", { class: "text" }, one.name), shown(mean(one)), one.times]);
  $("places-best").replaceChildren(table(["station", `mean observed objective${unit ? `, ${unit}` : ""}`, "times asked"], rows));
}

/** Dots by agent, a little beside one another: agents of a trial often try the same. */
function byAgent(rounds, of, words) {
  const { agents } = state.about;
  return agents.map((agent, i) => ({
    label: agent, colour: colour(i),
    dots: rounds.filter((one) => one.agent === agent && of(one) != null)
      .map((one) => [one.round + 0.6 * ((i + 0.5) / agents.length - 0.5), of(one), `${agent}, trial ${one.trial}, round ${one.round}\n${words(of(one))}`]),
  }));
}

const better = (one, other) => (state.about.sense === "minimize" ? one < other : one > other);

/** The rounds of an agent by trial, in order. */
function trialsOf(rounds, agent) {
  const found = new Map();
  for (const one of rounds) {
    if (one.agent !== agent) continue;
    if (!found.has(one.trial)) found.set(one.trial, []);
    found.get(one.trial).push(one);
  }
  for (const own of found.values()) own.sort((one, other) => one.round - other.round);
  return [...found.values()];
}

function curve(own, measure, worth) {
  let sum = 0, best = null;
  const points = [];
  for (const one of own) {
    if (measure === "best") {
      const value = one[worth];
      if (value != null && (best == null || better(value, best))) best = value;
      if (best != null) points.push([one.round, best]);
    } else if (one.regret != null) {
      sum += one.regret;
      points.push([one.round, measure === "average" ? sum / one.round : sum]);
    }
  }
  return points;
}

function curves(rounds) {
  const { about } = state, measure = $("measure").value;
  const worth = known(state.rounds);
  const noise = measure !== "best" ? "" : worth === "expected" ? " without noise" : " with its noise";
  const name = ($("measure").selectedOptions[0]?.textContent ?? "") + noise;
  const series = about.agents.map((agent, i) => {
    const each = trialsOf(rounds, agent).map((own) => curve(own, measure, worth));
    const sums = new Map();
    for (const [x, y] of each.flat()) {
      const [n, sum] = sums.get(x) ?? [0, 0];
      sums.set(x, [n + 1, sum + y]);
    }
    const mean = [...sums].sort((a, b) => a[0] - b[0]).map(([x, [n, sum]]) => [x, sum / n]);
    const faint = each.length > 1 ? each.map((points) => ({ points, faint: true })) : [];
    return { label: agent, colour: colour(i), lines: [...faint, { points: mean }] };
  });
  const many = $("trial").value === "all" && about.trials > 1 ? ", mean over trials" : "";
  const title = `${name.charAt(0).toUpperCase()}${name.slice(1)} by agent${many}`;
  return { title, unit: about.unit, x: "round", xWhole: true, series, from: measure === "best" ? null : 0, height: 260 };
}

/** By what rounds are judged: without noise where that is known of any, else as observed. */
const known = (rounds) => (rounds.some((one) => one.expected != null) ? "expected" : "objective");

/** How many first rounds of each trial are the same for all its agents: what they found is nobody's own. */
function shared() {
  const { agents } = state.about, found = new Map();
  if (agents.length < 2) return found;
  const rounds = new Map(state.rounds.map((one) => [`${one.trial} ${one.round} ${one.agent}`, one.policy.join()]));
  for (const trial of new Set(state.rounds.map((one) => one.trial))) {
    let round = 1;
    while (new Set(agents.map((agent) => rounds.get(`${trial} ${round} ${agent}`) ?? agent)).size === 1) round += 1;
    found.set(trial, round - 1);
  }
  return found;
}

/** What an agent has come to, and of what kind that number is. */
function come(own, agent, worth, design) {
  const trials = new Set(own.map((one) => one.trial));
  const advice = state.last.advice.filter((one) => one.agent === agent && trials.has(one.trial));
  const mean = (name) => advice.reduce((sum, one) => sum + one[name], 0) / advice.length;
  const many = advice.length > 1 ? `, mean of ${advice.length} trials` : "";
  if (worth !== "expected" && advice.length && advice.every((one) => one.again != null)) {
    return [mean("again"), `recommended, simulated again on ${advice[0].seeds} seeds${many}`];
  }
  if (worth !== "expected" && advice.length && advice.every((one) => one.mean != null)) {
    return [mean("mean"), `recommended, as its model predicts${many}`];
  }
  // What the design found that all agents share is nobody's merit: an agent's own choices count, once there are any.
  const chosen = own.filter((one) => one.round > (design.get(one.trial) ?? 0));
  const some = chosen.length ? chosen : own;
  const best = some.reduce((top, one) => (one[worth] != null && (top == null || better(one[worth], top[worth])) ? one : top), null);
  if (!best) return [null, `nothing observed in ${own.length} rounds`];
  const whose = chosen.length ? `${chosen.length} rounds of its own choice` : `${own.length} rounds that all agents share`;
  const where = `, trial ${best.trial}, round ${best.round}`;
  return [best[worth], (worth === "expected" ? `best of ${whose}, without noise` : `best observed, noise included: the luckiest of ${whose}`) + where];
}

function cards(rounds) {
  const { about } = state, worth = known(state.rounds), design = shared();
  const found = about.agents.filter((agent) => !state.hidden.has(agent)).map((agent) => {
    const own = rounds.filter((one) => one.agent === agent);
    const [value, words] = come(own, agent, worth, design);
    const regrets = own.filter((one) => one.regret != null);
    const mean = regrets.reduce((sum, one) => sum + one.regret, 0) / regrets.length;
    return el("div", { class: "card", "data-agent": agent },
      el("span", {}, agent), el("b", {}, shown(value), el("small", {}, value == null ? "" : ` ${about.unit}`)),
      el("span", {}, words + (regrets.length ? `; average regret ${shown(mean, 3)}` : "")));
  });
  $("cards").replaceChildren(...found);
}

function policy(one) {
  const entries = state.about.levers.map((lever, i) => `${lever.label} ${entry(lever, one.policy[i])}`);
  return [...station(one), ...entries].join(", ");
}

/** The name of the station that was asked, in a list; an empty one of other policies. */
function station(one) {
  const { map } = state.about;
  if (!map) return [];
  state.rows ??= new Map(map.places.map((place, i) => [place.join(), map.names[i]]));
  return [state.rows.get(one.policy.join()) ?? ""];
}

function failures(rounds) {
  const failed = rounds.filter((one) => one.status !== "ok");
  if (!failed.length) return $("failures").replaceChildren(el("p", { class: "quiet" }, "None: every round has observed all groups."));
  const rows = failed.slice(-50).reverse().map((one) =>
    [one.trial, one.agent, one.round, one.status, el("td", { class: "text" }, one.error || "some groups are missing"), el("td", { class: "text" }, policy(one))]);
  const more = failed.length > 50 ? [el("p", { class: "quiet" }, `The last 50 of ${failed.length}.`)] : [];
  return $("failures").replaceChildren(table(["trial", "agent", "round", "status", "reason", "policy"], rows), ...more);
}

function latest(rounds) {
  const { about } = state;
  const levers = about.levers.map((one) => one.label);
  const heads = ["trial", "agent", "round", ...(about.map ? ["station"] : []), ...levers, ...about.groups.map((one) => `y ${one.label}`), "objective"];
  const rows = rounds.slice(-LATEST).reverse().map((one) => [
    one.trial, one.agent, one.round, ...station(one).map((name) => el("td", { class: "text" }, name)), ...about.levers.map((lever, i) => entry(lever, one.policy[i])),
    ...one.outcomes.map((value) => shown(value)), shown(one.objective),
  ]);
  $("latest").replaceChildren(table(heads, rows));
}

for (const id of ["trial", "measure"]) $(id).addEventListener("change", draw);
tabs(document.querySelector('[role="tablist"]'), (id) => (id === "tab-ask" ? panel.open() : draw()));
poll();
