/** One process of `bench:start`: imports, fills or opens and gets, and prints what that took. */

import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { PEERS } from '../orm/peers/imports.mjs';

const CONTESTANTS = {
  ...PEERS,
  rowan: {
    import: () => import('rowan-orm'),
    open: async (folder) => (await import('./rowan.mjs')).openRowan(folder),
  },
  'classic-level': {
    import: () => import('../store/classic-level.mjs'),
    open: async (folder) => (await import('../store/classic-level.mjs')).openClassicLevel(folder),
  },
};

const ROWS = 1000;

function rows() {
  return Array.from({ length: ROWS }, (_, i) => ({
    sensor: `sensor-${i % 10}`,
    seq: i,
    kind: 'temperature',
    unit: 'C',
    value: i / 7,
    quality: i % 4,
    valid: i % 3 !== 0,
    takenAt: new Date(1_700_000_000_000 + i),
  }));
}

const [what, name, folder] = process.argv.slice(2);
const contestant = CONTESTANTS[name];
const begun = performance.now();
if (what === 'import') {
  await contestant.import();
  print(performance.now() - begun);
} else if (what === 'thread') {
  const { Worker } = await import('node:worker_threads');
  const [from, before] = [performance.now(), process.cpuUsage()];
  const worker = new Worker(folder, { execArgv: [], workerData: { folder: tmpdir() } });
  await once(worker, 'message');
  print(performance.now() - from, before);
  await worker.terminate();
} else {
  const db = await contestant.open(folder);
  if (what === 'fill') await db.insert(rows());
  else {
    const row = await db.get('sensor-7', 507);
    // Of the clock of performance, 0 is the start of the process.
    print(performance.now());
    if (row?.quality !== 507 % 4) throw new Error(`${name} gave another row.`);
  }
  await db.close();
}

function print(milliseconds, before) {
  const { user, system } = process.cpuUsage(before);
  const memory = process.memoryUsage().rss / 2 ** 20;
  console.log(JSON.stringify({ milliseconds, processor: (user + system) / 1000, memory }));
}
