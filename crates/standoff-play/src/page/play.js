// The frame: tabs, requests, and the message when the server has ended.
import { find } from './plot.js';
import * as game from './game.js';
import * as digit from './digit.js';
import * as runs from './runs.js';

const PARTS = { game, digit, runs };

function show(name) {
  for (const part of Object.keys(PARTS)) {
    find(part).hidden = part !== name;
    find(`tab-${part}`).setAttribute('aria-selected', part === name);
    find(`tab-${part}`).tabIndex = part === name ? 0 : -1;
  }
  PARTS[name].shown();
  for (const [part, own] of Object.entries(PARTS)) if (part !== name) own.left?.();
}

const wanted = () => { const name = location.hash.slice(1); return name in PARTS ? name : 'game'; };

const tabs = [...document.querySelectorAll('[role=tab]')];
tabs.forEach((tab, place) => {
  tab.addEventListener('click', () => { location.hash = tab.getAttribute('aria-controls'); });
  tab.addEventListener('keydown', event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(place + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
});
addEventListener('hashchange', () => show(wanted()));
show(wanted());
document.documentElement.dataset.ready = 'yes';
