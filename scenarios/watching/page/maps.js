// Pictures on a canvas: the persons of a town by age group and state, the sensors of a network on a map.

export const STATES = [
  ["susceptible", "--susceptible"], ["exposed", "--exposed"], ["infectious", "--infectious"],
  ["recovered", "--recovered"], ["vaccinated", "--vaccinated"],
];
const COLUMNS = 120;
const GAP = 2; // rows between age groups

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Red, green and blue of a colour #rrggbb. */
const rgb = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));

/** The persons as squares, a block an age group. */
export function drawTown(canvas, about, cells) {
  const heights = about.blocks.map((persons) => Math.ceil(persons / COLUMNS));
  const rows = heights.reduce((sum, one) => sum + one + GAP, -GAP);
  const colours = STATES.map(([, name]) => rgb(variable(name)));
  canvas.width = COLUMNS;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(COLUMNS, rows);
  let at = 0, top = 0;
  about.blocks.forEach((persons, j) => {
    for (let i = 0; i < persons; i++) {
      const place = 4 * ((top + Math.floor(i / COLUMNS)) * COLUMNS + (i % COLUMNS));
      image.data.set([...colours[cells.charCodeAt(at++) - 48], 255], place);
    }
    top += heights[j] + GAP;
  });
  context.putImageData(image, 0, 0);
}

/** What happened at each station that was asked: how often, its latest objective, and whether it told nothing last. */
export function visits(map, rounds) {
  const rows = new Map(map.places.map((place, i) => [place.join(), i])), found = new Map();
  for (const one of rounds) {
    const row = rows.get(one.policy.join());
    if (row === undefined) continue;
    const before = found.get(row) ?? { row, times: 0, sum: 0, told: 0, silent: false, name: map.names[row] };
    before.times += 1;
    before.silent = one.objective == null;
    if (one.objective != null) [before.sum, before.told] = [before.sum + one.objective, before.told + 1];
    found.set(row, before);
  }
  return [...found.values()];
}

/** Coasts and borders. */
function drawLines(context, lines, at) {
  context.strokeStyle = variable("--quiet");
  context.lineWidth = 0.6;
  context.beginPath();
  for (const line of lines) line.forEach((place, i) => context[i ? "lineTo" : "moveTo"](...at(...place)));
  context.stroke();
}

/** The stations with coasts and borders; those that were asked by their mean objective, larger where more often. */
export function drawStations(canvas, map, asked, best) {
  const { width, height, x, y, at } = frame(canvas, map), fine = window.devicePixelRatio || 1;
  canvas.width = width * fine;
  canvas.height = height * fine;
  const context = canvas.getContext("2d");
  context.scale(fine, fine);
  drawLines(context, map.lines, at);
  const dot = (i, radius, colour) => {
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x(i), y(i), radius, 0, 2 * Math.PI);
    context.fill();
  };
  map.lon.forEach((_, i) => dot(i, 1.2, variable("--rule")));
  const values = asked.filter((one) => one.told).map((one) => one.sum / one.told);
  const low = Math.min(...values), high = Math.max(...values), from = rgb(variable("--low")), to = rgb(variable("--high"));
  for (const one of asked) {
    const t = high > low ? (one.sum / one.told - low) / (high - low) : 0.5;
    if (one.told) dot(one.row, 2.5 * Math.sqrt(one.times) + 1, `rgb(${from.map((c, k) => Math.round(c + t * (to[k] - c))).join(",")})`);
    if (!one.silent) continue;
    context.strokeStyle = variable("--bad");
    context.lineWidth = 1.5;
    context.beginPath();
    for (const side of [-1, 1]) {
      context.moveTo(x(one.row) - 4, y(one.row) - 4 * side);
      context.lineTo(x(one.row) + 4, y(one.row) + 4 * side);
    }
    context.stroke();
  }
  if (!best) return;
  context.strokeStyle = variable("--ink");
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x(best.row), y(best.row), 2.5 * Math.sqrt(best.times) + 5, 0, 2 * Math.PI);
  context.stroke();
}

/** Where sensors stand on a canvas: its size, and their places. */
function frame(canvas, about) {
  const { lon, lat } = about, west = Math.min(...lon), east = Math.max(...lon), south = Math.min(...lat), north = Math.max(...lat);
  const narrow = Math.cos(((south + north) / 2 / 180) * Math.PI); // a degree of longitude is shorter than one of latitude
  const wide = (east - west) * narrow || 1, high = north - south || 1, edge = 10;
  const width = canvas.clientWidth || 300, height = Math.min(1.2 * width, Math.max(0.4 * width, (width * high) / wide));
  const scale = Math.min((width - 2 * edge) / wide, (height - 2 * edge) / high);
  const at = (east, north) => [edge + (east - west) * narrow * scale, height - edge - (north - south) * scale];
  return { width, height, at, x: (i) => at(lon[i], lat[i])[0], y: (i) => at(lon[i], lat[i])[1] };
}

/** The sensors, coloured by one of their fields, the chosen one circled; the lowest and the highest value. */
export function drawNetwork(canvas, about, moment, field, chosen) {
  const { width, height, at, x, y } = frame(canvas, about), fine = window.devicePixelRatio || 1;
  canvas.width = width * fine;
  canvas.height = height * fine;
  const context = canvas.getContext("2d");
  context.scale(fine, fine);
  const values = moment.field.map((one) => one[field]);
  const low = Math.min(...values), high = Math.max(...values);
  const from = rgb(variable("--low")), to = rgb(variable("--high"));
  drawLines(context, about.lines, at);
  context.strokeStyle = variable("--rule");
  context.lineWidth = 1;
  context.beginPath();
  for (const [i, j] of about.edges) {
    context.moveTo(x(i), y(i));
    context.lineTo(x(j), y(j));
  }
  context.stroke();
  values.forEach((value, i) => {
    const t = high > low ? (value - low) / (high - low) : 0.5;
    const mixed = from.map((one, k) => Math.round(one + t * (to[k] - one)));
    context.fillStyle = moment.silent[i] ? variable("--quiet") : `rgb(${mixed.join(",")})`;
    context.beginPath();
    context.arc(x(i), y(i), moment.silent[i] ? 1.5 : 4, 0, 2 * Math.PI);
    context.fill();
  });
  context.strokeStyle = variable("--ink");
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x(chosen), y(chosen), 8, 0, 2 * Math.PI);
  context.stroke();
  return [low, high];
}

/** The row of the sensor nearest to a click. */
export function nearestSensor(canvas, about, event) {
  const { x, y } = frame(canvas, about), box = canvas.getBoundingClientRect();
  const px = event.clientX - box.left, py = event.clientY - box.top;
  let best = 0, least = Infinity;
  about.sensors.forEach((_, i) => {
    const far = (x(i) - px) ** 2 + (y(i) - py) ** 2;
    if (far < least) [best, least] = [i, far];
  });
  return best;
}

/** The agents of a model where they are, coloured by one of their fields; the lowest and the highest number. */
export function drawAgents(canvas, moment, field) {
  const { places, edges, grid } = moment, values = moment.values[field] ?? [], names = moment.names[field] ?? [];
  const known = places.filter((one) => one);
  const span = (i) => [Math.min(...known.map((one) => one[i])), Math.max(...known.map((one) => one[i]))];
  const [west, east, south, north] = moment.extent ?? [...span(0), ...span(1)];
  const edge = grid ? 0 : 8, width = canvas.clientWidth || 300, wide = east - west || 1, high = north - south || 1;
  const height = Math.min(1.2 * width, Math.max(0.4 * width, (width * high) / wide));
  const scale = Math.min((width - 2 * edge) / wide, (height - 2 * edge) / high), fine = window.devicePixelRatio || 1;
  canvas.width = width * fine;
  canvas.height = height * fine;
  const context = canvas.getContext("2d");
  context.scale(fine, fine);
  const x = (one) => edge + (one - west) * scale, y = (one) => height - edge - (one - south) * scale;
  context.strokeStyle = variable("--rule");
  context.beginPath();
  for (const [x0, y0, x1, y1] of edges) {
    context.moveTo(x(x0), y(y0));
    context.lineTo(x(x1), y(y1));
  }
  context.stroke();
  const numbers = values.filter((one) => one != null);
  const low = Math.min(...numbers), most = Math.max(...numbers), from = rgb(variable("--low")), to = rgb(variable("--high"));
  const own = names.map((_, i) => variable(`--c${i % 8}`));
  const tint = (value) => {
    if (value == null) return variable("--quiet");
    if (names.length) return own[value];
    const t = most > low ? (value - low) / (most - low) : 0.5;
    return `rgb(${from.map((one, k) => Math.round(one + t * (to[k] - one))).join(",")})`;
  };
  const cell = Math.max(1, scale - (scale > 4 ? 1 : 0)), radius = Math.max(2, Math.min(5, width / (4 * Math.sqrt(places.length || 1))));
  places.forEach((place, i) => {
    if (!place) return;
    context.fillStyle = tint(values[i]);
    context.beginPath();
    if (grid) context.rect(x(place[0]) - cell / 2, y(place[1]) - cell / 2, cell, cell);
    else context.arc(x(place[0]), y(place[1]), radius, 0, 2 * Math.PI);
    context.fill();
  });
  return [low, most];
}
