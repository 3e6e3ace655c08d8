/** Migrations: their files, and how they are deployed on the embedded store. */

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../../src/database.js';
import { type Allowance, readMigrations } from '../../../src/ddl/index.js';
import { openEmbedded } from '../../../src/store/engine.js';
import type { Engine } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { compiled, schemaPairs } from '../random-schemas.js';
import { deploySuite } from './deploy-suite.js';
import { type Release, toolsOf } from './releases.js';

const openInMemory = (): Promise<Engine> =>
  openEmbedded('/store', { fileSystem: new MemoryFileSystem(), background: 'inline', automatic: false });

describe('deploying on the embedded store', () => {
  let engine: Engine;
  deploySuite({
    engine: async () => {
      engine = await openInMemory();
      return engine;
    },
    other: async () => engine,
    table: () => 'shop:orders',
    end: () => engine.close(),
  });

  it('leaves nothing to do, whatever the declarations were and become', async () => {
    await fc.assert(
      fc.asyncProperty(schemaPairs('ns:things'), async (pair) => {
        const folder = mkdtempSync(join(tmpdir(), 'rowan-migrate-'));
        const store = await openInMemory();
        try {
          for (const schema of pair.map(compiled)) {
            const tools = new Database(schema, store).schema;
            const { steps } = (await tools.makeMigration(folder, { title: 'plan' })) ?? { steps: [] };
            const last = readdirSync(folder).sort().at(-1)!;
            const file = join(folder, last, 'plan.json');
            // As a reviewer allows what the file has.
            const losses = steps.filter((step) => step.class === 'data-loss');
            const allow: Allowance[] = [
              'meaning',
              'offline',
              ...losses.map(({ id }): Allowance => `data-loss:${id}`),
            ];
            writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), allow }));
            const { status } = await tools.deploy(folder);
            expect(status).toMatchObject({ upToDate: true, drift: [], held: [] });
            expect((await tools.plan()).steps).toEqual([]);
          }
        } finally {
          await store.close();
          rmSync(folder, { recursive: true });
        }
      }),
      { numRuns: scaled(1, 20, 300) },
    );
  });
});

describe('the files of migrations', () => {
  let folder: string;
  let engine: Engine;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rowan-migrate-'));
    engine = await openInMemory();
  });
  afterEach(async () => {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const make = (release: Release, title: string) =>
    toolsOf(engine, 'orders', release).makeMigration(folder, { title });

  it('are named by time and title, in order even where the clock goes back', async () => {
    const first = (await make({}, 'Orders, with "é"!'))!;
    expect(first.name).toMatch(/^2\d{13}_orders_with$/);
    const ahead = `9${first.name.slice(1)}`;
    renameSync(join(folder, first.name), join(folder, ahead));
    const second = (await make({ note: true }, ''))!;
    expect(second.name > ahead).toBe(true);
    expect(readMigrations(folder).map(({ name, previous }) => [name, previous])).toEqual([
      [ahead, undefined],
      [second.name, first.checksum],
    ]);
    expect(readFileSync(join(folder, second.name, 'plan.txt'), 'utf8')).toMatch(
      /^\+ stamp:orders\/rowan\.record {2}\[online\]\n.*entities\.Order\.columns\.note.*Back-outs.*: none, the stamp stays/s,
    );
    expect(await make({ note: true }, 'again')).toBeUndefined();
  });

  it('follow each other: a branch that was merged in between is refused', async () => {
    const [first, second] = [(await make({}, 'one'))!, (await make({ note: true }, 'two'))!];
    mkdirSync(join(folder, '.20260101000000_half.tmp'));
    expect(readMigrations(folder)).toHaveLength(2);
    const other = `${first.name.slice(0, 14)}_zzz`;
    mkdirSync(join(folder, other));
    for (const file of readdirSync(join(folder, first.name)))
      writeFileSync(join(folder, other, file), readFileSync(join(folder, first.name, file)));
    expect(() => readMigrations(folder)).toThrow(
      new RegExp(`${other} was made after no other migration, but ${first.name} stands before it`),
    );
    rmSync(join(folder, other), { recursive: true });
    rmSync(join(folder, first.name), { recursive: true });
    expect(() => readMigrations(folder)).toThrow(
      `${second.name} was made after a migration with the checksum`,
    );
  });

  it('that cannot be read are named', async () => {
    const { name } = (await make({}, 'one'))!;
    const file = join(folder, name, 'plan.json');
    writeFileSync(file, '{"format":2}');
    expect(() => readMigrations(folder)).toThrow(/its format is 2, but this version of Rowan reads only 1/);
    writeFileSync(file, '{"format":1,"steps":{}}');
    expect(() => readMigrations(folder)).toThrow('"steps" and "allow" must be arrays');
    rmSync(join(folder, name, 'schema.json'));
    writeFileSync(file, '{"format":1,"steps":[],"allow":[]}');
    expect(() => readMigrations(folder)).toThrow(/cannot be read: ENOENT.*Restore it/);
  });

  it('say which folder cannot be read or made', async () => {
    writeFileSync(join(folder, 'file'), '');
    const into = (path: string) => toolsOf(engine, 'orders', {}).makeMigration(join(folder, path));
    await expect(into('file')).rejects.toMatchObject({
      code: 'ERR_IO',
      message: expect.stringMatching(/The migrations in .*file cannot be read: ENOTDIR.*Give a folder/),
    });
    await expect(into('file/migrations')).rejects.toMatchObject({
      code: 'ERR_IO',
      message: expect.stringMatching(
        /The migration .*orders cannot be written: Could not make .*ENOTDIR.*check the path/,
      ),
    });
  });

  it('are not made of what no step can bring about', async () => {
    await make({ kind: 'text' }, 'one');
    await expect(make({ kind: 'int32' }, 'two')).rejects.toThrow(
      /No migration was made:\nTable "orders": .*d:k was written/,
    );
    await expect(
      toolsOf(engine, 'orders', { versions: 2 }).makeMigration(folder, { allow: ['data-loss:none'] }),
    ).rejects.toThrow('Nothing of this plan can be allowed');
    expect(readdirSync(folder)).toHaveLength(1);
  });
});
