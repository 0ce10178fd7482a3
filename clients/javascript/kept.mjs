// Secret keys that outlive a page, in the browser's IndexedDB: encrypted by AES-GCM with a key of WebCrypto that no script
// can read. This keeps them from scripts that read the database, and not from who reads the browser's files.

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** What is kept under one name. */
export class Kept {
  #database;
  #key;

  static async open(name) {
    const kept = new Kept();
    const request = indexedDB.open(`hemera ${name}`, 1);
    request.onupgradeneeded = () => request.result.createObjectStore('kept');
    kept.#database = await done(request);
    const fresh = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']);
    // In one transaction, or two pages that begin together would each keep a key of their own.
    const store = kept.#database.transaction('kept', 'readwrite').objectStore('kept');
    kept.#key = await done(store.get('wrapping'));
    if (kept.#key === undefined) {
      await done(store.put(fresh, 'wrapping'));
      kept.#key = fresh;
    }
    return kept;
  }

  /** { secret, digest }, or undefined where nothing is kept. */
  async get(place) {
    const found = await done(this.#database.transaction('kept').objectStore('kept').get(`at ${place}`));
    if (found === undefined) return undefined;
    const additionalData = new TextEncoder().encode(place);
    const secret = await crypto.subtle.decrypt({ name: 'AES-GCM', iv: found.iv, additionalData }, this.#key, found.sealed);
    return { secret: new Uint8Array(secret), digest: found.digest };
  }

  async put(place, { secret, digest }) {
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const additionalData = new TextEncoder().encode(place);
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData }, this.#key, secret);
    secret.fill(0);
    const store = this.#database.transaction('kept', 'readwrite').objectStore('kept');
    await done(store.put({ iv, sealed, digest }, `at ${place}`));
  }
}
