// The page of `hemera serve --page`: numbers are encrypted in its worker, and the server's answer is decrypted there.
import { Client } from './worker-client.mjs';

const at = (id) => document.getElementById(id);
const size = (bytes) => (bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} KB` : `${(bytes / 1e6).toFixed(1)} MB`);
const countOf = ({ shape }) => shape.reduce((a, b) => a * b, 1);
const digits = 28; // a side of the pictures that are drawn
let client;
let inputs = [];
let rows = [];
let stop;

const told = {
  keys: (done, all) => (done === 0 ? `Makes ${size(all)} of evaluation keys. The secret key stays here.` : ''),
  upload: (done, all) => (done === 0 ? `Sends ${size(all)} of evaluation keys, once.` : ''),
  request: (done) => `Sends ${size(done)} of ciphertexts.`,
  answer: (done) => `Receives ${size(done)} of ciphertexts, and decrypts them.`,
};

function line(text) {
  at('events').append(Object.assign(document.createElement('li'), { textContent: text }));
}

// Runs what a form asks for; what fails is told.
async function asked(work) {
  at('failed').textContent = '';
  try {
    await work();
  } catch (error) {
    at('failed').textContent = `${error.name}: ${error.message}`;
  }
}

async function chosen() {
  const name = at('model').value;
  at('go').disabled = true;
  const found = await client.inputs(name);
  if (name !== at('model').value) return; // another one was chosen meanwhile
  inputs = found;
  at('go').disabled = false;
  const [{ low, high }] = inputs;
  const isPicture = inputs.length === 1 && countOf(inputs[0]) === digits * digits;
  at('drawing').hidden = !isPicture;
  at('numbers').hidden = isPicture;
  const range = low === null ? '' : `, from ${low} to ${high}`;
  at('takes').textContent = isPicture
    ? 'It takes a picture: draw a digit.'
    : `It takes ${inputs.map((each) => `${countOf(each)} numbers (${each.name})`).join(', then ')}${range}.`;
}

// The numbers of each line that has some: a heading is left out.
function parsed(text) {
  const lines = text.split(/\r?\n/).map((each) => each.split(/[,;\s]+/).filter((word) => word !== '').map(Number));
  return lines.filter((each) => each.length > 0 && each.every(Number.isFinite));
}

function given() {
  if (!at('drawing').hidden) {
    const { data } = at('digit').getContext('2d').getImageData(0, 0, digits, digits);
    const [{ low, high }] = inputs;
    const [least, most] = [low ?? 0, high ?? 1];
    return Array.from({ length: digits * digits }, (_, i) => least + ((most - least) * data[4 * i]) / 255);
  }
  const flat = rows[at('row').selectedIndex - 1] ?? parsed(at('values').value).flat();
  if (inputs.length === 1) return flat;
  let end = 0;
  return Object.fromEntries(inputs.map((input) => {
    const begin = end;
    end += countOf(input);
    return [input.name, flat.slice(begin, end)];
  }));
}

function shown({ results, warnings }) {
  const table = document.createElement('table');
  for (const [name, { values }] of Object.entries(results)) {
    values.forEach((value, i) => {
      const row = table.insertRow();
      row.insertCell().textContent = values.length > 1 ? `${name} ${i}` : name;
      row.insertCell().textContent = typeof value === 'number' && !Number.isInteger(value) ? value.toPrecision(5) : String(value);
    });
  }
  at('results').replaceChildren(table);
  warnings.forEach(line);
}

at('open').onsubmit = (event) => {
  event.preventDefault();
  asked(async () => {
    await client?.close();
    client = await Client.connect(new URL('..', globalThis.location.href).href, at('token').value, 'hemera_client.wasm');
    const models = await client.models();
    at('model').replaceChildren(...models.map(({ name, description }) => new Option(description ? `${name}: ${description}` : name, name)));
    if (models.length === 0) throw new Error('the server has no model');
    await chosen();
    at('ask').hidden = false;
  });
};

at('model').onchange = () => asked(chosen);

at('file').onchange = () => asked(async () => {
  rows = parsed(await at('file').files[0].text());
  at('row').replaceChildren(new Option('of the field below'), ...rows.map((each, i) => new Option(`${i + 1}: ${each.slice(0, 6).join(', ')}${each.length > 6 ? ', ...' : ''}`)));
  at('row').selectedIndex = Math.min(1, rows.length);
});

at('ask').onsubmit = (event) => {
  event.preventDefault();
  asked(async () => {
    at('events').replaceChildren();
    at('results').replaceChildren();
    stop = new AbortController();
    at('go').disabled = true;
    at('stop').disabled = false;
    try {
      const begin = performance.now();
      const progress = (what, done, all) => { const text = told[what]?.(done, all); if (text) line(text); };
      const found = await client.predict(at('model').value, given(), { signal: stop.signal, progress });
      line(`The answer is here after ${((performance.now() - begin) / 1000).toFixed(2)} s.`);
      shown(found);
    } finally {
      at('go').disabled = false;
      at('stop').disabled = true;
    }
  });
};

at('stop').onclick = () => stop?.abort();

const pen = at('digit').getContext('2d', { willReadFrequently: true });
function clear() {
  pen.fillStyle = '#000';
  pen.fillRect(0, 0, digits, digits);
}
clear();
at('clear').onclick = clear;
at('digit').onpointermove = ({ buttons, offsetX, offsetY, target }) => {
  if (buttons === 0) return;
  pen.fillStyle = '#fff';
  pen.beginPath();
  pen.arc((offsetX * digits) / target.clientWidth, (offsetY * digits) / target.clientHeight, 1.2, 0, 2 * Math.PI);
  pen.fill();
};
