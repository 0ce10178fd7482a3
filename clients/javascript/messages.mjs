// Files with a header of JSON, and the messages of an encrypted search: hemera.search.wire describes them.

import { hex, refuse } from './served.mjs';

const magic = '\x89HEMSEARCH\r\n\x1a\n\0\0';
const begin = 24;
const digestBytes = 32;

const sha256 = async (bytes) => new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', bytes));

function joined(pieces) {
  const whole = new Uint8Array(pieces.reduce((all, each) => all + each.length, 0));
  let at = 0;
  for (const each of pieces) {
    whole.set(each, at);
    at += each.length;
  }
  return whole;
}

const length = (count) => new Uint8Array(BigUint64Array.of(BigInt(count)).buffer);

/** A file or message: a magic of 16 bytes, a header of JSON behind its length, a body, and the SHA-256 of all. */
export async function framed(signature, header, ...parts) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const before = joined([Uint8Array.from(signature, (each) => each.charCodeAt(0)), length(text.length), text, ...parts]);
  return joined([before, await sha256(before)]);
}

/** Header and body of such a file. `digested`: the bytes whose SHA-256 it ends with. FormatError. */
export async function unframed(signature, what, data, digested) {
  const damaged = (why) => refuse('FormatError', `the ${what} is damaged: ${why}`);
  if (data.length < begin + digestBytes || [...signature].some((each, i) => data[i] !== each.charCodeAt(0))) {
    damaged('it does not begin as one, or is cut off');
  }
  const size = Number(new DataView(data.buffer, data.byteOffset).getBigUint64(begin - 8, true));
  if (size > data.length - begin - digestBytes) damaged('it is cut off');
  const before = data.subarray(0, -digestBytes);
  const body = before.subarray(begin + size);
  let header;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data.subarray(begin, begin + size)));
  } catch {
    damaged('its header is no JSON');
  }
  if (header === null || typeof header !== 'object') damaged('its header is no object');
  const found = await digested(before, header, body);
  if (found === null || hex(await sha256(found)) !== hex(data.subarray(-digestBytes))) damaged('its checksum does not fit');
  return { header, body };
}

/** The bytes of a message. */
export const pack = (kind, header, ...parts) => framed(magic, { version: 1, kind, ...header }, ...parts);

/** The name by which an answer names its query. */
export const nameOf = async (query) => hex(await sha256(query)).slice(0, 32);

/** Header and body of an answer of this kind to the query of a name. FormatError, MismatchError. */
export async function unpack(hemera, kind, data, settings, name) {
  const what = `${kind} of a search`;
  const { header, body } = await unframed(magic, what, data, (before, { parts, version }, all) => {
    if (version !== 3 || !Array.isArray(parts)) return before;
    // The checksums of 64 KiB each: of all before the body, and of each part.
    const ends = [0];
    for (const each of parts) ends.push(ends.at(-1) + (Number.isSafeInteger(each) && each >= 0 ? each : NaN));
    if (ends.at(-1) !== all.length) return null;
    const pieces = parts.map((_, i) => all.subarray(ends[i], ends[i + 1]));
    return joined([before.subarray(0, before.length - all.length), ...pieces].map((each) => hemera.checksums(each)));
  });
  if (header.kind !== kind || ![1, 3].includes(header.version)) {
    refuse('FormatError', `the ${what} is the ${header.kind} of version ${header.version}: take a newer client`);
  }
  if (header.settings !== settings) refuse('MismatchError', `the ${what} is for other settings: connect anew`);
  if (header.query !== name) refuse('MismatchError', `the ${what} belongs to another query`);
  return { header, body };
}

/** Ciphertexts as parts of a message, each behind its length. */
export const packCiphertexts = (files) => files.flatMap((each) => [length(each.length), each]);

/** So many ciphertexts of a body, and the rest of it. */
export function takeCiphertexts(body, count) {
  const files = [];
  let rest = body;
  for (let i = 0; i < count; i += 1) {
    const size = rest.length < 8 ? Infinity : Number(new DataView(rest.buffer, rest.byteOffset).getBigUint64(0, true));
    if (size > rest.length - 8) refuse('FormatError', 'the answer of a search lacks ciphertexts');
    files.push(rest.subarray(8, 8 + size));
    rest = rest.subarray(8 + size);
  }
  return { files, rest };
}

/** Ids of rows; -1 where there is no row. RangeError for those that no number of JavaScript holds. */
export function idsOf(bytes) {
  return Array.from(new BigInt64Array(bytes.slice().buffer), (each) => {
    if (each > BigInt(Number.MAX_SAFE_INTEGER)) refuse('RangeError', `the row ${each} has an id above 2^53: use hm.Client, or give other ids`);
    return Number(each);
  });
}
