'use strict';
// Values under the pointer, tables that sort, figures that can be saved. The page is complete without.
const tip = document.createElement('div');
tip.className = 'tip';
tip.hidden = true;
document.body.append(tip);

const shown = v => Math.abs(v) >= 1e5 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(3) : String(+v.toPrecision(5));

function scale(text) {
  const [kind, ...ends] = text.split(' ');
  const [from, to, first, last] = ends.map(Number);
  const of = kind === 'log' ? Math.log : v => v;
  return v => first + (of(Math.min(Math.max(v, from), to)) - of(from)) / (of(to) - of(from)) * (last - first);
}

function watch(figure) {
  const svg = figure.querySelector('svg');
  const [x, y] = [scale(svg.dataset.x), scale(svg.dataset.y)];
  const points = [];
  for (const [name, look, values] of JSON.parse(figure.dataset.lines)) {
    for (let i = 0; i < values.length; i += 2) {
      if (values[i] !== null && values[i + 1] !== null) {
        points.push({ name, look, u: values[i], v: values[i + 1], at: [x(values[i]), y(values[i + 1])] });
      }
    }
  }
  svg.querySelectorAll('title').forEach(title => title.remove());
  const spot = document.createElementNS(svg.namespaceURI, 'circle');
  spot.setAttribute('r', 5);
  const leave = () => { tip.hidden = true; spot.remove(); };
  const move = event => {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let [best, near] = [null, Infinity];
    for (const point of points) {
      const far = Math.hypot(point.at[0] - place.x, point.at[1] - place.y);
      if (far < near) [best, near] = [point, far];
    }
    if (!best) return leave();
    spot.setAttribute('class', 'spot ' + best.look);
    spot.setAttribute('cx', best.at[0]);
    spot.setAttribute('cy', best.at[1]);
    svg.append(spot);
    tip.textContent = `${best.name}\n${figure.dataset.x}: ${shown(best.u)}\n${figure.dataset.y}: ${shown(best.v)}`;
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - tip.offsetWidth - 4);
    const top = event.clientY - tip.offsetHeight - 12;
    tip.style.left = Math.max(4, left) + 'px';
    tip.style.top = (top < 4 ? event.clientY + 18 : top) + 'px';
  };
  svg.addEventListener('pointermove', move);
  svg.addEventListener('pointerdown', move);
  svg.addEventListener('pointerleave', leave);
}

function save(figure) {
  const drawn = figure.querySelector('svg').cloneNode(true);
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'save as SVG';
  button.addEventListener('click', () => {
    const copy = drawn.cloneNode(true);
    const style = document.createElementNS(copy.namespaceURI, 'style');
    style.textContent = document.getElementById('plot-style').textContent;
    copy.prepend(style);
    const text = '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(copy);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
    link.download = copy.getAttribute('aria-label').toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, 60) + '.svg';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  figure.querySelector('figcaption').append(button);
}

function sortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const sort = () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      heads.forEach(other => other.setAttribute('aria-sort', 'none'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const key = row => row.cells[column].firstChild ? row.cells[column].firstChild.textContent.replace(/,/g, '').trim() : '';
      const compare = (a, b) => {
        const [p, q] = [key(a), key(b)];
        const [m, n] = [parseFloat(p), parseFloat(q)];
        // What is no number stands last in either order.
        if (isNaN(m) !== isNaN(n)) return isNaN(m) ? 1 : -1;
        return (up ? 1 : -1) * (isNaN(m) ? p.localeCompare(q) : m - n);
      };
      body.append(...[...body.rows].sort(compare));
    };
    head.setAttribute('aria-sort', 'none');
    head.tabIndex = 0;
    head.addEventListener('click', sort);
    head.addEventListener('keydown', event => { if (event.key === 'Enter') sort(); });
  });
}

document.querySelectorAll('figure[data-lines]').forEach(figure => { save(figure); watch(figure); });
document.querySelectorAll('table.sorts').forEach(sortable);
document.documentElement.dataset.ready = 'yes';
