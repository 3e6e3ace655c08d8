/** The protocol between a store's writer process and its readers: JSON objects, one a line, over a local socket. */

import type { Duplex } from 'node:stream';

/** Bytes of the longest line that is accepted; a line of this length releases about 100,000 files. */
const MAX_LINE_LENGTH = 1 << 20;

/** A reader's request: for the present position of the store, to release files, or both. */
export interface Request {
  /** The number of the request, repeated in its answer; undefined when the request only releases files. */
  readonly look?: number;
  /** Numbers of the sorted files to release. */
  readonly free?: readonly number[];
}

/** A position of the store: the read point, and the lengths of MANIFEST and log that contain all writes up to it. */
export interface StorePosition {
  /** The sequence number up to which all writes are acknowledged. */
  readonly readPoint: number;
  /** The MANIFEST, and how many of its bytes are valid. */
  readonly manifest: { readonly number: number; readonly length: number };
  /** The active segment of the log, and how many of its bytes are valid. */
  readonly log: { readonly segment: number; readonly length: number };
}

export interface Answer extends StorePosition {
  readonly look: number;
  /** The id of the process that answers. */
  readonly pid: number;
}

/** Calls `receive` for each message. A stream that sends anything else is destroyed. */
export function readMessages(stream: Duplex, receive: (message: unknown) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    try {
      if (rest.length > MAX_LINE_LENGTH) throw new Error('The line is too long.');
      for (const line of lines) receive(JSON.parse(line));
    } catch {
      stream.destroy();
    }
  });
}

export function sendMessage(stream: Duplex, message: Request | Answer): void {
  if (!stream.destroyed && stream.writable) stream.write(`${JSON.stringify(message)}\n`);
}

/** @throws TypeError when the message is not a request. */
export function requestOf(message: unknown): Request {
  const { look, free } = message as Partial<Request>;
  const whole = free === undefined || (Array.isArray(free) && free.every(isCount));
  if (whole && (look === undefined || isCount(look))) return message as Request;
  throw new TypeError('The message is not a request of a reader.');
}

/** @throws TypeError when the message is not an answer. */
export function answerOf(message: unknown): Answer {
  const { look, pid, readPoint, manifest, log } = message as Partial<Answer>;
  const counts = [look, pid, readPoint, manifest?.number, manifest?.length, log?.segment, log?.length];
  if (counts.every(isCount)) return message as Answer;
  throw new TypeError('The message is not an answer to a reader.');
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
