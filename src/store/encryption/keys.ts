/**
 * The keys of an encrypted store, and the head by which each encrypted file names its key (docs/encryption.md, docs/formats.md).
 *
 * 1. Every file has a key of its own: HKDF-SHA-256 of the master key, 32 random bytes of the file's head, and the file's kind and
 *    number. So bytes of one file never pass for those of another, and files may count their nonces from 0.
 * 2. No nonce is used twice with one file key: a sorted file uses the number of a page, written once; a log uses a counter that
 *    rises with every record that is sealed, those of failed writes included.
 * 3. A head is checked with a key that the file's kind and number are no part of, so a wrong master key is told from damage.
 */

import { InvalidArgumentError, RowanError } from '../../errors.js';

/** Option `encryption` of a store. */
export interface EncryptionOptions {
  /**
   * The id of the key with which new files are encrypted: 1 to 64 printable ASCII characters without spaces. It is stored in the files in
   * plain text. `null`: new files are not encrypted, and those that are can be read (to remove the encryption).
   */
  readonly keyId: string | null;
  /**
   * The key of an id: 32 bytes. Called when the store is opened, once for each id that its files name, and for `keyId`. What it throws is
   * the cause of an `ERR_ENCRYPTION`.
   */
  readonly key: (id: string) => Uint8Array | Promise<Uint8Array>;
  /**
   * True: files that are not encrypted are read too, as when a store gets encrypted. Default false, or true if `keyId` is null: they are
   * refused, because anybody who can write to the folder could have put them there.
   */
  readonly acceptPlain?: boolean;
}

/** The keys as a worker thread receives them. */
export interface SharedKeys {
  readonly current: string | null;
  readonly acceptPlain: boolean;
  readonly keys: ReadonlyMap<string, Uint8Array>;
}

/** FROZEN: bytes of the head of an encrypted file. Scheme, length of the id, id, salt, check. */
export const HEAD_BYTES = 114;
export const TAG_BYTES = 16;
const SCHEME = 1;
const ID_AT = 2;
const MAX_ID = 64;
const SALT_AT = ID_AT + MAX_ID;
const SALT_BYTES = 32;
const CHECK_AT = SALT_AT + SALT_BYTES;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
/** No page and no record has this nonce. */
const CHECK_NONCE = new Uint8Array(NONCE_BYTES).fill(0xff);
const ALGORITHM = 'aes-256-gcm';

type Crypto = typeof import('node:crypto');
let loaded: Crypto | undefined;

/** Loaded with the first encrypted file. */
function crypto(): Crypto {
  loaded ??= process.getBuiltinModule('node:crypto');
  return loaded;
}

/** Whether a text may be the id of a key. */
export function isKeyId(id: unknown): id is string {
  return typeof id === 'string' && /^[\x21-\x7e]{1,64}$/.test(id);
}

/** Seals and opens the parts of one file. */
export class FileCipher {
  private readonly key: ReturnType<Crypto['createSecretKey']>;
  private readonly nonce = Buffer.alloc(NONCE_BYTES);

  constructor(key: Uint8Array) {
    this.key = crypto().createSecretKey(key);
  }

  /** Encrypts `texts` after one another. `low` (an integer below 2^48) and `high` (a u32) are the nonce, used once. Returns text and tag. */
  seal(low: number, high: number, about: Uint8Array, ...texts: readonly Uint8Array[]): Uint8Array[] {
    const cipher = crypto().createCipheriv(ALGORITHM, this.key, this.nonceOf(low, high), {
      authTagLength: TAG_BYTES,
    });
    if (about.length > 0) cipher.setAAD(about);
    const parts = texts.map((text): Uint8Array => cipher.update(text));
    cipher.final();
    parts.push(cipher.getAuthTag());
    return parts;
  }

  /** The text; undefined when it, its tag, its nonce or `about` are not those that were sealed. */
  open(
    low: number,
    high: number,
    about: Uint8Array,
    sealed: Uint8Array,
    tag: Uint8Array,
  ): Uint8Array | undefined {
    const decipher = crypto().createDecipheriv(ALGORITHM, this.key, this.nonceOf(low, high), {
      authTagLength: TAG_BYTES,
    });
    if (about.length > 0) decipher.setAAD(about);
    decipher.setAuthTag(tag);
    const text = decipher.update(sealed);
    try {
      decipher.final();
    } catch {
      return undefined;
    }
    return text;
  }

  /** The check of a head: the tag of the empty text. */
  check(head: Uint8Array): Uint8Array {
    const cipher = crypto().createCipheriv(ALGORITHM, this.key, CHECK_NONCE, { authTagLength: TAG_BYTES });
    cipher.setAAD(head.subarray(0, CHECK_AT));
    cipher.final();
    return cipher.getAuthTag();
  }

  private nonceOf(low: number, high: number): Uint8Array {
    const { nonce } = this;
    nonce.writeUIntLE(low, 0, 6);
    nonce.writeUInt32LE(high, 8);
    return nonce;
  }
}

/** A file that is to be encrypted. */
export interface NewCipher {
  readonly head: Uint8Array;
  readonly cipher: FileCipher;
}

/** The keys of an open store. */
export class StoreKeys {
  private readonly keys: Map<string, Uint8Array>;

  private constructor(
    private readonly current: string | null,
    readonly acceptPlain: boolean,
    private readonly source: EncryptionOptions['key'] | undefined,
    keys: ReadonlyMap<string, Uint8Array>,
  ) {
    this.keys = new Map(keys);
  }

  /** Keys without any in memory: `load` them. */
  static of({ keyId, key, acceptPlain }: EncryptionOptions): StoreKeys {
    return new StoreKeys(keyId, acceptPlain ?? keyId === null, key, new Map());
  }

  /** The keys that another thread shares. */
  static shared({ current, acceptPlain, keys }: SharedKeys): StoreKeys {
    return new StoreKeys(current, acceptPlain, undefined, keys);
  }

  share(): SharedKeys {
    const { current, acceptPlain, keys } = this;
    return { current, acceptPlain, keys };
  }

  /** Whether new files have the key of this id; undefined: are not encrypted. */
  isCurrent(id: string | undefined): boolean {
    return (id ?? null) === this.current;
  }

  /** Asks for the key of new files. */
  async loadCurrent(): Promise<void> {
    if (this.current !== null) await this.load(this.current);
  }

  /**
   * Asks for the key of an id, unless it is known.
   * @throws RowanError `ERR_ENCRYPTION` when the callback throws; InvalidArgumentError when what it gives is no key.
   */
  async load(id: string): Promise<void> {
    if (this.keys.has(id) || this.source === undefined) return;
    let key: unknown;
    try {
      key = await this.source(id);
    } catch (cause) {
      throw new RowanError(
        'ERR_ENCRYPTION',
        `The key "${id}" of the store could not be had: ${cause instanceof Error ? cause.message : String(cause)}. ` +
          'Nothing was written. Make encryption.key give it.',
        { cause, details: { keyId: id } },
      );
    }
    if (!(key instanceof Uint8Array) || key.length !== KEY_BYTES) {
      const found = key instanceof Uint8Array ? `${key.length} bytes` : typeof key;
      throw new InvalidArgumentError(
        `encryption.key gives ${found} for the key "${id}"; a key of AES-256 has ${KEY_BYTES} bytes (a Uint8Array).`,
        { details: { keyId: id } },
      );
    }
    this.keys.set(id, Uint8Array.from(key));
  }

  /** The head and cipher of a new file; undefined when new files are not encrypted. */
  forNewFile(kind: string, fileNumber: number): NewCipher | undefined {
    const { current } = this;
    if (current === null) return undefined;
    const head = new Uint8Array(HEAD_BYTES);
    head[0] = SCHEME;
    head[1] = current.length;
    head.set(Buffer.from(current, 'latin1'), ID_AT);
    crypto().randomFillSync(head, SALT_AT, SALT_BYTES);
    const master = this.keyOf(current, '');
    head.set(cipherOf(master, head, 'head').check(head), CHECK_AT);
    return { head, cipher: cipherOf(master, head, `${kind}/${fileNumber}`) };
  }

  /**
   * The cipher of a file, by its head.
   * @throws RowanError `ERR_ENCRYPTION` when its key is not known or another one, `ERR_FORMAT_VERSION` for an unknown scheme.
   */
  forFile(kind: string, fileNumber: number, head: Uint8Array, path: string): FileCipher {
    const id = keyIdOf(head, path);
    const master = this.keyOf(id, path);
    const check = cipherOf(master, head, 'head').check(head);
    if (Buffer.compare(check, head.subarray(CHECK_AT, HEAD_BYTES)) === 0)
      return cipherOf(master, head, `${kind}/${fileNumber}`);
    throw new RowanError(
      'ERR_ENCRYPTION',
      `The file "${path}" was encrypted with another key named "${id}" than the one given. Nothing was written. ` +
        'Make encryption.key give the key that the store was written with.',
      { details: { file: path, keyId: id } },
    );
  }

  /** @throws RowanError `ERR_ENCRYPTION` when files that are not encrypted are refused. */
  checkPlain(path: string): void {
    if (this.acceptPlain) return;
    throw new RowanError(
      'ERR_ENCRYPTION',
      `The file "${path}" is not encrypted, though the store is opened with encryption. Nothing was written. To encrypt a store ` +
        'that was not, open it with encryption.acceptPlain: true and compact its tables (docs/encryption.md).',
      { details: { file: path } },
    );
  }

  private keyOf(id: string, path: string): Uint8Array {
    const key = this.keys.get(id);
    if (key !== undefined) return key;
    throw new RowanError(
      'ERR_ENCRYPTION',
      `The key "${id}" of the file "${path}" is not loaded. Try again.`,
      {
        retryable: true,
        details: { file: path, keyId: id, keyMissing: true },
      },
    );
  }
}

/** `use`: what is encrypted with the key. */
function cipherOf(master: Uint8Array, head: Uint8Array, use: string): FileCipher {
  const salt = head.subarray(SALT_AT, CHECK_AT);
  const info = `rowan-orm/${SCHEME}/${use}`;
  return new FileCipher(new Uint8Array(crypto().hkdfSync('sha256', master, salt, info, KEY_BYTES)));
}

/**
 * The id of the key of a file, by its head.
 * @throws RowanError `ERR_FORMAT_VERSION` for an unknown scheme.
 */
export function keyIdOf(head: Uint8Array, path: string): string {
  if (head[0] !== SCHEME) {
    throw new RowanError(
      'ERR_FORMAT_VERSION',
      `The file "${path}" is encrypted by scheme ${head[0]}; this release of Rowan knows scheme ${SCHEME}. Open the store with ` +
        'the release that wrote it, or a newer one.',
      { details: { file: path, version: head[0] } },
    );
  }
  return Buffer.from(head.subarray(ID_AT, ID_AT + Math.min(head[1]!, MAX_ID))).toString('latin1');
}

/** Whether a read failed because a key was not loaded: files with it have appeared since keys were loaded. */
export function isKeyMissing(error: unknown): boolean {
  return error instanceof RowanError && error.details['keyMissing'] === true;
}

/** The error for an encrypted file of a store that is opened without `encryption`. */
export function encrypted(path: string, head: Uint8Array): RowanError {
  const keyId = keyIdOf(head, path);
  return new RowanError(
    'ERR_ENCRYPTION',
    `The file "${path}" is encrypted with the key "${keyId}". Nothing was written. Open the store with the option encryption, whose ` +
      'key(id) gives it; commands read ROWAN_ENCRYPTION_KEYS (docs/encryption.md).',
    { details: { file: path, keyId } },
  );
}

/** FROZEN: bytes that a sealed record has beyond its text: a counter u48 before it, the tag after it. */
const COUNTER_BYTES = 6;
export const RECORD_OVERHEAD = COUNTER_BYTES + TAG_BYTES;

/** Seals and opens the records of one log. */
export class LogCipher {
  private counter = 0;
  private readonly about = Buffer.alloc(8);

  constructor(private readonly cipher: FileCipher) {}

  /** The sealed record that begins at byte `fileOffset` of the file. */
  seal(fileOffset: number, prefix: Uint8Array, payload: Uint8Array): Uint8Array {
    const sealed = Buffer.allocUnsafe(RECORD_OVERHEAD + prefix.length + payload.length);
    const counter = this.counter++;
    sealed.writeUIntLE(counter, 0, COUNTER_BYTES);
    let at = COUNTER_BYTES;
    for (const part of this.cipher.seal(counter, 0, this.aboutOf(fileOffset), prefix, payload)) {
      sealed.set(part, at);
      at += part.length;
    }
    return sealed;
  }

  /** The text of a record; undefined when it is not what was sealed at this place of this file. */
  open(fileOffset: number, sealed: Uint8Array): Uint8Array | undefined {
    if (sealed.length < RECORD_OVERHEAD) return undefined;
    const end = sealed.length - TAG_BYTES;
    const counter = Buffer.from(sealed.buffer, sealed.byteOffset, COUNTER_BYTES).readUIntLE(0, COUNTER_BYTES);
    const about = this.aboutOf(fileOffset);
    const text = this.cipher.open(
      counter,
      0,
      about,
      sealed.subarray(COUNTER_BYTES, end),
      sealed.subarray(end),
    );
    // Not a Buffer: a subarray of one takes several times as long to create, and replay creates millions.
    return text && new Uint8Array(text.buffer, text.byteOffset, text.length);
  }

  private aboutOf(fileOffset: number): Uint8Array {
    this.about.writeUIntLE(fileOffset, 0, 6);
    return this.about;
  }
}
