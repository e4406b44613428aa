// A drawn digit: the answer of the network, the bracket of eps, and the attack at the eps of the slider.
import { ask, later } from './ask.js';
import { find, html, scale, svg, ticks } from './plot.js';

const SIDE = 28;

let network = null;
let begun = false;
/// Strokes in shares of the canvas; the pixels that the network sees; its bracket; the requests under way.
let strokes = [];
let pixels = null;
let bracket = null;
let asked = null;
let attacking = null;
let shownMargins = null;

const eps = () => find('eps-slider').valueAsNumber;

/// Strokes as an image like those of MNIST: the digit fits into 20 x 20 pixels, and its centre of mass is in the middle.
function rasterised() {
  const points = strokes.flat();
  const [xs, ys] = [points.map(p => p[0]), points.map(p => p[1])];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [width, height] = [Math.max(...xs) - left, Math.max(...ys) - top];
  const size = Math.max(width, height, 0.15);
  const factor = 17.5 / size;
  const draw = (dx, dy) => {
    const canvas = html('canvas', { width: SIDE, height: SIDE });
    const context = canvas.getContext('2d', { willReadFrequently: true });
    context.fillRect(0, 0, SIDE, SIDE);
    Object.assign(context, { strokeStyle: '#fff', lineWidth: 2.5, lineCap: 'round', lineJoin: 'round' });
    for (const stroke of strokes) {
      context.beginPath();
      const place = ([x, y]) => [(x - left - width / 2) * factor + SIDE / 2 + dx, (y - top - height / 2) * factor + SIDE / 2 + dy];
      context.moveTo(...place(stroke[0]));
      for (const point of stroke.length > 1 ? stroke.slice(1) : stroke) context.lineTo(...place(point));
      context.stroke();
    }
    const data = context.getImageData(0, 0, SIDE, SIDE).data;
    return Array.from({ length: SIDE * SIDE }, (_, i) => data[4 * i]);
  };
  const first = draw(0, 0);
  const mass = first.reduce((a, b) => a + b, 0) || 1;
  const mean = of => first.reduce((sum, v, i) => sum + v * of(i), 0) / mass;
  const limit = v => Math.min(Math.max(v, -4), 4);
  return draw(limit(13.5 - mean(i => i % SIDE)), limit(13.5 - mean(i => Math.floor(i / SIDE))));
}

/// Draws an image of bytes into a canvas of 28 x 28, with a colour for each byte.
function paint(canvas, values, of = v => [v, v, v]) {
  const context = canvas.getContext('2d');
  const image = context.createImageData(SIDE, SIDE);
  values.forEach((v, i) => image.data.set([...of(v), 255], 4 * i));
  context.putImageData(image, 0, 0);
}

/// Shows the strokes, or the test image.
function ink() {
  const canvas = find('canvas');
  const context = canvas.getContext('2d');
  context.fillStyle = '#000';
  context.fillRect(0, 0, canvas.width, canvas.height);
  if (strokes.length) {
    Object.assign(context, { strokeStyle: '#fff', lineWidth: 0.075 * canvas.width, lineCap: 'round', lineJoin: 'round' });
    for (const stroke of strokes) {
      context.beginPath();
      context.moveTo(stroke[0][0] * canvas.width, stroke[0][1] * canvas.height);
      for (const [x, y] of stroke) context.lineTo(x * canvas.width, y * canvas.height);
      context.stroke();
    }
  } else if (pixels) {
    paint(find('seen'), pixels);
    context.imageSmoothingEnabled = false;
    context.drawImage(find('seen'), 0, 0, canvas.width, canvas.height);
  } else {
    context.fillStyle = '#888';
    context.font = '36px system-ui, sans-serif';
    context.textAlign = 'center';
    context.fillText('draw a digit', canvas.width / 2, canvas.height / 2);
  }
}

function fail(text) {
  find('digit-error').textContent = text;
  find('digit-error').hidden = false;
  document.documentElement.dataset.digit = 'error';
}

/// A new image: asks for its bracket, then for the attack at the eps of the slider.
async function judge(image) {
  asked?.abort();
  attacking?.abort();
  const own = asked = new AbortController();
  pixels = image;
  bracket = null;
  ink();
  paint(find('seen'), pixels);
  find('bracket').classList.add('waiting');
  find('verdict').textContent = 'Proving and attacking \u2026';
  document.documentElement.dataset.digit = 'asked';
  try {
    const found = await ask('bracket', { pixels }, own.signal);
    if (own !== asked) return;
    if (found.error) return fail(found.error);
    find('digit-error').hidden = true;
    bracket = found;
    find('reading').textContent = found.answer;
    find('chance').textContent = `(${(100 * found.chances[found.answer]).toFixed(0)} of 100 by its own measure)`;
    zones();
    attack();
  } catch (error) {
    if (error.name !== 'AbortError') fail('The server did not answer.');
  }
}

function zones() {
  const share = v => `${100 * v / network.largest}%`;
  const proven = bracket.proven ?? 0;
  const broken = bracket.broken ?? network.largest;
  find('bracket').classList.remove('waiting');
  find('zone-proven').style.width = share(proven);
  find('zone-open').style.width = share(broken - proven);
  verdict();
}

/// What is known at the eps of the slider.
function state() {
  if (bracket.proven !== null && eps() <= bracket.proven) return 'proven';
  return bracket.broken !== null && eps() >= bracket.broken ? 'broken' : 'undecided';
}

function verdict() {
  if (!bracket) return;
  const at = eps().toFixed(3);
  const now = state();
  const say = {
    proven: `No change of at most ${at} per pixel makes the network read anything but ${bracket.answer}. Proven up to ${bracket.proven?.toFixed(3)}.`,
    broken: `An image at distance ${bracket.broken?.toFixed(3)} is read as ${bracket.read_as}: this answer cannot be trusted.`,
    undecided: `The proof ends at ${(bracket.proven ?? 0).toFixed(3)}, and ${bracket.broken === null ? 'no attack up to 0.5 succeeds' : `attacks succeed from ${bracket.broken.toFixed(3)}`}. In between nothing is known.`,
  };
  find('verdict').replaceChildren(html('b', { class: now }, `At ${at}: ${now}. `), say[now]);
}

/// The attack at the eps of the slider.
async function attack() {
  if (!bracket) return;
  attacking?.abort();
  const own = attacking = new AbortController();
  document.documentElement.dataset.digit = 'attacking';
  try {
    const found = await ask('attack', { pixels, eps: eps() }, own.signal);
    if (own !== attacking) return;
    if (found.error) return fail(found.error);
    find('digit-error').hidden = true;
    paint(find('attacked'), found.picture);
    find('attacked-caption').textContent = found.broken ? `the attack: read as ${found.read_as}` : `the attack fails: still ${found.answer}`;
    paint(find('change'), found.picture.map((v, i) => v - pixels[i]), v => v > 0 ? [v * 2, v, 0] : [0, -v, -v * 2]);
    shownMargins = found;
    margins(found);
    document.documentElement.dataset.attacked = found.eps;
    document.documentElement.dataset.digit = 'done';
  } catch (error) {
    if (error.name !== 'AbortError') fail('The server did not answer.');
  }
}

/// For each other digit a bar from what attacks reach to what is proven.
function margins(found) {
  const target = find('margins');
  const width = target.clientWidth || 600;
  const [left, right, row, top] = [26, 120, 25, 4];
  const others = found.bounds.map((bound, digit) => ({ digit, bound, reached: found.reached[digit] })).filter(o => o.digit !== found.answer);
  const values = others.flatMap(o => [o.bound, o.reached]);
  const [least, most] = [Math.min(...values, -1), Math.max(...values, 1)];
  const x = scale(least, most, left + 12, width - right);
  const bottom = top + row * others.length;
  const parts = ticks(least, most, Math.max(2, width / 110)).flatMap(v => [
    svg('line', { class: v === 0 ? 'zero' : 'grid', x1: x(v), x2: x(v), y1: top, y2: bottom }),
    svg('text', { x: x(v), y: bottom + 16, 'text-anchor': 'middle' }, String(v)),
  ]);
  others.forEach(({ digit, bound, reached }, place) => {
    const middle = top + row * (place + 0.5);
    const [kind, text] = bound < 0 ? ['safe', 'cannot win'] : reached > 0 ? ['lost-to', 'wins'] : ['unsure', 'unknown'];
    parts.push(svg('text', { class: 'strong', x: 8, y: middle + 4 }, String(digit)));
    parts.push(svg('rect', { class: kind, x: x(reached), y: middle - 6, width: Math.max(1, x(bound) - x(reached)), height: 12, rx: 3 }));
    parts.push(svg('circle', { class: 'dot', cx: x(reached), cy: middle, r: 5 }));
    parts.push(svg('text', { x: width - right + 14, y: middle + 4 }, text));
  });
  target.replaceChildren(...parts);
}

async function sample() {
  if (!network?.images) return;
  const number = Math.floor(Math.random() * network.images);
  show(await ask(`sample?${number}`), number);
}

function show(image, number) {
  if (image.error) return fail(image.error);
  strokes = [];
  find('origin').textContent = `Test image ${number} of MNIST, a ${image.label}. Draw over it to begin your own.`;
  judge(image.pixels);
}

function drawing() {
  const canvas = find('canvas');
  const finished = later(250, () => { if (strokes.length) judge(rasterised()); });
  let stroke = null;
  const at = event => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };
  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId);
    stroke = [at(event)];
    strokes.push(stroke);
    pixels = null;
    find('origin').textContent = 'Your digit is centred and scaled like those of MNIST.';
    ink();
  });
  canvas.addEventListener('pointermove', event => {
    if (!stroke) return;
    stroke.push(at(event));
    ink();
  });
  const end = () => { if (stroke) { stroke = null; finished(); } };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
}

async function begin() {
  drawing();
  new ResizeObserver(() => { if (shownMargins && !find('digit').hidden) margins(shownMargins); }).observe(find('margins'));
  const soon = later(120, attack);
  find('eps-slider').addEventListener('input', () => { verdict(); soon(); });
  find('clear').addEventListener('click', () => {
    asked?.abort();
    attacking?.abort();
    [strokes, pixels, bracket] = [[], null, null];
    find('origin').textContent = '';
    find('reading').textContent = '?';
    find('chance').textContent = '';
    find('verdict').textContent = '';
    ['zone-proven', 'zone-open'].forEach(id => { find(id).style.width = '0'; });
    find('bracket').classList.add('waiting');
    shownMargins = null;
    find('margins').replaceChildren();
    ['seen', 'attacked', 'change'].forEach(id => paint(find(id), new Array(SIDE * SIDE).fill(0)));
    ink();
  });
  find('sample').addEventListener('click', () => sample().catch(() => {}));
  try {
    network = await ask('network');
    if (network.error) return fail(network.error);
    find('network').replaceChildren('The network is ', html('code', {}, network.model), ` (${network.parameters.toLocaleString('en')} parameters, trained with interval bounds for eps 0.3), which `,
      html('code', {}, 'standoff examples'), ` writes. Proofs: interval bounds that include rounding. Attacks: ${network.attacks.join(', ')}.`);
    if (network.images) show(await ask('sample?0'), 0); else ink();
  } catch (error) {
    fail('The server did not answer.');
  }
}

export function shown() {
  if (begun) return;
  begun = true;
  begin();
}
