// A client that knows the server's OpenAPI document and nothing else: node document_client.mjs URL TOKEN MODEL KEYS REQUEST
// Writes the answer's body to standard output.
import { readFileSync } from "node:fs";

const [place, token, model, keys, request] = process.argv.slice(2);
const response = await fetch(place);
const document = await response.json();
const folder = new URL(document.servers[0].url, place);
const operations = {};
for (const [path, ways] of Object.entries(document.paths))
  for (const [method, operation] of Object.entries(ways)) operations[operation.operationId] = { path, method, ...operation };

function resolved(schema) {
  return schema.$ref ? schema.$ref.slice(2).split("/").reduce((at, name) => at[name], document) : schema;
}

// The answer of an operation, which has a status, headers and a body that the document tells.
async function ask(name, parameters, body) {
  const operation = operations[name];
  const path = operation.path.replace(/{(\w+)}/g, (_, key) => encodeURIComponent(parameters[key]));
  const headers = {};
  for (const way of operation.security ?? [])
    for (const scheme of Object.keys(way)) {
      const told = document.components.securitySchemes[scheme];
      if (told.type !== "http" || told.scheme !== "bearer") throw new Error(`security ${scheme}`);
      headers.Authorization = `Bearer ${token}`;
    }
  for (const each of operation.parameters.filter((each) => each.in === "header"))
    if (parameters[each.name]) headers[each.name] = parameters[each.name];
  if (body) [headers["Content-Type"]] = Object.keys(operation.requestBody.content);
  const answer = await fetch(new URL(path.slice(1), folder), { method: operation.method.toUpperCase(), headers, body });
  const told = operation.responses[answer.status];
  if (!told) throw new Error(`${name}: status ${answer.status}`);
  const kind = answer.headers.get("content-type");
  const media = Object.entries(told.content ?? {}).find(([type]) => kind.startsWith(type));
  if (!media) throw new Error(`${name}: ${kind}`);
  for (const [header, { schema }] of Object.entries(told.headers)) {
    const value = answer.headers.get(header);
    if (value !== null && schema.pattern && !new RegExp(schema.pattern).test(value)) throw new Error(`${name}: ${header}`);
  }
  if (kind !== "application/json") return { status: answer.status, headers: answer.headers, bytes: await answer.arrayBuffer() };
  const json = await answer.json();
  const schema = resolved(media[1].schema);
  for (const field of schema.required)
    if (!(field in json)) throw new Error(`${name}: no ${field}`);
  const codes = schema.properties.error?.properties.code.enum;
  if (codes && !codes.includes(json.error.code)) throw new Error(`${name}: code ${json.error.code}`);
  return { status: answer.status, headers: answer.headers, json };
}

const listed = await ask("entries_models", {});
const { digest } = listed.json.models.find(({ name }) => name === model);
const early = await ask("evaluate_models", { model }, readFileSync(request));
const kept = await ask("put_keys_models", { model, "Hemera-Model": digest }, readFileSync(keys));
const changed = await ask("evaluate_models", { model, "Hemera-Model": "0".repeat(64) }, readFileSync(request));
const nonce = "0123456789abcdef0123456789abcdef";
const answer = await ask("evaluate_models", { model, "Hemera-Model": digest, "Hemera-Nonce": nonce }, readFileSync(request));
const statuses = [early, kept, changed, answer].map(({ status }) => status).join();
const codes = [early, changed].map(({ json }) => json.error.code).join();
if (statuses !== "409,201,409,200" || codes !== "no_keys,model_changed") throw new Error(`${statuses} ${codes}`);
if (answer.headers.get("Hemera-Keys") !== kept.json.digest || answer.headers.get("Hemera-Nonce") !== nonce)
  throw new Error("headers");
process.stdout.write(Buffer.from(answer.bytes));
