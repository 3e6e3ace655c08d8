/** A process that takes numbers of a sequence is killed again and again. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runScript } from '../../crash/run-script.js';
import { fromMiddle } from '../../proof/scale.js';

it('gives no number again after kill -9', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-sequence-'));
  try {
    const seen: string[] = [];
    for (let life = 0; life < fromMiddle(8, 40); life++) {
      const args = [join(folder, 'store'), String([1, 3, 20][life % 3])];
      const script = runScript('test/repository/sequences/take-process.ts', args);
      await script.count(20 + 13 * life);
      script.kill();
      await script.exit;
      // The kill may cut the last line.
      seen.push(...script.lines.filter((line) => /^[ab] \d+$/.test(line)).slice(0, -1));
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThan(60);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
