/** Verifying by several threads reports what one thread reports, and finds the same damage; it ends when something fails. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { StoreEvent } from '../../../src/store/events.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { openReadOnly } from '../../../src/store/read-only/read-only-store.js';
import { Put, tableDescriptor } from '../../../src/table/index.js';
import { fromMiddle } from '../../proof/scale.js';
import { change } from '../read-only/random-store.js';

async function withStore(
  options: EmbeddedOptions,
  body: (engine: EmbeddedEngine, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-verify-'));
  const path = join(folder, 'store');
  const engine = await openEmbedded(path, { automatic: false, ...options });
  try {
    await body(engine, path);
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true });
  }
}

/** Files of 1, 2 and 3 times so many rows. */
async function fill(engine: EmbeddedEngine, rows = 500): Promise<void> {
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  for (const file of [1, 2, 3]) {
    const puts = Array.from({ length: rows * file }, (_, n) =>
      new Put(`row${n}`).addColumn('f', `q${file}`, 'v'.repeat(500)),
    );
    await engine.table('t').putAll(puts);
    await engine.admin.flush('t');
  }
}

function filesOf(path: string): string[] {
  return readdirSync(path)
    .filter((name) => name.endsWith('.sst'))
    .map((name) => join(path, name));
}

function damage(file: string, place = 0.5): void {
  const bytes = readFileSync(file);
  bytes[Math.floor(bytes.length * place)]! ^= 1;
  writeFileSync(file, bytes);
}

test('random stores have the same report, also one that is opened read-only', async () => {
  let state = 20261126;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  await withStore({}, async (engine, path) => {
    for (let step = 0; step < fromMiddle(600, 3000); step++) {
      await change(engine, random, step);
      if (step % 10 > 0) continue;
      const expected = await engine.verify();
      const seen: number[] = [];
      const threads = 2 + (step % 3);
      const report = await engine.verify({ threads, onProgress: ({ bytes }) => seen.push(bytes) });
      expect(report, `step ${step}`).toEqual(expected);
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
    }
    await using other = await openReadOnly(path);
    expect(await other.verify({ threads: 2 })).toEqual(await engine.verify());
  });
});

test('an encrypted store is verified by threads too', () =>
  withStore({ encryption: { keyId: 'k', key: () => Buffer.alloc(32, 1) } }, async (engine) => {
    await fill(engine, 50);
    expect(await engine.verify({ threads: 2 })).toEqual(await engine.verify());
  }));

test('damage is found wherever it is, and is an event; no file stays retained', async () => {
  for (const damaged of fromMiddle([0, 1, 2], [0, 1, 2])) {
    const events: StoreEvent[] = [];
    await withStore({ onEvent: (event) => events.push(event) }, async (engine, path) => {
      await fill(engine, 50);
      const file = filesOf(path)[damaged]!;
      const bytes = readFileSync(file);
      damage(file);
      await expect(engine.verify({ threads: 2 })).rejects.toMatchObject({
        code: 'ERR_CORRUPTION',
        details: { file },
      });
      expect(events.filter(({ kind }) => kind === 'corruption')).toHaveLength(1);
      writeFileSync(file, bytes);
      await engine.verify({ threads: 2 });
      await engine.admin.majorCompact('t');
      expect(filesOf(path)).toHaveLength(1);
    });
  }
});

test('a large file is verified in ranges that cover it, and damage in the last of them is found', async () => {
  const values = Array.from({ length: 17 }, (_, n) =>
    new Put(`row${n}`).addColumn('f', 'q', Buffer.alloc(1 << 20)),
  );
  const folder = mkdtempSync(join(tmpdir(), 'rowan-verify-'));
  const [workerPath, log] = [join(folder, 'worker.mjs'), join(folder, 'log')];
  // Fails, so that the calling thread verifies the same ranges.
  writeFileSync(
    workerPath,
    `import { appendFileSync } from 'node:fs';
     import { parentPort } from 'node:worker_threads';
     parentPort.on('message', ({ scan, blocks }) => {
       if (blocks === undefined) return;
       appendFileSync(${JSON.stringify(log)}, blocks.from + ' ' + blocks.to + '\\n');
       parentPort.postMessage({ scan, failed: { code: 'ERR_IO', message: 'gone', details: {} } });
     });`,
  );
  try {
    for (const options of [{}, { workerPath }])
      await withStore(options, async (engine, path) => {
        await engine.admin.createTable(tableDescriptor('t', { f: {} }));
        await engine.table('t').putAll(values);
        await engine.admin.flush('t');
        expect(await engine.verify({ threads: 2 })).toEqual(await engine.verify());
        const [file] = filesOf(path);
        damage(file!, 0.9);
        await expect(engine.verify({ threads: 2 })).rejects.toMatchObject({ details: { file } });
      });
    const ranges = new Set(readFileSync(log, 'latin1').trim().split('\n'));
    expect([...ranges].sort()).toEqual(['0 7', '14 17', '7 14']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('stop, and the close of the store, end it', () =>
  withStore({}, async (engine, path) => {
    await fill(engine);
    const stopped = engine.startVerify({ threads: 2, onProgress: () => stopped.stop() });
    await expect(stopped.done).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    const paused = engine.startVerify({ threads: 2 });
    paused.pause();
    await engine.admin.majorCompact('t');
    paused.stop();
    await expect(paused.done).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    expect(filesOf(path)).toHaveLength(1);
    const closed = engine.startVerify({ threads: 2 });
    await engine.close();
    await expect(closed.done).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  }));

test('files are read by the calling thread when a thread ends, or cannot open one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-verify-'));
  const workerPath = join(folder, 'worker.mjs');
  try {
    for (const reply of [
      'process.exit(1)',
      "parentPort.postMessage({ scan: message.scan, failed: { code: 'ERR_IO', message: 'gone', details: {} } })",
    ]) {
      writeFileSync(
        workerPath,
        `import { parentPort } from 'node:worker_threads';
         parentPort.on('message', (message) => { if ('verify' in message) ${reply}; });`,
      );
      await withStore({ workerPath }, async (engine, path) => {
        await fill(engine, 50);
        expect(await engine.verify({ threads: 2 })).toEqual(await engine.verify());
        const [file] = filesOf(path);
        damage(file!);
        await expect(engine.verify({ threads: 2 })).rejects.toMatchObject({ details: { file } });
      });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('threads is a whole number from 1 on', () =>
  withStore({}, async (engine) => {
    for (const threads of [0, 1.5, -1, '2' as never])
      expect(() => engine.startVerify({ threads })).toThrow(/threads is a positive integer/);
  }));
