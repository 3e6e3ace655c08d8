/** The kinds of row keys that people have, each made from an index alone. */

/** The `index`-th key of a kind; an index of 2^31 or more is that of a key which no store has. */
export type KeyKind = (index: number) => Buffer;

/** Keys of this index on are in no store. */
export const ABSENT = 2 ** 31;
const ROWS_A_PREFIX = 50;
const SALTS = 16;
/** Lanes of absent keys: they differ from the others in more than what is the same in every lane. */
const ABSENT_LANES = 1000;

/** A number of 32 bits that looks like no other's, for each index and lane (the finalizer of MurmurHash3). */
function mixed(index: number, lane: number): number {
  const own = index >= ABSENT ? lane + ABSENT_LANES : lane;
  let h = Math.imul(index | 0, 0x9e3779b1) ^ Math.imul(own + 1, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function random(index: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; at += 4) bytes.writeUInt32LE(mixed(index, at), at);
  return bytes;
}

/** Index among the present keys, and whether the key is one of those that are absent. */
function split(index: number): [number, boolean] {
  return index >= ABSENT ? [index - ABSENT, true] : [index, false];
}

/** 16 digits; absent keys are the odd numbers between the present ones. */
function digits(index: number): Buffer {
  const [at, absent] = split(index);
  return Buffer.from(String(2 * at + (absent ? 1 : 0)).padStart(16, '0'), 'latin1');
}

/** 20 bytes of a digest. */
function digest(index: number): Buffer {
  return random(index, 20);
}

/** Salt, text, reverse timestamp, uint32: 50 rows of each text. */
function composite(index: number): Buffer {
  const [at, absent] = split(index);
  const group = Math.floor(at / ROWS_A_PREFIX);
  const text = Buffer.from(`customer-${mixed(group, 1).toString(36)}`, 'latin1');
  const key = Buffer.alloc(1 + text.length + 1 + 8 + 4);
  key[0] = mixed(group, 2) % SALTS;
  text.copy(key, 1);
  const time = 1_700_000_000_000 + (at % ROWS_A_PREFIX) * 3_600_000 + (mixed(at, 3) % 3_600_000);
  key.writeBigInt64BE(0x7fffffffffffffffn - BigInt(time), text.length + 2);
  key.writeUInt32BE(((mixed(at, 4) & ~1) | (absent ? 1 : 0)) >>> 0, text.length + 10);
  return key;
}

const TLDS = ['com', 'com', 'com', 'com', 'org', 'net', 'de', 'io'];
const WORDS = ['news', 'products', 'blog', 'docs', 'about', 'archive', 'images', 'users'];

/** The address of a page, the domain reversed: 50 pages of each domain. */
function text(index: number): Buffer {
  const [at, absent] = split(index);
  const group = Math.floor(at / ROWS_A_PREFIX);
  const domain = `${TLDS[mixed(group, 1) % TLDS.length]}.site${mixed(group, 2).toString(36)}.www`;
  const path = `${WORDS[mixed(at, 3) % WORDS.length]}/${WORDS[mixed(at, 4) % WORDS.length]}`;
  return Buffer.from(`${domain}/${path}/page-${at % ROWS_A_PREFIX}${absent ? 'x' : ''}.html`, 'latin1');
}

/** Most short, a few very long: 8 to 300 bytes, of letters. */
function skewed(index: number): Buffer {
  const length = 8 + Math.floor(-Math.log(1 - mixed(index, 1) / 2 ** 32) * 12);
  const key = random(index, 4 * Math.ceil(Math.min(length, 300) / 4));
  for (let i = 0; i < key.length; i++) key[i] = 0x61 + (key[i]! % 26);
  return key.subarray(0, Math.min(length, 300));
}

/** A UUID of version 4, as text. */
function uuid(index: number): Buffer {
  const bytes = random(index, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return Buffer.from(parts.join('-'), 'latin1');
}

export const KEY_KINDS = { digits, digest, composite, text, skewed, uuid } as const;
export type KeyKindName = keyof typeof KEY_KINDS;
