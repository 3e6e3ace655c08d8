import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toStringBinary } from '../../src/bytes/index.js';
import { restoreStore } from '../../src/store/backup.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { Scan, tableDescriptor } from '../../src/table/index.js';
import { fromMiddle } from '../proof/scale.js';
import { runScript } from './run-script.js';
import { seededRandom } from './seeded-random.js';

const LIVES = fromMiddle(5, 120);

/** Rows with their values; a batch has two rows, so half of one shows. */
async function rowsOf(engine: EmbeddedEngine): Promise<Map<string, string>> {
  const rows = new Map<string, string>();
  for await (const result of engine.table('t').scan(new Scan()))
    rows.set(
      toStringBinary(result.row),
      result.cells.map(({ family, value }) => `${family} ${toStringBinary(value)}`).join(),
    );
  return rows;
}

it(
  'the log of a process that is killed is archived whole by the next one; until then it ends with whole writes',
  async () => {
    const root = mkdtempSync(join(tmpdir(), 'rowan-archive-kill-'));
    const [folder, archive, backups, target] = ['store', 'archive', 'backups', 'restored'].map((name) =>
      join(root, name),
    ) as [string, string, string, string];
    const random = seededRandom(5);
    const restored = async (): Promise<Map<string, string>> => {
      await restoreStore(backups, target, { log: archive });
      const engine = await openEmbedded(target, { background: 'inline', automatic: false });
      const rows = await rowsOf(engine);
      await engine.close();
      rmSync(target, { recursive: true });
      return rows;
    };
    try {
      const begun = await openEmbedded(folder, { background: 'inline', logArchive: archive });
      await begun.admin.createTable(tableDescriptor('t', { a: { compression: 'GZ' }, b: {} }));
      await begun.backup(backups);
      await begun.close();
      let next = 1;
      for (let life = 0; life < LIVES; life++) {
        const writer = runScript('test/crash/kill-writer.ts', [folder, String(next), 'SYNC_WAL', 'files']);
        await writer.count(20 + Math.floor(random() * 200));
        // The copy of a tail may be under way then.
        if (life % 2 === 1) await new Promise((resolve) => setTimeout(resolve, 900 + random() * 300));
        writer.kill();
        expect(await writer.exit).toBe('SIGKILL');
        const fromArchive = await restored();
        for (const row of fromArchive.keys())
          if (row.startsWith('batch'))
            expect(fromArchive.has(row.replace(/[xy]$/, row.endsWith('x') ? 'y' : 'x'))).toBe(true);
        const engine = await openEmbedded(folder, { background: 'inline', automatic: false });
        const rows = await rowsOf(engine);
        await engine.close();
        const acknowledged = writer.lines.flatMap((line) => /^row (\d+) (\d+)\.$/.exec(line)?.slice(1) ?? []);
        expect(acknowledged.length).toBeGreaterThan(0);
        for (let i = 0; i < acknowledged.length; i += 2)
          expect(rows.has(`row-${acknowledged[i]}-${acknowledged[i + 1]}`)).toBe(true);
        // A load that was killed may be in the archive and not in the store, until the opening takes it back.
        const isLoad = (row: string): boolean => Number(/^row-\d+-(\d+)$/.exec(row)?.[1]) % 7 === 1;
        for (const row of fromArchive.keys()) if (!isLoad(row)) expect(rows.has(row), row).toBe(true);
        expect(await restored()).toEqual(rows);
        next += 100_000;
      }
      expect(existsSync(join(folder, 'ARCHIVE'))).toBe(true);
    } finally {
      rmSync(root, { recursive: true });
    }
  },
  fromMiddle(600_000, 6_000_000),
);
