/**
 * Holds our LZO against liblzo2, both ways: `npx tsx test/store/codec/lzo-cross-check.ts [--write]`. Needs Debian's
 * `python3-lzo`. With `--write` it writes what liblzo2 made of some samples to `lzo-golden.json`, which the tests read.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { LzoCodec } from '../../src/compression/lzo-codec.js';
import { samples } from './samples.js';

/** Levels 1 (LZO1X-1) and 9 (LZO1X-999), and what it reads in a stream of ours. */
const SCRIPT = `
import sys, json, lzo
out = []
for item in json.load(sys.stdin):
    raw = bytes.fromhex(item["raw"])
    out.append({
        "level1": lzo.compress(raw, 1, False).hex(),
        "level9": lzo.compress(raw, 9, False).hex(),
        "back": lzo.decompress(bytes.fromhex(item["ours"]), False, max(1, len(raw))).hex(),
    })
json.dump(out, sys.stdout)
`;

interface Answer {
  readonly level1: string;
  readonly level9: string;
  readonly back: string;
}

const codec = new LzoCodec();
const all = samples();
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const input = all.map(({ bytes }) => ({
  raw: hex(bytes),
  ours: hex(codec.compress(bytes, 0, bytes.length)),
}));
const output = execFileSync('/usr/bin/python3', ['-c', SCRIPT], {
  input: JSON.stringify(input),
  maxBuffer: 1 << 28,
  encoding: 'utf8',
});
const answers = JSON.parse(output) as Answer[];
let wrong = 0;
const golden: { name: string; length: number; sha256: string; level1: string; level9: string }[] = [];
answers.forEach((answer, i) => {
  const { name, bytes } = all[i]!;
  const raw = hex(bytes);
  const read = (stream: string): string => {
    const compressed = Buffer.from(stream, 'hex');
    return hex(codec.decompress(compressed, 0, compressed.length, bytes.length));
  };
  if (answer.back !== raw || read(answer.level1) !== raw || read(answer.level9) !== raw) {
    console.error(`differs: ${name}`);
    wrong++;
  }
  if (answer.level9.length < 1500 && answer.level1.length < 1500) {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    golden.push({ name, length: bytes.length, sha256, level1: answer.level1, level9: answer.level9 });
  }
});
console.log(`${all.length} samples, ${wrong} differ`);
if (process.argv.includes('--write'))
  writeFileSync(new URL('lzo-golden.json', import.meta.url), `${JSON.stringify(golden, undefined, 1)}\n`);
if (wrong > 0) process.exitCode = 1;
