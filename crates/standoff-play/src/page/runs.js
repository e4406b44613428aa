// Run folders: their list, and the report of the chosen one, drawn again whenever its files change.
import { ask } from './ask.js';
import { find, html } from './plot.js';

const PAUSE = 2000;

let timer = null;
let chosen = null;
let drawn = null;

/// Loads the report behind the one that is visible and swaps them, so that nothing flickers and the place stays.
function draw(name, changed) {
  drawn = { name, changed };
  const box = find('report');
  box.querySelectorAll('.next').forEach(frame => frame.remove());
  const next = html('iframe', { class: 'next', title: `report of ${name}`, src: `run?${encodeURIComponent(name)}` });
  next.addEventListener('load', () => {
    if (!next.classList.contains('next')) return;
    const old = box.querySelector('iframe:not(.next)');
    if (old && old.title === next.title) next.contentWindow.scrollTo(0, old.contentWindow.scrollY);
    next.classList.remove('next');
    old?.remove();
    document.documentElement.dataset.report = `${name} ${changed}`;
  });
  box.append(next);
}

async function look() {
  clearTimeout(timer);
  try {
    const found = await ask('runs');
    const list = found.runs.map(({ name, live }) => {
      const button = html('button', { type: 'button', 'aria-current': name === chosen }, html('span', {}, name), ...(live ? [html('span', { class: 'live' }, 'live')] : []));
      button.addEventListener('click', () => { chosen = name; look(); });
      return html('li', {}, button);
    });
    const focused = [...find('run-list').querySelectorAll('button')].indexOf(document.activeElement);
    find('run-list').replaceChildren(...list);
    if (focused >= 0) find('run-list').querySelectorAll('button')[focused]?.focus();
    if (!chosen && found.runs.length) chosen = found.runs[0].name;
    if (!found.runs.length) {
      find('runs-about').replaceChildren(`There are no runs in ${found.folder}. Start one, `, html('code', {}, 'standoff fair'), ', and watch it here; or name another folder with ', html('code', {}, 'standoff play --runs DIR'), '.');
    }
    const now = found.runs.find(run => run.name === chosen);
    if (now && (drawn?.name !== now.name || drawn.changed !== now.changed)) draw(now.name, now.changed);
    list.forEach(item => { const name = item.querySelector('span').textContent; item.firstChild.setAttribute('aria-current', name === chosen); });
  } catch (error) {
    // The message is on the page; the server may come back.
  }
  if (!find('runs').hidden) timer = setTimeout(look, PAUSE);
}

export function shown() {
  look();
}

export function left() {
  clearTimeout(timer);
}
