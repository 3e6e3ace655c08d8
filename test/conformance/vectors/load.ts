import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { RecordedSequence } from './types.js';

/** Sequences that were recorded in one table, in lockstep. */
export interface RecordedGroup {
  /** "seed.group". */
  readonly id: string;
  readonly mode: RecordedSequence['mode'];
  readonly sequences: readonly RecordedSequence[];
}

/** The 750 sequences of HBase 2.6.4, by group. */
export function loadRecordedGroups(): RecordedGroup[] {
  const file = new URL('./hbase-2.6.4.ndjson.gz', import.meta.url);
  const lines = gunzipSync(readFileSync(file)).toString('utf8').trimEnd().split('\n');
  const groups = new Map<string, RecordedSequence[]>();
  for (const line of lines) {
    const sequence = JSON.parse(line) as RecordedSequence;
    const id = sequence.id.slice(0, sequence.id.lastIndexOf('.'));
    const group = groups.get(id);
    if (group) group.push(sequence);
    else groups.set(id, [sequence]);
  }
  return [...groups].map(([id, sequences]) => ({ id, mode: sequences[0]!.mode, sequences }));
}
