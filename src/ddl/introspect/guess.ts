import { equalBytes } from '../../bytes/index.js';
import { boolean, date, float32, float64, int32, int64, json, text, uuid } from '../../codec/index.js';
import { RowanError, SchemaError } from '../../errors.js';
import {
  compileKeyLayout,
  fixedBytes,
  hash,
  type KeyCodec,
  type KeyElement,
  type KeyLayout,
  kiji,
  part,
  phoenix,
  raw,
  reverseTimestamp,
  type ScalarCodec,
  salt,
  uint8,
} from '../../key/index.js';
import type { Source } from './source.js';

// — Guesses the codec of values of unknown type. Each guess states the share of values that agree.

/** A guessed codec. */
interface ValueGuess extends Source {
  /** Share of the values that look like this codec's, 0 to 1. */
  readonly share: number;
  /** Another observation; undefined if there is none. */
  readonly note?: string | undefined;
}

interface ValueCodecLike {
  readonly fixedLength?: number | undefined;
  decode(bytes: Uint8Array): unknown;
}

interface Candidate extends Source {
  readonly codec: ValueCodecLike;
  /** Whether bytes look plausible for this codec, since for example any eight bytes are a valid number. */
  readonly likely: (bytes: Uint8Array) => boolean;
}

/** If fewer values agree than this, they are declared as bytes. */
const MIN_SHARE = 0.8;

const EARLIEST = Date.UTC(1975, 0);
const LATEST = Date.UTC(2100, 0);
/** Four-byte integers above this are as likely something else. */
const LARGE_INT32 = 100_000_000;

function candidate(
  name: string,
  codec: ValueCodecLike,
  fits: (bytes: Uint8Array, value: unknown) => boolean,
): Candidate {
  const { fixedLength } = codec;
  const likely = (bytes: Uint8Array): boolean => {
    if (fixedLength !== undefined && bytes.length !== fixedLength) return false;
    try {
      return fits(bytes, codec.decode(bytes));
    } catch {
      // Bytes that a codec refuses do not belong to it.
      return false;
    }
  };
  return { text: name === 'json' ? 'json()' : name, uses: [name.split('.')[0]!], codec, likely };
}

const isTime = (value: unknown): boolean => {
  const time = (value as Date).getTime();
  return time >= EARLIEST && time <= LATEST;
};
const isSafe = (value: unknown): boolean => Number.isSafeInteger(Number(value as bigint));
const isUsual = (value: unknown): boolean => {
  const size = Math.abs(value as number);
  return size === 0 || (size > 1e-9 && size < 1e15);
};
const isSmall = (value: unknown): boolean => Math.abs(value as number) <= LARGE_INT32;

/** Printable UTF-8: no control characters except tabs and line ends. */
export function isPrintable(bytes: Uint8Array): boolean {
  for (const byte of bytes)
    if ((byte < 0x20 && byte !== 9 && byte !== 10 && byte !== 13) || byte === 0x7f) return false;
  return true;
}

/** RFC 9562: a version of 1 to 8, and the variant. */
function isUuid(bytes: Uint8Array): boolean {
  const version = bytes[6]! >>> 4;
  return bytes.length === 16 && version >= 1 && version <= 8 && bytes[8]! >>> 6 === 2;
}

/** In order of preference: among candidates that agree equally well, the first wins. */
const CANDIDATES: readonly Candidate[] = [
  candidate('json', json(), (bytes) => bytes[0] === 0x7b || bytes[0] === 0x5b),
  candidate('text', text, (bytes) => isPrintable(bytes)),
  candidate('uuid', uuid, (bytes) => isUuid(bytes)),
  candidate('raw.boolean', raw.boolean, (bytes) => bytes[0] === 0xff || bytes[0] === 0),
  candidate('boolean', boolean, () => true),
  candidate('raw.date', raw.date, (_, value) => isTime(value)),
  candidate('date', date, (_, value) => isTime(value)),
  candidate('raw.int64', raw.int64, (_, value) => isSafe(value)),
  candidate('int64', int64, (_, value) => isSafe(value)),
  candidate('raw.float64', raw.float64, (_, value) => isUsual(value)),
  candidate('float64', float64, (_, value) => isUsual(value)),
  candidate('raw.int32', raw.int32, (_, value) => isSmall(value)),
  candidate('int32', int32, (_, value) => isSmall(value)),
  candidate('raw.float32', raw.float32, (_, value) => isUsual(value)),
  candidate('float32', float32, (_, value) => isUsual(value)),
  candidate('raw.int16', raw.int16, () => true),
];

/** Leading bytes that identify an Avro value, and where its schema is found. */
const AVRO_MARKS: readonly (readonly [(bytes: Uint8Array) => boolean, string])[] = [
  [
    (bytes) => bytes.length >= 10 && bytes[0] === 0xc3 && bytes[1] === 0x01,
    'Avro in its single-object encoding (C3 01 and the fingerprint of its schema): give avroCodec its schema',
  ],
  [
    (bytes) => bytes.length >= 4 && Buffer.from(bytes.subarray(0, 4)).toString('latin1') === 'Obj\x01',
    'Avro container files, which hold their schema',
  ],
];

/** The codec with which most of the values agree. */
export function guessValue(values: readonly Uint8Array[]): ValueGuess {
  if (values.length === 0) return { text: 'bytes', uses: ['bytes'], share: 1 };
  let best: ValueGuess | undefined;
  for (const { text: name, uses, likely } of CANDIDATES) {
    const share = shareOf(values, likely);
    if (share < MIN_SHARE || share < (best?.share ?? 0)) continue;
    if (share > (best?.share ?? 0) || isReversed(best!.text, name, values))
      best = { text: name, uses, share };
  }
  return best ?? { text: 'bytes', uses: ['bytes'], share: 1, note: whatBytes(values) };
}

/** The two encodings of a number differ only in the sign bit. Most stored numbers are not negative. */
function isReversed(raw: string, sortable: string, values: readonly Uint8Array[]): boolean {
  if (raw !== `raw.${sortable}` || !sortable.startsWith('float')) return false;
  return shareOf(values, (value) => value[0]! >= 0x80) > 0.5;
}

function whatBytes(values: readonly Uint8Array[]): string | undefined {
  for (const [begins, what] of AVRO_MARKS) if (shareOf(values, begins) >= MIN_SHARE) return what;
  const { length } = values[0]!;
  return length > 0 && values.every((value) => value.length === length)
    ? `always ${length} bytes`
    : undefined;
}

function shareOf<T>(of: readonly T[], holds: (each: T) => boolean): number {
  return of.length === 0 ? 1 : of.filter(holds).length / of.length;
}

/** "98.7 %" */
export function percent(share: number): string {
  return `${Math.floor(share * 1000) / 10} %`;
}

// — Guesses the key layout of rows. A guess is tested by compiling it: a row agrees if it is decoded and encoded to the
// same bytes.

/** A guessed key. */
interface KeyGuess {
  /** From left to right. */
  readonly elements: readonly Source[];
  /** Share of the rows that are decoded and encoded to the same bytes, 0 to 1. */
  readonly share: number;
}

/** One element of a guess, and the rest of each row after it. */
interface Piece {
  readonly source: Source;
  readonly element: KeyElement;
}

type Rest = readonly Uint8Array[];

const SEPARATORS = ['|', '#', ':', '/', ';', '~', '_', ','] as const;
const MAX_PARTS = 8;
/** How many more salts than the highest one seen are tried when looking for the salt's modulus. */
const SALTS_TRIED = 4;
const HASHES = ['md5', 'sha1', 'sha256'] as const;
const HASH_BYTES = [2, 4, 1, 8, 16] as const;

/** The layout that fits most rows; `raw.bytes` if none fits {@link MIN_SHARE} of them. */
export function guessKey(rows: readonly Uint8Array[]): KeyGuess {
  const guesses = [...prefixed(rows), pieces(rows, 1)];
  let best: KeyGuess | undefined;
  let bestScore = 0;
  for (const guess of guesses) {
    if (guess === undefined) continue;
    const share = shareThatFits(rows, guess);
    const worth = share + bonusOf(guess);
    if (share < MIN_SHARE || worth <= bestScore) continue;
    best = { elements: guess.map(({ source }) => source), share };
    bestScore = worth;
  }
  return best ?? { elements: [{ text: `part('row', raw.bytes)`, uses: ['part', 'raw'] }], share: 1 };
}

/** Digests that match every row are no coincidence; opaque bytes explain little; fewer parts explain more. */
function bonusOf(guess: readonly Piece[]): number {
  const first = guess[0]!.source.text;
  const reckoned = first.startsWith('salt(') || first.startsWith('hash(') ? 0.1 : 0;
  const opaque = guess.some(({ source }) => source.text.includes('fixedBytes')) ? 0.15 : 0;
  return reckoned - opaque - guess.length / 1000;
}

/** Layouts that begin with what is reckoned from the rest: a row whose first bytes are not so does not fit. */
function* prefixed(rows: Rest): Generator<readonly Piece[]> {
  const skipBytes = (count: number): Rest => rows.map((row) => row.subarray(count));
  const highest = rows.reduce((max, row) => Math.max(max, row[0] ?? 0), 0);
  const salted = highest < 250 ? pieces(skipBytes(1), 1) : undefined;
  for (
    let count = Math.max(2, highest + 1);
    salted !== undefined && count <= highest + SALTS_TRIED;
    count++
  ) {
    yield [
      made(`salt(${count}, { algorithm: 'phoenix' })`, salt(count, { algorithm: 'phoenix' })),
      ...salted,
    ];
    yield [made(`salt(${count})`, salt(count)), ...salted];
  }
  for (const bytes of HASH_BYTES) {
    if (!rows.every((row) => row.length > bytes)) continue;
    const rest = pieces(skipBytes(bytes), 1);
    if (rest === undefined) continue;
    const first = /^part\('(\w+)'/.exec(rest[0]!.source.text)?.[1];
    if (first === undefined) continue;
    for (const algorithm of HASHES) {
      yield [
        made(
          `hash('${first}', { algorithm: '${algorithm}', bytes: ${bytes} })`,
          hash(first, { algorithm, bytes }),
        ),
        ...rest,
      ];
    }
  }
  // A number of few values whose hash is not known.
  const firsts = new Set(rows.map((row) => row[0]));
  if (salted !== undefined && firsts.size <= 64 && highest < 64 && highest < 0x20)
    yield [made(`part('salt', uint8)`, part('salt', uint8)), ...salted];
}

/** The pieces from here to the end; undefined: no pieces are known with which most rows end. */
function pieces(rest: Rest, number: number): readonly Piece[] | undefined {
  if (rest.length === 0 || number > MAX_PARTS) return undefined;
  const name = `part${number}`;
  for (const [piece, left] of steps(rest, name)) {
    if (left === undefined) return [piece];
    const following = pieces(left, number + 1);
    if (following !== undefined) return [piece, ...following];
  }
  return undefined;
}

/** The possible next pieces, the likelier first, each with the rest of the rows that have it. Undefined: it is the last. */
function* steps(rest: Rest, name: string): Generator<readonly [Piece, Rest | undefined]> {
  const isShared = (rows: Rest): boolean => rows.length >= MIN_SHARE * rest.length;
  for (const [length, pieceOf] of FIXED) {
    const long = rest.filter((row) => row.length >= length);
    if (!isShared(long)) continue;
    const piece = pieceOf(
      name,
      long.map((row) => row.subarray(0, length)),
    );
    if (piece === undefined) continue;
    const left = long.map((row) => row.subarray(length));
    yield [piece, left.every((row) => row.length === 0) ? undefined : left];
  }
  const printable = rest.filter((row) => row.length > 0 && isPrintable(row));
  if (isShared(printable)) {
    for (const separator of SEPARATORS) yield* joined(printable, name, separator, isShared);
    yield [codecPiece(name, 'raw.string', raw.string), undefined];
  } else {
    for (const separator of SEPARATORS) yield* joined(rest, name, separator, isShared);
  }
  yield* joined(rest, name, '\0', isShared);
  const { length } = rest[0]!;
  if (length > 0 && rest.every((row) => row.length === length))
    yield [made(`part('${name}', fixedBytes(${length}))`, part(name, fixedBytes(length))), undefined];
}

/** Text up to a separator that occurs equally often in all rows. */
function* joined(
  rows: Rest,
  name: string,
  separator: string,
  isShared: (rows: Rest) => boolean,
): Generator<readonly [Piece, Rest | undefined]> {
  const byte = separator.charCodeAt(0);
  const having = rows.filter((row) => {
    const at = row.indexOf(byte);
    return at > 0 && isPrintable(row.subarray(0, at));
  });
  if (!isShared(having)) return;
  const counts = having.map((row) => row.filter((each) => each === byte).length);
  if (separator !== '\0' && shareOf(counts, (count) => count === counts[0]) < MIN_SHARE) return;
  const left = having.map((row) => row.subarray(row.indexOf(byte) + 1));
  if (separator !== '\0') {
    yield [codecPiece(name, `raw.joined(${JSON.stringify(separator)})`, raw.joined(separator)), left];
    return;
  }
  if (left.every((row) => row.length === 0)) {
    yield [codecPiece(name, 'kiji.string', kiji.string), undefined];
    return;
  }
  // Rowan's own text, in which 00 is otherwise escaped.
  const own = left.filter((row) => row[0] === 1);
  if (isShared(own)) yield [made(`part('${name}')`, part(name)), own.map((row) => row.subarray(1))];
  yield [codecPiece(name, 'phoenix.varchar', phoenix.varchar), left];
}

/** Elements of a fixed number of bytes, if the values look plausible. */
const FIXED: readonly (readonly [number, (name: string, values: Rest) => Piece | undefined])[] = [
  [16, (name, values) => (shareOf(values, isUuid) < MIN_SHARE ? undefined : codecPiece(name, 'uuid', uuid))],
  [8, long],
  [4, (name, values) => numberPiece(name, values)],
];

function long(name: string, values: Rest): Piece | undefined {
  const reversed = values.map((value) => {
    const own = Buffer.from(value);
    own.writeBigInt64BE(BigInt.asIntN(64, MAX_LONG - own.readBigInt64BE()));
    return own;
  });
  if (guessValue(reversed).text === 'raw.date')
    return made(`reverseTimestamp('${name}')`, reverseTimestamp(name));
  return numberPiece(name, values);
}

const MAX_LONG = 2n ** 63n - 1n;

const NUMBERS: Readonly<Record<string, ScalarCodec<unknown>>> = {
  'raw.date': raw.date,
  date,
  'raw.int64': raw.int64,
  int64,
  'raw.int32': raw.int32,
  int32,
};

function numberPiece(name: string, values: Rest): Piece | undefined {
  const { text } = guessValue(values);
  const codec = NUMBERS[text];
  return codec && codecPiece(name, text, codec);
}

function codecPiece(name: string, codecText: string, codec: ScalarCodec<unknown>): Piece {
  return made(`part('${name}', ${codecText})`, part(name, codec));
}

function made(text: string, element: KeyElement): Piece {
  const uses = [...text.matchAll(/\b(?:[a-z]\w*)(?=[.(]|\)$|, )/gi)]
    .map(([use]) => use)
    .filter((use) => USED.has(use));
  return { source: { text, uses }, element };
}

const USED: ReadonlySet<string> = new Set(
  'part salt hash reverseTimestamp raw phoenix kiji uuid date int32 int64 uint8 fixedBytes'.split(' '),
);

function shareThatFits(rows: Rest, guess: readonly Piece[]): number {
  let layout: KeyLayout;
  try {
    layout = compileKeyLayout(
      guess.map(({ element }) => element),
      () => text as KeyCodec<unknown>,
    );
  } catch (error) {
    // Some guesses cannot be declared, e.g. a part without a terminator before another.
    if (error instanceof SchemaError) return 0;
    throw error;
  }
  const fits = (row: Uint8Array): boolean => {
    try {
      return equalBytes(layout.encode(layout.decode(row)), row);
    } catch (error) {
      if (error instanceof RowanError) return false;
      throw error;
    }
  };
  // Most guesses fit nothing, which a few rows show.
  return shareOf(rows.slice(0, 20), fits) < 0.5 ? 0 : shareOf(rows, fits);
}
