// A typed game: level sets, the paths of three methods, X and Y, certificates.
import { ask, later, stream } from './ask.js';
import { curves, find, html, label, levels, scale, svg, ticks, trail } from './plot.js';

const EXAMPLES = [
  ['one kink in x', 'cos(3*x)/4 + y*(x - 0.5)', [-2, 2, 1.7], [-1, 1, -1]],
  ['a saddle', 'x^2 - y^2 + 2*x*y', [-1, 1, -0.9], [-1, 1, 0.8]],
  ['matching pennies', 'x*y', [-1, 1, 0.6], [-1, 1, 0.6]],
  ['valleys', 'x^4 - 2*x^2 + x*y - y^2/2', [-2, 2, 0.1], [-2, 2, -1.5]],
  ['not concave in y', 'x*y + sin(4*y)/2', [-1, 1, 0.8], [-1.5, 1.5, 1]],
  ['the larger of two', 'max(x^2 - y, y*x - y^2)', [-1, 1, 0.9], [-1, 1, -0.7]],
];
/// Milliseconds from the first to the last gradient on the page.
const SHOWING = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 1600;
const MARGIN = { left: 40, right: 8, top: 8, bottom: 34 };

let current = null;
let picture = 0;
let begun = false;
let rounds = 0;

const number = id => find(id).valueAsNumber;

function request() {
  const body = {
    objective: find('objective').value,
    x: [number('x-from'), number('x-to')],
    y: [number('y-from'), number('y-to')],
    start: [number('x-start'), number('y-start')],
    eps: number('eps'),
    methods: [0, 1, 2].map(place => find(`method-${place}`).value),
  };
  const named = { 'x-from': 'the first bound of x', 'x-to': 'the second bound of x', 'x-start': 'the start of x', 'y-from': 'the first bound of y', 'y-to': 'the second bound of y', 'y-start': 'the start of y', eps: 'eps' };
  const missing = Object.keys(named).find(id => !Number.isFinite(number(id)));
  return missing ? { error: `${named[missing]} is no number` } : { body };
}

function refuse(text) {
  const box = find('game-error');
  const lines = text.split('\n');
  const caret = lines.length === 3 && lines[2].trim() === '^';
  box.classList.toggle('caret', caret);
  box.replaceChildren(...(caret ? [html('span', {}, lines[0]), `\n${lines[1]}\n`, html('b', {}, lines[2])] : [text]));
  box.hidden = false;
  find('objective').classList.toggle('wrong', caret);
  find('game').classList.add('stale');
  document.documentElement.dataset.game = 'error';
}

/// Begins again with what the form says.
async function play() {
  current?.abort.abort();
  const { error, body } = request();
  if (error) return refuse(error);
  const own = { abort: new AbortController(), body, lines: [[], [], []], ends: [null, null, null], begun: null };
  current = own;
  document.documentElement.dataset.game = 'asked';
  document.documentElement.dataset.rounds = ++rounds;
  try {
    const found = await ask('levels', body, own.abort.signal);
    if (own !== current) return;
    if (found.error) return refuse(found.error);
    find('game-error').hidden = true;
    find('objective').classList.remove('wrong');
    find('game').classList.remove('stale');
    find('game-warnings').textContent = found.warnings.join('. ');
    own.levels = found;
    place();
    levels(find('levels'), found.values, found.side);
    find('certificates').replaceChildren();
    own.begun = performance.now();
    document.documentElement.dataset.game = 'running';
    cancelAnimationFrame(picture);
    picture = requestAnimationFrame(frame);
    const refusal = await stream('solve', body, own.abort.signal, line => {
      if (line.end) own.ends[line.m] = line; else own.lines[line.m].push(line);
    });
    if (own === current && refusal) refuse(refusal.error);
  } catch (error) {
    if (error.name !== 'AbortError' && own === current) refuse('The server did not answer.');
  }
}

/// Puts the level sets into the frame of the axes.
function place() {
  const [stage, canvas] = [find('stage'), find('levels')];
  const size = stage.clientWidth;
  if (!size) return;
  canvas.style.left = `${MARGIN.left}px`;
  canvas.style.top = `${MARGIN.top}px`;
  canvas.style.width = `${size - MARGIN.left - MARGIN.right}px`;
  canvas.style.height = `${size - MARGIN.top - MARGIN.bottom}px`;
}

/// The scales of the field, in pixels of the page.
function field(body) {
  const size = find('stage').clientWidth;
  return {
    size,
    x: scale(body.x[0], body.x[1], MARGIN.left, size - MARGIN.right),
    y: scale(body.y[0], body.y[1], size - MARGIN.bottom, MARGIN.top),
  };
}

function paths(own, head) {
  const { body, lines, ends } = own;
  const { size, x, y } = field(body);
  if (!size) return; // another view is open
  const [right, bottom] = [size - MARGIN.right, size - MARGIN.bottom];
  const parts = [svg('rect', { class: 'frame', x: MARGIN.left, y: MARGIN.top, width: right - MARGIN.left, height: bottom - MARGIN.top })];
  for (const v of ticks(...body.x, 5)) parts.push(svg('text', { x: x(v), y: bottom + 15, 'text-anchor': 'middle' }, label(v)));
  for (const v of ticks(...body.y, 5)) parts.push(svg('text', { x: MARGIN.left - 5, y: y(v) + 4, 'text-anchor': 'end' }, label(v)));
  parts.push(svg('text', { class: 'strong', x: (MARGIN.left + right) / 2, y: size - 4, 'text-anchor': 'middle' }, 'x'));
  parts.push(svg('text', { class: 'strong', x: 4, y: (MARGIN.top + bottom) / 2 }, 'y'));
  const drawn = lines.map(line => line.filter(point => point.g <= head).map(point => [x(point.x), y(point.y)]));
  for (const points of drawn) if (points.length) parts.push(...trail(points, 'halo'));
  // The first method is drawn last, above the others.
  for (const at of [2, 1, 0]) {
    const points = drawn[at];
    if (!points.length) continue;
    const best = head === Infinity && ends[at] && ends[at].x !== undefined ? [x(ends[at].x), y(ends[at].y)] : points[points.length - 1];
    parts.push(svg('g', { class: `k${at}` }, ...trail(points), svg('circle', { class: 'dot', cx: best[0], cy: best[1], r: 6 - at * 0.5 })));
  }
  const clamp = (v, [from, to]) => Math.min(Math.max(v, from), to);
  parts.push(svg('circle', { class: 'start', cx: x(clamp(body.start[0], body.x)), cy: y(clamp(body.start[1], body.y)), r: 5 }));
  find('paths').replaceChildren(...parts);
}

/// Draws what has arrived, up to a number of gradients that grows with time.
function frame() {
  const own = current;
  if (!own || own.begun === null) return;
  const most = Math.max(1, ...own.lines.map(line => line.length ? line[line.length - 1].g : 0));
  const share = SHOWING ? (performance.now() - own.begun) / SHOWING : 1;
  const head = share >= 1 ? Infinity : most ** share;
  draw(own, head);
  const ended = own.ends.every(end => end);
  if (share >= 1 && ended) {
    certificates(own);
    document.documentElement.dataset.game = 'done';
  } else {
    picture = requestAnimationFrame(frame);
  }
}

function draw(own, head) {
  paths(own, head);
  const most = Math.max(1, ...own.lines.map(line => line.length ? line[line.length - 1].g : 0));
  for (const key of ['X', 'Y']) curves(find(`curve-${key}`), own.lines, { eps: own.body.eps, most, key, head });
}

function certificates(own) {
  const card = (end, at) => {
    const rows = [];
    const row = (name, ...value) => rows.push(html('dt', {}, name), html('dd', {}, ...value));
    if (end.shown) {
      row('x, y', `${end.shown.x}, ${end.shown.y}`);
      row('f', end.shown.f);
      row('X', `at most ${end.shown.X}`);
      row('Y', `at most ${end.shown.Y}`);
      row('proof', end.proof === 'rigorous' ? 'rigorous: holds in spite of rounding' : 'for the gradients as computed');
      row('cost', `${end.shown.g} gradients${end.sampled ? '; step sizes from sampled constants' : ''}`);
    }
    const state = end.end === 'error' ? 'not possible' : end.end.replace('-', ' ');
    const head = html('h2', {}, own.body.methods[at], html('span', {}, state));
    return html('article', { class: `card k${at} ${end.end}` }, head, html('p', {}, end.text), html('dl', {}, ...rows));
  };
  find('certificates').replaceChildren(...own.ends.map(card));
}

function fill([, objective, x, y]) {
  find('objective').value = objective;
  ['from', 'to', 'start'].forEach((part, at) => {
    find(`x-${part}`).value = x[at];
    find(`y-${part}`).value = y[at];
  });
}

function begin() {
  for (const example of EXAMPLES) {
    const button = html('button', { type: 'button' }, example[0]);
    button.addEventListener('click', () => { fill(example); play(); });
    find('examples').append(button);
  }
  const soon = later(400, play);
  find('game-form').addEventListener('input', soon);
  find('game-form').addEventListener('submit', event => { event.preventDefault(); play(); });
  find('objective').addEventListener('keydown', event => {
    if (event.key === 'Enter' && !event.shiftKey) { event.preventDefault(); play(); }
  });
  find('paths').addEventListener('click', event => {
    if (!current) return;
    const { body } = current;
    const size = find('stage').clientWidth;
    const box = find('paths').getBoundingClientRect();
    const x = scale(MARGIN.left, size - MARGIN.right, ...body.x)(event.clientX - box.left);
    const y = scale(size - MARGIN.bottom, MARGIN.top, ...body.y)(event.clientY - box.top);
    if (!(x >= body.x[0] && x <= body.x[1] && y >= body.y[0] && y <= body.y[1])) return;
    find('x-start').value = +x.toPrecision(4);
    find('y-start').value = +y.toPrecision(4);
    play();
  });
  const again = () => {
    if (!current?.levels || find('game').hidden) return;
    place();
    if (document.documentElement.dataset.game === 'done') draw(current, Infinity);
  };
  new ResizeObserver(again).observe(find('stage'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    if (current?.levels) levels(find('levels'), current.levels.values, current.levels.side);
  });
}

export function shown() {
  if (begun) return;
  begun = true;
  begin();
  play();
}
