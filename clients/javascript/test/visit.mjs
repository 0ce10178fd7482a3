// Visits a page by the DevTools of a browser, as a person would: node --experimental-websocket visit.mjs PORT < steps
// Steps are JSON: [{ run: 'expression' }, { until: 'expression' }, { picture: 'file.png' }]; prints the values of `run`.
import { readFileSync, writeFileSync } from 'node:fs';

const [, , port] = process.argv;
const [{ webSocketDebuggerUrl }] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()).filter(({ type }) => type === 'page');
const socket = new WebSocket(webSocketDebuggerUrl);
const waiting = new Map();
let last = 0;
socket.onmessage = ({ data }) => {
  const { id, result, error } = JSON.parse(data);
  waiting.get(id)?.(error ? { failed: error.message } : result);
};
await new Promise((resolve) => { socket.onopen = resolve; });

const call = (method, params = {}) => new Promise((resolve) => {
  last += 1;
  waiting.set(last, resolve);
  socket.send(JSON.stringify({ id: last, method, params }));
});
async function value(expression) {
  const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
  return result.value;
}

const found = [];
for (const { run, until, picture } of JSON.parse(readFileSync(0, 'utf8'))) {
  if (run) found.push(await value(run));
  if (picture) writeFileSync(picture, Buffer.from((await call('Page.captureScreenshot')).data, 'base64'));
  for (let left = 600; until && !(await value(until)); left -= 1) {
    if (left === 0) throw new Error(`never: ${until}, after ${JSON.stringify(found)}; ${await value('document.body.innerText')}`);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
}
console.log(JSON.stringify(found));
socket.close();
