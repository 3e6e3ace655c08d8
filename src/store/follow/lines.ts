/** What readers and the opener of a store say to each other: lines of JSON. */

import type { Duplex } from 'node:stream';

/** Bytes of the longest line; one frees some 100,000 files. */
const LONGEST_LINE = 1 << 20;

/** A reader asks for the present moment, and tells which files it does not read any more. */
export interface Request {
  /** The number of the question; undefined: it only frees files. */
  readonly look?: number;
  /** Numbers of sorted files. */
  readonly free?: readonly number[];
}

/** How far a store has come: every acknowledged write, and which of its files say so. */
export interface Moment {
  /** Writes up to this number are acknowledged. */
  readonly readPoint: number;
  /** The MANIFEST, and how many bytes of it count. */
  readonly manifest: { readonly number: number; readonly length: number };
  /** The segment of the log that is written to, and how many bytes of it count. */
  readonly log: { readonly segment: number; readonly length: number };
}

export interface Answer extends Moment {
  readonly look: number;
  /** The process that answers. */
  readonly pid: number;
}

/** Gives each line that comes to `take`; a stream whose lines are none of ours is ended. */
export function readLines(stream: Duplex, take: (message: unknown) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    try {
      if (rest.length > LONGEST_LINE) throw new Error('A line has no end.');
      for (const line of lines) take(JSON.parse(line));
    } catch {
      stream.destroy();
    }
  });
}

export function say(stream: Duplex, message: Request | Answer): void {
  if (!stream.destroyed && stream.writable) stream.write(`${JSON.stringify(message)}\n`);
}

/** @throws TypeError when it is none. */
export function requestOf(message: unknown): Request {
  const { look, free } = message as Partial<Request>;
  const whole = free === undefined || (Array.isArray(free) && free.every(isCount));
  if (whole && (look === undefined || isCount(look))) return message as Request;
  throw new TypeError('It is no request of a reader.');
}

/** @throws TypeError when it is none. */
export function answerOf(message: unknown): Answer {
  const { look, pid, readPoint, manifest, log } = message as Partial<Answer>;
  const counts = [look, pid, readPoint, manifest?.number, manifest?.length, log?.segment, log?.length];
  if (counts.every(isCount)) return message as Answer;
  throw new TypeError('It is no answer to a reader.');
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
