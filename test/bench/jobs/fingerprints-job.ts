/** A job whose map computes: counts the items of each fingerprint's first 10 bits, over the entities of `threads-job.ts`. */

import type { Database } from '../../../src/database.js';
import { entitySink } from '../../../src/public/jobs.js';
import { Item, Sum } from './threads-job.js';

export { Item, Sum };

const BITS = 32;
const SHINGLE = 4;

export function job(db: Database) {
  return db
    .job('bench-fingerprints')
    .from(db.repository(Item).find({}, { fullScan: true }))
    .map<number, number>(({ name, text: words, time }, emit) =>
      emit(fingerprint(`${name} ${words} ${time}`) >>> 22, 1),
    )
    .combine((_, counts) => counts.reduce((sum, n) => sum + n, 0))
    .reduce((bucket, counts) => ({ group: String(bucket), sum: counts.reduce((sum, n) => sum + n, 0) }))
    .to(entitySink(db.repository(Sum)));
}

/** SimHash (Charikar 2002): texts that share most of their shingles have most bits in common. */
function fingerprint(text: string): number {
  const votes = new Int32Array(BITS);
  for (let at = 0; at + SHINGLE <= text.length; at++) {
    // FNV-1a.
    let hash = 0x811c9dc5;
    for (let i = at; i < at + SHINGLE; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    for (let bit = 0; bit < BITS; bit++) votes[bit]! += (hash >>> bit) & 1 ? 1 : -1;
  }
  let bits = 0;
  for (let bit = 0; bit < BITS; bit++) if (votes[bit]! > 0) bits |= 1 << bit;
  return bits >>> 0;
}
