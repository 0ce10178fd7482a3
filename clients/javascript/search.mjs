// The client's side of an index: hemera.search.maps describes what the server tells of it, docs/search.md what it does.

import { idsOf, nameOf, pack, packCiphertexts, takeCiphertexts, unpack } from './messages.mjs';
import { Served, flattened, refuse, words } from './served.mjs';

const doubt = 2 ** -14; // a row whose 0 or 1 is further off is within the margin
const countDoubt = 2 ** -5;

export class Index extends Served {
  static kinds = 'indexes';

  constructor(hemera, name, path, maps, security, given) {
    if (maps.owner && !given) refuse('ParameterError', `only the key of its owner reads the encrypted index ${name}: give secretKey`);
    super(hemera, name, path, maps, security, given);
    this.hemera = hemera;
    this.route = 'query';
    this.answers = ['answer'];
    this.entries = maps.slots ? words(maps.slots.entries) : null;
  }

  /** `ask`: a function from messages to their answers. Of Client.search. */
  async search(x, { k, threshold, payloads }, ask) {
    const { kind, slots } = this.maps;
    const several = Array.isArray(x) && (Array.isArray(x[0]) || ArrayBuffer.isView(x[0]));
    const queries = (several ? x : [x]).map((each) => this.#query(each));
    if (k !== null && !(Number.isSafeInteger(k) && k >= 1)) refuse('ParameterError', `k must be 1 or more, not ${k}`);
    if (threshold !== undefined && kind !== 'threshold') refuse('ParameterError', `threshold is for an index with thresholds, and ${this.name} is none`);
    if (payloads && !slots?.payload) refuse('ParameterError', `the rows of ${this.name} have no payloads`);
    if (k === null && slots && threshold === undefined) refuse('ParameterError', 'k: null is for scores; give k or a threshold');
    const want = payloads ? 'payloads' : 'mask';
    let found;
    if (!slots) found = await this.#scores(queries, k, ask);
    else if (kind === 'top') found = await this.#compared(queries.map((query) => ({ query, want, rank: k })), ask);
    else if (threshold !== undefined) found = await this.#compared(queries.map((query) => ({ query, want, levels: this.#relative([threshold], query) })), ask);
    else {
      found = [];
      let failed = null; // told when all queries are sent
      for (const query of queries) {
        try {
          found.push(await this.#top(query, k, want, ask));
        } catch (error) {
          if (error.name !== 'NoiseError') throw error;
          failed ??= error;
        }
      }
      if (failed !== null) throw failed;
    }
    return several ? found : found[0];
  }

  /** Of Client.count. */
  async count(x, thresholds, ask) {
    if (this.maps.kind !== 'threshold') refuse('ParameterError', `${this.name} is no index with thresholds`);
    const single = typeof thresholds === 'number';
    const query = this.#query(x);
    const levels = this.#relative(single ? [thresholds] : flattened(thresholds), query);
    if (levels.length === 0) refuse('ParameterError', 'count takes one threshold at least');
    const most = this.maps.queries * this.maps.slots.copies;
    const asked = [];
    for (let at = 0; at < levels.length; at += most) asked.push({ query, want: 'count', levels: levels.slice(at, at + most) });
    const found = (await this.#compared(asked, ask)).flat();
    return single ? found[0] : found;
  }

  /** A query's numbers and norm. MismatchError, RangeError, ParameterError. */
  #query(given) {
    const { dims, metric, norms } = this.maps;
    const x = Float64Array.from(flattened(given), Number);
    if (x.length !== dims) refuse('MismatchError', `a query has ${dims} numbers, not ${x.length}`);
    if (!x.every(Number.isFinite)) refuse('RangeError', 'the query has numbers that are not finite');
    const largest = x.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
    const norm = largest * Math.sqrt(x.reduce((all, each) => all + (each / (largest || 1)) ** 2, 0));
    if (norm === 0 && metric === 'cosine') refuse('ParameterError', 'a query of zeros has no cosine with anything');
    if (norm !== 0 && norms && !(norm > norms[0] && norm < norms[1])) {
      refuse('RangeError', `scores of a query of norm ${norm} are no doubles: multiply vectors and queries by a number that brings them near to 1`);
    }
    return { x, norm };
  }

  // --- Scores. ---

  #integers({ x, norm }) {
    const { exact, largest, factor } = this.maps.scores;
    if (!exact) return Array.from(x, (each) => BigInt(Math.round((each / (norm || 1)) * factor)));
    const other = x.find((each) => !Number.isInteger(each) || Math.abs(each) > largest);
    if (other !== undefined) refuse('RangeError', `with exact scores queries are integers up to ${largest}, not ${other}: make the index with query_bound`);
    return Array.from(x, BigInt);
  }

  async #scores(queries, k, ask) {
    const { dims, settings, scores: { shift } } = this.maps;
    const requests = [];
    for (let at = 0; at < queries.length; at += this.maps.queries) {
      const asked = queries.slice(at, at + this.maps.queries);
      const integers = BigInt64Array.from(asked.flatMap((each) => this.#integers(each)));
      const message = await pack('query', { settings, count: asked.length }, this.secret.encryptQueries(integers, dims, shift));
      requests.push({ asked, message });
    }
    const answers = await ask(requests.map(({ message }) => message));
    const found = [];
    for (const [i, { asked, message }] of requests.entries()) found.push(...await this.#readScores(answers[i], message, asked, k));
    return found;
  }

  /** The best rows of each query: { scores, ids }. */
  async #readScores(answer, message, asked, k) {
    const { metric, owner, settings, scores: own } = this.maps;
    const { header: { rows, count, has_ids: named, parts }, body } = await unpack(
      this.hemera, owner ? 'encrypted answer' : 'answer', answer, settings, await nameOf(message));
    const { degree } = this.context.describe();
    const half = Math.ceil(rows / degree) * degree * own.kept_bytes;
    const squared = metric === 'l2';
    const squares = owner ? [0, squared ? half : 0, squared ? half : 0] : [squared ? 4 * rows : 0];
    const sizes = [count * half, count * half, named ? 8 * rows : 0, ...squares];
    if (count !== asked.length || !Number.isSafeInteger(rows) || rows < 1 || String(parts) !== String(sizes)) {
      refuse('FormatError', `the answer to ${asked.length} queries has parts of ${parts} bytes, and not ${sizes}`);
    }
    const ends = sizes.reduce((all, each) => [...all, all.at(-1) + each], [0]);
    const integers = (from, to, of) => this.secret.decryptScores(body.subarray(ends[from], ends[to]), of, own.dropped_bits, own.kept_bytes);
    const found = integers(0, 2, count);
    const ids = named ? idsOf(body.subarray(ends[2], ends[3])) : Array.from({ length: rows }, (_, i) => i);
    const places = ids.flatMap((id, place) => (id >= 0 ? [place] : []));
    let known = null; // squared norms of rows' integers
    if (squared && owner) {
      known = Array.from(integers(4, 6, 1), Number);
      this.#requireBelow(known, own.square_bound);
      known = known.map((each) => each / own.square_scale);
    } else if (squared) known = new Uint32Array(body.slice(ends[3], ends[4]).buffer);
    const all = found.length / count;
    return asked.map(({ norm }, i) => {
      const of = Array.from(found.subarray(i * all, (i + 1) * all), Number);
      this.#requireBelow(of, own.bound * (own.exact ? norm : 1) + own.noise);
      const score = (place) => {
        const cosine = of[place] / (own.answer_scale * own.scale);
        if (metric === 'cosine') return cosine;
        const product = own.exact ? Math.round(cosine) : cosine * norm;
        if (metric === 'dot') return product;
        const square = known[place] / own.scale / own.scale;
        return (own.exact ? Math.round(square) : square) - 2 * product + (own.exact ? Math.round(norm ** 2) : norm ** 2);
      };
      let best = places.map((place) => ({ id: ids[place], score: score(place) }));
      if (k !== null) best = best.sort((a, b) => (squared ? a.score - b.score : b.score - a.score)).slice(0, k);
      return { ids: best.map(({ id }) => id), scores: best.map((each) => (squared ? Math.max(0, each.score) : each.score)) };
    });
  }

  /** NoiseError where numbers of an answer are larger than any row has. */
  #requireBelow(numbers, bound) {
    if (!numbers.every((each) => Math.abs(each) <= bound)) {
      refuse('NoiseError', 'the answer has scores that no row can have: it was made with the keys of another client, or the server computed something else');
    }
  }

  // --- Comparisons. ---

  /** Scores as numbers from -1 to 1. RangeError for other thresholds than a score may be. */
  #relative(scores, { norm }) {
    const { metric, slots: { row_bound: bound } } = this.maps;
    return scores.map((score) => {
      let found = score;
      if (metric === 'dot') found = score / (bound * (norm || 1));
      if (metric === 'l2') found = (norm ** 2 - score) / (bound * (2 * norm + bound));
      if (!Number.isFinite(found) || (metric === 'cosine' && Math.abs(found) > 1)) refuse('RangeError', `a threshold is a finite number, of cosines from -1 to 1, not ${score}`);
      return found;
    });
  }

  /** The message of a query: with the levels, from -1 to 1, of thresholds, or with a rank. */
  async #message({ query: { x, norm }, want, levels, rank }) {
    const { kind, metric, settings, slots: { levels: [top, below], row_bound: bound, parts, rows, copies, ranked_rows: all } } = this.maps;
    const count = this.entries.length;
    const squared = metric === 'l2';
    const factor = bound / (2 * norm + bound);
    const slots = new Float64Array(squared ? 2 * count : count);
    this.entries.forEach((entry, i) => {
      if (entry >= 0) slots[i] = squared ? x[entry] * (factor / bound) : x[entry] / (norm || 1) / 2;
    });
    if (squared) slots.fill(-factor / (2 * parts), count);
    // Scores of 0 are far from thresholds at either end.
    const beyond = (levels ?? []).filter((each) => Math.abs(each) > 1 + 2 ** -14).length;
    if (beyond > 0 && beyond < levels.length) refuse('RangeError', `${beyond} thresholds are beyond all scores; ask for them by themselves`);
    if (beyond > 0) slots.fill(0);
    const ciphertexts = levels ? Math.ceil(levels.length / copies) : 0;
    const compared = new Float64Array(Math.max(1, ciphertexts) * count);
    if (!levels) compared.fill((Math.min(rank, all) - 0.5) / all);
    else compared.forEach((_, i) => { compared[i] = Math.min(1, Math.max(-1, levels[Math.min(Math.floor(i / rows), levels.length - 1)])) / 2; });
    const files = [
      this.secret.encrypt(slots, { rows: squared ? 2 : 1, level: top }),
      this.secret.encrypt(compared, { rows: ciphertexts, level: below }),
    ];
    return pack(`${kind} query`, { settings, want, ...(levels ? { thresholds: levels.length } : {}) }, ...packCiphertexts(files));
  }

  /** The results of queries; all requests come before the first decryption. */
  async #compared(asked, ask) {
    const messages = [];
    for (const each of asked) messages.push(await this.#message(each));
    const answers = await ask(messages);
    const found = [];
    for (const [i, each] of asked.entries()) found.push(await this.#readMatches(answers[i], messages[i], each));
    return found;
  }

  /** { ids, doubtful, payloads } of an answer, or the counts of thresholds. */
  async #readMatches(answer, message, { want, levels }) {
    const { kind, settings, slots: { rows, copies, stride, payload, payload_bound: bound, ...own } } = this.maps;
    const { header, body } = await unpack(this.hemera, `${kind} answer`, answer, settings, await nameOf(message));
    const { files, rest } = takeCiphertexts(body, want === 'payloads' ? 2 : 1);
    const count = this.entries.length;
    const blocks = want === 'count' ? Math.ceil(levels.length / copies) : own.blocks ?? header.blocks;
    const wide = Math.ceil(payload / copies); // ciphertexts of payloads in a block
    const [found, numbers] = files.map((each) => this.secret.decrypt(each));
    const places = want === 'count' ? 0 : (blocks * rows) / stride;
    if (header.want !== want || found.length !== blocks * count || rest.length !== 8 * places || (numbers && numbers.length !== blocks * wide * count)) {
      refuse('FormatError', 'the ciphertexts of the answer, or its ids, have other shapes');
    }
    if (want === 'count') return levels.map((_, i) => found[i * rows] * rows);
    const matches = { ids: [], doubtful: [], payloads: numbers ? [] : null };
    idsOf(rest).forEach((id, place) => {
      if (id < 0) return;
      const block = Math.floor((place * stride) / rows);
      const row = (place * stride) % rows;
      const mask = found[block * count + row] / 2;
      if (Math.abs(mask - Math.round(Math.min(1, Math.max(0, mask)))) > doubt) matches.doubtful.push(id);
      if (!(mask > 0.5)) return;
      matches.ids.push(id);
      matches.payloads?.push(Array.from({ length: payload }, (_, n) => numbers[(block * wide + Math.floor(n / copies)) * count + (n % copies) * rows + row] * bound));
    });
    return matches;
  }

  /** The k best rows by thresholds, as hemera.search.Client.top narrows one: the number of rounds depends on the settings
   * alone, and a count that can not be decrypted is an error after the last of them. */
  async #top(query, k, want, ask) {
    const { queries, slots: { margin, copies, thresholds_of_round: most } } = this.maps;
    const width = Math.min(queries * copies, most);
    let [low, high, certain, failed] = [-1, 1, null, null];
    for (let left = Math.ceil(Math.log(2 / margin) / Math.log(width + 1) - 2 ** -20); left > 0; left -= 1) {
      const levels = Array.from({ length: width }, (_, i) => low + ((high - low) * (i + 1)) / (width + 1));
      const asked = { query, want: 'count', levels };
      const message = await this.#message(asked);
      const [answer] = await ask([message]);
      let found;
      try {
        found = await this.#readMatches(answer, message, asked);
      } catch (error) {
        if (error.name !== 'NoiseError') throw error;
        failed = error;
        found = levels.map(() => 0);
      }
      const exact = levels.filter((_, i) => Math.abs(found[i] - k) < countDoubt);
      if (certain === null && exact.length > 0) certain = exact[Math.floor(exact.length / 2)];
      const place = found.filter((each) => each > k - 0.5).length;
      const bounds = [low, ...levels, high];
      [low, high] = [bounds[place], bounds[place + 1]];
    }
    // All of the k best are above the last threshold.
    const last = { query, want, levels: [certain ?? low - margin] };
    const message = await this.#message(last);
    const [answer] = await ask([message]);
    if (failed !== null) throw failed;
    return this.#readMatches(answer, message, last);
  }
}
