// Requests to the server, and the message when it has ended.
import { find } from './plot.js';

async function reply(path, options) {
  try {
    const response = await fetch(path, options);
    find('lost').hidden = true;
    return response;
  } catch (error) {
    if (error.name !== 'AbortError') find('lost').hidden = false;
    throw error;
  }
}

/// The JSON of an address; with a body it is posted. A refusal is an object with an `error`.
export async function ask(path, body, signal) {
  return (await send(path, body, signal)).json();
}

function send(path, body, signal) {
  if (body === undefined) return reply(path, { signal });
  const headers = { 'Content-Type': 'application/json' };
  return reply(path, { method: 'POST', headers, body: JSON.stringify(body), signal });
}

/// Posts a body and calls `each` with every line of the response as it arrives. Returns the refusal, if it is one.
export async function stream(path, body, signal, each) {
  const response = await send(path, body, signal);
  if (!response.ok) return response.json();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return null;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) each(JSON.parse(line));
  }
}

/// Calls a function once after a pause, and forgets calls before it.
export function later(pause, act) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(act, pause); };
}
