// The page of a model: play, pause, step and reset, with its levers as sliders.

import { Chart } from "./chart.js";
import { ask, colour, el, Refused, shown, table } from "./dom.js";
import { drawNetwork, drawTown, nearestSensor, STATES } from "./maps.js";
import { slider } from "./slider.js";

const $ = (id) => document.getElementById(id);
const state = { playing: false, flying: false, points: [], pace: 5, seed: 0, field: 0, policy: null, run: null, late: false };
const chart = new Chart($("curve"));
let about = null;

async function start() {
  try {
    about = await ask("about");
  } catch (error) {
    return problem(error);
  }
  document.title = `${about.name} – policyloop watch`;
  $("name").textContent = about.title ? `${about.name}: ${about.title}` : about.name;
  sliders();
  legend();
  for (const id of ["play", "step", "restart"]) $(id).disabled = false;
  await begin();
}

function sliders() {
  const found = [];
  if (about.kind === "town") {
    state.policy = [...about.start];
    found.push(el("h2", {}, "Policy: a new season begins"));
    about.levers.forEach((lever, i) => {
      const [low, high, step] = Array.isArray(lever.lever)
        ? [...lever.lever, (lever.lever[1] - lever.lever[0]) / 100]
        : [...lever.lever.whole, lever.lever.step];
      found.push(slider(`lever-${i}`, `${lever.label}, ${lever.unit}`, low, high, step, state.policy[i], (x) => shown(x, 3), (x) => {
        state.policy[i] = x;
        begin();
      }, low));
    });
  } else {
    state.policy = 0;
    found.push(el("h2", {}, "The sensor that is read"));
    found.push(slider("lever-0", "sensor (or click on the map)", 0, about.sensors.length - 1, 1, 0, (i) => about.sensors[i], (i) => {
      state.policy = i;
      picture();
    }, null));
    const options = about.fields.map((name, i) => el("option", { value: i }, name));
    found.push(el("p", { class: "controls" }, el("label", {}, "Map ", el("select", { id: "field", onchange: (event) => {
      state.field = Number(event.target.value);
      picture();
    } }, ...options))));
  }
  found.push(el("h2", {}, "Pace and chance"));
  found.push(slider("pace", `${about.step}s a second`, 1, 30, 1, state.pace, String, (x) => (state.pace = x), null));
  found.push(slider("seed", "seed", 0, 20, 1, 0, String, (x) => {
    state.seed = x;
    begin();
  }, null));
  $("sliders").replaceChildren(...found);
}

function legend() {
  const words = about.kind === "town"
    ? STATES.map(([name, variable]) => [name, variable])
    : [["low", "--low"], ["high", "--high"], ["silent", "--quiet"]];
  $("legend").replaceChildren(...words.map(([name, variable]) => {
    const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.color = `var(${variable})`;
    return el("span", {}, swatch, ["low", "high"].includes(name) ? el("b", {}, name) : name);
  }));
  if (about.kind === "town") $("legend").append(`a block an age group: ${about.series.join(", ")}`);
  $("map").setAttribute("aria-label", about.kind === "town"
    ? `${about.shown} of ${about.persons} persons by age group, coloured by their state; the table has the numbers`
    : "the sensors on a map, coloured by what is chosen; the table has the warmest");
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
  $("nearest").hidden = !(error instanceof Refused && about?.kind === "town" && !/another page/.test(error.message));
}

function take(found) {
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
    const ends = drawNetwork($("map"), about, state.moment, state.field, state.policy);
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
