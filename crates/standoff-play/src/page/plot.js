// Drawing: elements, ticks, level sets, and curves on logarithmic axes.

const SVG = 'http://www.w3.org/2000/svg';

export const find = id => document.getElementById(id);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const svg = (name, attributes = {}, ...children) => filled(document.createElementNS(SVG, name), attributes, children);
export const html = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);

export const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/// A number for an axis.
export function label(v) {
  if (v === 0) return '0';
  return Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential().replace('+', '') : String(+v.toPrecision(6));
}

/// Round numbers between two bounds, at most about so many.
export function ticks(lower, upper, most) {
  const raw = (upper - lower) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find(k => k * power >= raw) || 10);
  const all = [];
  for (let k = Math.ceil(lower / step - 1e-9); k * step <= upper + 1e-9 * step; k++) all.push(+(k * step).toPrecision(12));
  return all;
}

const channels = text => [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));

/// Level sets of equal area: each band covers the same share of the values, so that every formula shows its shape.
export function levels(canvas, values, side) {
  const BANDS = 14;
  const finite = values.filter(v => v !== null).sort((a, b) => a - b);
  const borders = [];
  for (let k = 1; k < BANDS && finite.length; k++) borders.push(finite[Math.floor(k * finite.length / BANDS)]);
  const [low, high, line] = ['--low', '--high', '--contour'].map(name => channels(colour(name)));
  const { width, height } = canvas;
  const band = new Int16Array(width * height);
  for (let row = 0; row < height; row++) {
    // The first row of the grid has the smallest y, which is at the bottom.
    const v = (1 - row / (height - 1)) * (side - 1);
    const j = Math.min(Math.floor(v), side - 2);
    for (let column = 0; column < width; column++) {
      const u = column / (width - 1) * (side - 1);
      const i = Math.min(Math.floor(u), side - 2);
      const at = j * side + i;
      const corners = [values[at], values[at + 1], values[at + side], values[at + side + 1]];
      if (corners.includes(null)) { band[row * width + column] = -1; continue; }
      const [s, t] = [u - i, v - j];
      const value = (corners[0] * (1 - s) + corners[1] * s) * (1 - t) + (corners[2] * (1 - s) + corners[3] * s) * t;
      let [from, to] = [0, borders.length];
      while (from < to) {
        const middle = (from + to) >> 1;
        if (borders[middle] < value) from = middle + 1; else to = middle;
      }
      band[row * width + column] = from;
    }
  }
  const context = canvas.getContext('2d');
  const image = context.createImageData(width, height);
  for (let row = 0, at = 0; row < height; row++) {
    for (let column = 0; column < width; column++, at++) {
      const own = band[at];
      // Outside the domain of f there are stripes.
      let mixed = own < 0 ? ((row + column) >> 3) % 2 ? low : high : low.map((l, c) => l + (high[c] - l) * own / (BANDS - 1));
      const right = column + 1 < width ? band[at + 1] : own;
      const below = row + 1 < height ? band[at + width] : own;
      if (own >= 0 && (right !== own || below !== own)) mixed = mixed.map((m, c) => m + (line[c] - m) * 0.55);
      image.data.set([...mixed, 255], 4 * at);
    }
  }
  context.putImageData(image, 0, 0);
}

/// A scale from numbers to places.
export function scale(from, to, first, last) {
  return v => first + (v - from) / (to - from) * (last - first);
}

/// Points of a line that are drawn in full. A method that goes in circles would cover everything.
const CLEAR = 300;

/// A line through points: what follows the first ones is drawn faintly.
export function trail(points, kind = 'path') {
  const d = part => 'M' + part.map(([u, v]) => `${u.toFixed(1)} ${v.toFixed(1)}`).join('L');
  const parts = [svg('path', { class: kind, d: d(points.slice(0, CLEAR)) })];
  if (points.length > CLEAR) parts.unshift(svg('path', { class: `${kind} faint`, d: d(points.slice(CLEAR - 1)) }));
  return parts;
}

const power = k => { const text = svg('tspan'); text.append(k === 0 ? '1' : k === 1 ? '10' : `1e${k}`); return text; };

/// Curves against gradients, both axes logarithmic. A gain of 0 is drawn at the lower edge.
export function curves(target, lines, { eps, most, key, head }) {
  const [width, height] = [target.clientWidth || 300, target.clientHeight || 200];
  const [left, right, top, bottom] = [46, 10, 8, 34];
  const values = lines.flatMap(line => line.map(point => point[key])).filter(v => v > 0);
  const floor = Math.floor(Math.log10(Math.min(eps, ...values.length ? [Math.max(Math.min(...values), eps * 1e-3)] : [])) - 0.05);
  const roof = Math.ceil(Math.log10(Math.max(eps * 10, ...values)) + 0.05);
  const decades = Math.max(1, Math.ceil(Math.log10(Math.max(most, 10))));
  const x = scale(0, decades, left, width - right);
  const y = scale(floor, roof, height - bottom, top);
  const parts = [];
  for (let k = 0; k <= decades; k++) {
    parts.push(svg('line', { class: 'grid', x1: x(k), x2: x(k), y1: top, y2: height - bottom }));
    parts.push(svg('text', { x: x(k), y: height - bottom + 15, 'text-anchor': k === decades ? 'end' : 'middle' }, k === 0 ? '1' : label(10 ** k)));
  }
  const every = Math.max(1, Math.ceil((roof - floor) / 6));
  for (let k = floor; k <= roof; k++) {
    if ((k - floor) % every) continue;
    parts.push(svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(k), y2: y(k) }));
    parts.push(svg('text', { x: left - 6, y: y(k) + 4, 'text-anchor': 'end' }, power(k)));
  }
  parts.push(svg('text', { x: (left + width - right) / 2, y: height - 3, 'text-anchor': 'middle' }, 'gradients'));
  parts.push(svg('line', { class: 'aim', x1: left, x2: width - right, y1: y(Math.log10(eps)), y2: y(Math.log10(eps)) }));
  parts.push(svg('text', { x: width - right - 2, y: y(Math.log10(eps)) - 4, 'text-anchor': 'end' }, 'eps'));
  lines.forEach((line, place) => {
    const points = line.filter(point => point.g <= head && point[key] !== null)
      .map(point => [x(Math.log10(Math.max(1, point.g))), y(Math.max(floor, Math.log10(Math.max(point[key], 1e-300))))]);
    if (!points.length) return;
    const end = points[points.length - 1];
    parts.push(svg('g', { class: `k${place}` }, ...trail(points), svg('circle', { class: 'dot', cx: end[0], cy: end[1], r: 4 })));
  });
  target.replaceChildren(...parts);
}
