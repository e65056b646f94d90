// The page of a model: play, pause, step and reset, with its levers as sliders.

import { Chart, Charts } from "./chart.js";
import { ask, colour, el, Refused, shown, table } from "./dom.js";
import { drawAgents, drawNetwork, drawTown, nearestSensor, STATES } from "./maps.js";
import { slider } from "./slider.js";

const $ = (id) => document.getElementById(id);
const state = { playing: false, flying: false, points: [], pace: 5, seed: 0, field: 0, policy: null, run: null, late: false };
let chart = null;
let about = null;

async function start() {
  try {
    about = await ask("about");
  } catch (error) {
    return problem(error);
  }
  document.title = `${about.name} – policyloop watch`;
  $("name").textContent = about.title ? `${about.name}: ${about.title}` : about.name;
  chart = about.kind === "mesa" ? new Charts($("curve")) : new Chart($("curve"));
  $("curve").classList.toggle("charts", about.kind === "mesa");
  sliders();
  legend();
  for (const id of ["play", "step", "restart"]) $(id).disabled = false;
  await begin();
}

function sliders() {
  const found = [];
  if (about.levers) {
    state.policy ??= [...about.start];
    found.push(el("h2", {}, about.kind === "town" ? "Policy: a new season begins" : "Policy: the model begins anew"));
    about.levers.forEach((one, i) => found.push(lever(one, i)));
    if (about.fields?.length) found.push(fields("Agents by ", about.fields));
  } else {
    state.policy = 0;
    found.push(el("h2", {}, "The sensor that is read"));
    found.push(slider("lever-0", "sensor (or click on the map)", 0, about.sensors.length - 1, 1, 0, (i) => about.sensors[i], (i) => {
      state.policy = i;
      picture();
    }, null));
    found.push(fields("Map ", about.fields));
  }
  found.push(el("h2", {}, "Pace and chance"));
  found.push(slider("pace", `${about.step}s a second`, 1, 30, 1, state.pace, String, (x) => (state.pace = x), null));
  found.push(slider("seed", "seed", 0, 20, 1, 0, String, (x) => {
    state.seed = x;
    begin();
  }, null));
  $("sliders").replaceChildren(...found);
}

/** What moves one entry of the policy: a slider, or a choice among names. */
function lever({ label, unit, lever: may }, i) {
  const change = (x) => {
    state.policy[i] = x;
    begin();
  };
  const name = unit ? `${label}, ${unit}` : label;
  if (may.one_of) {
    const options = may.one_of.map((one, k) => el("option", { value: k, selected: k === state.policy[i] }, one));
    const choice = el("select", { id: `lever-${i}`, onchange: (event) => change(Number(event.target.value)) }, ...options);
    return el("p", { class: "controls" }, el("label", {}, `${name} `, choice));
  }
  const [low, high, step] = Array.isArray(may) ? [...may, (may[1] - may[0]) / 100] : [...may.whole, may.step];
  return slider(`lever-${i}`, name, low, high, step, state.policy[i], may.whole ? String : (x) => shown(x, 3), change, low);
}

/** A choice of what the map shows. */
function fields(label, names) {
  const options = names.map((name, i) => el("option", { value: i, selected: i === state.field }, name));
  return el("p", { class: "controls" }, el("label", {}, label, el("select", { id: "field", onchange: (event) => {
    state.field = Number(event.target.value);
    legend();
    picture();
  } }, ...options)));
}

function legend() {
  const scale = [["low", "--low"], ["high", "--high"]];
  const names = state.moment?.names?.[state.field] ?? [];
  const words = about.kind === "town" ? STATES
    : about.kind === "network" ? [...scale, ["silent", "--quiet"]]
    : names.length ? names.slice(0, 8).map((name, i) => [i === 7 && names.length > 8 ? "others" : name, `--c${i}`]) : scale;
  $("legend").replaceChildren(...words.map(([name, variable]) => {
    const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.color = `var(${variable})`;
    return el("span", {}, swatch, scale.some((one) => one[1] === variable) ? el("b", {}, name) : name);
  }));
  if (about.kind === "town") $("legend").append(`a block an age group: ${about.series.join(", ")}`);
  $("map").setAttribute("aria-label", about.kind === "town"
    ? `${about.shown} of ${about.persons} persons by age group, coloured by their state; the table has the numbers`
    : about.kind === "network" ? "the sensors on a map, coloured by what is chosen; the table has the warmest"
    : "the agents where they are, coloured by what is chosen; the table has what the model reports");
}

/** Begin anew; while that is under way, only the last wish is followed. */
async function begin(nearest = false) {
  if (state.flying) {
    state.late = true;
    return;
  }
  await during(async () => {
    const found = await ask("begin", { policy: state.policy, seed: state.seed, nearest });
    state.points = [];
    if (nearest) {
      state.policy = found.policy;
      sliders();
    }
    take(found);
  });
}

async function step(steps) {
  if (state.flying) return;
  await during(async () => {
    const policy = about.kind === "network" ? state.policy : null;
    take(await ask("step", { run: state.run, steps, policy }));
  });
}

async function during(work) {
  state.flying = true;
  try {
    await work();
    $("problem").hidden = $("nearest").hidden = true;
  } catch (error) {
    problem(error);
  }
  state.flying = false;
  if (state.late) {
    state.late = false;
    await begin();
  }
}

function problem(error) {
  play(false);
  $("problem").textContent = error.message;
  $("problem").hidden = false;
  $("nearest").hidden = !(error instanceof Refused && about?.levers && !/another page/.test(error.message));
}

function take(found) {
  const before = state.moment;
  state.run = found.run;
  state.points.push(...found.points);
  state.moment = found;
  if (found.over) play(false);
  $("play").disabled = $("step").disabled = found.over;
  const time = state.points.at(-1)?.[0] ?? 0;
  $("state").textContent = `${about.step} ${time}${found.over ? ": it is over" : ""}`;
  $("state").dataset.time = time;
  $("said").textContent = found.said;
  $("table").replaceChildren(table(found.heads, found.rows));
  if (about.kind === "mesa") {
    if (state.moment.names.some((one, i) => one.length !== (before?.names[i] ?? []).length)) legend();
    chart.draw(about.series.map((label, i) => ({
      title: label, unit: about.units[i], x: about.step, xWhole: true,
      series: [{ label, colour: colour(i), lines: [{ points: state.points.filter((one) => one[i + 1] != null).map((one) => [one[0], one[i + 1]]) }] }],
    })));
    return picture();
  }
  chart.draw({
    title: `${about.what.charAt(0).toUpperCase()}${about.what.slice(1)}`, unit: "", x: about.step, xWhole: true, height: 230,
    from: about.kind === "town" ? 0 : null,
    series: about.series.map((label, i) => {
      const points = state.points.filter((one) => one[i + 1] != null).map((one) => [one[0], one[i + 1], `${label}\n${about.step} ${one[0]}: ${shown(one[i + 1])}`]);
      return about.kind === "network" && i === 2 ? { label, colour: colour(i), dots: points } : { label, colour: colour(i), lines: [{ points }] };
    }),
  });
  series();
  picture();
}

function series() {
  if ($("series")) return;
  const words = about.series.map((name, i) => {
    const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.color = colour(i);
    return el("span", {}, swatch, name);
  });
  $("curve").after(el("p", { id: "series", class: "quiet legend" }, ...words));
}

function picture() {
  if (!state.moment) return;
  if (about.kind === "town") drawTown($("map"), about, state.moment.cells);
  else {
    $("map").hidden = about.kind === "mesa" && !state.moment.places.length;
    const ends = about.kind === "mesa" ? drawAgents($("map"), state.moment, state.field)
      : drawNetwork($("map"), about, state.moment, state.field, state.policy);
    document.querySelectorAll("#legend b").forEach((one, i) => (one.textContent = shown(ends[i], 3)));
  }
}

function play(on) {
  state.playing = on;
  $("play").textContent = on ? "Pause" : "Play";
  if (on) tick();
}

/** One request a picture, ten pictures a second at most; a faster pace takes more steps a picture. */
async function tick() {
  if (!state.playing) return;
  const began = performance.now(), pictures = Math.min(state.pace, 10);
  await step(Math.max(1, Math.round(state.pace / pictures)));
  setTimeout(tick, Math.max(0, 1000 / pictures - (performance.now() - began)));
}

$("play").addEventListener("click", () => play(!state.playing));
$("step").addEventListener("click", () => (play(false), step(1)));
$("restart").addEventListener("click", () => (play(false), begin()));
$("nearest").addEventListener("click", () => begin(true));
$("map").addEventListener("click", (event) => {
  if (about?.kind !== "network") return;
  const input = $("lever-0");
  input.value = nearestSensor($("map"), about, event);
  input.dispatchEvent(new Event("input", { bubbles: true }));
});
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", picture);
new ResizeObserver(picture).observe($("map"));
start();
