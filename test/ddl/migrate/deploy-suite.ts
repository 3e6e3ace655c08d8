/** What deploying migrations does, on any engine. */

import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Allowance, ControlTable } from '../../../src/ddl/index.js';
import type { Engine } from '../../../src/table/index.js';
import { type Release, toolsOf } from './releases.js';

interface DeploySuite {
  readonly engine: () => Promise<Engine>;
  /** Another client of the same tables. */
  readonly other: () => Promise<Engine>;
  /** A name of its own. */
  readonly table: () => string;
  readonly end: () => Promise<void>;
}

export function deploySuite({ engine: engineOf, other, table: tableOf, end }: DeploySuite): void {
  let folder: string;
  let engine: Engine;
  let table: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rowan-migrate-'));
    engine = await engineOf();
    table = tableOf();
  });
  afterEach(async () => {
    // The migrations of other tests are none of the next one's folder.
    await forget(engine);
    await end();
    rmSync(folder, { recursive: true, force: true });
  });

  const tools = (release: Release, at: Engine = engine) => toolsOf(at, table, release);
  const make = async (release: Release, title: string, ...allow: Allowance[]): Promise<string> =>
    (await tools(release).makeMigration(folder, { title, allow }))!.name;
  const states = async (release: Release): Promise<string[]> =>
    (await tools(release).migrationStatus(folder)).migrations.map(({ state }) => state);
  const family = async (name = 'd') =>
    (await engine.admin.getDescriptor(table)).families.find((each) => each.name === name);

  it('applies what is pending, in order, and nothing twice', async () => {
    const first = await make({}, 'orders');
    const second = await make({ versions: 3, byStatus: true }, 'history');
    const release = { versions: 3, byStatus: true };
    const before = await tools(release).migrationStatus(folder);
    expect([before.upToDate, before.declared, before.drift]).toEqual([false, true, []]);
    expect(await states(release)).toEqual(['pending', 'pending']);
    const deployed = await tools(release).deploy(folder);
    expect(deployed.applied).toEqual([first, second]);
    expect(deployed.done.map(({ id }) => id)).toContain(`build-index:${table}/Order.byStatus`);
    expect(deployed.status).toMatchObject({ upToDate: true, drift: [], held: [] });
    expect((await family())!.versions).toBe(3);
    const third = await make({ ...release, note: true }, 'note');
    expect((await tools({ ...release, note: true }).deploy(folder)).applied).toEqual([third]);
    const again = await tools({ ...release, note: true }).deploy(folder);
    expect([again.applied, again.done]).toEqual([[], []]);
    // A server keeps the entries of other tests, too.
    const history = (await tools(release).history())
      .filter((entry) => entry.migration !== undefined)
      .slice(-3);
    expect(history.map((entry) => entry.migration)).toEqual([first, second, third]);
    expect(history.every(({ intact, state }) => intact && state === 'done')).toBe(true);
  });

  it('is done once when two processes deploy at once', async () => {
    const first = await make({}, 'orders');
    const second = await make({ versions: 4, extra: true }, 'more');
    const release = { versions: 4, extra: true };
    const both = await Promise.all(
      [engine, await other()].map((at) => tools(release, at).deploy(folder, { leaseMs: 10_000 })),
    );
    expect(both.flatMap(({ applied }) => applied).sort()).toEqual([first, second]);
    const ids = both.flatMap(({ done }) => done.map(({ id }) => id));
    expect(ids).toEqual([...new Set(ids)]);
    expect(both.map(({ status }) => status.upToDate)).toEqual([true, true]);
  });

  it('continues where a step failed', async () => {
    await make({}, 'orders');
    const release = { versions: 2, extra: true, byStatus: true };
    const second = await make(release, 'more');
    const failing = tools(release).deploy(folder, {
      onStep: ({ kind }) => {
        if (kind === 'create-table') throw new Error('killed');
      },
    });
    await expect(failing).rejects.toThrow('killed');
    expect(await states(release)).toEqual(['unfinished', 'pending']);
    const { applied, status } = await tools(release).deploy(folder);
    expect(applied.at(-1)).toBe(second);
    expect(status).toMatchObject({ upToDate: true, drift: [] });
  });

  it('holds back what no migration allows, until a later one does', async () => {
    await make({ extra: true, versions: 5 }, 'orders');
    await tools({ extra: true, versions: 5 }).deploy(folder);
    const second = await make({}, 'less');
    const held = [`drop-family:${table}/x`, `versions:${table}/d`];
    const { status, done } = await tools({}).deploy(folder);
    expect([status.upToDate, status.held.map(({ id }) => id).sort(), done]).toEqual([true, held, []]);
    expect(readFileSync(join(folder, second, 'plan.txt'), 'utf8')).toContain(
      `Waits for --allow data-loss:drop-family:${table}/x`,
    );
    expect(await tools({}).makeMigration(folder)).toBeUndefined();
    await make({}, 'drop x', `data-loss:drop-family:${table}/x`);
    const later = await tools({}).deploy(folder);
    expect(later.done.map(({ id }) => id)).toEqual([`drop-family:${table}/x`]);
    expect(later.status.held.map(({ id }) => id)).toEqual([`versions:${table}/d`]);
    expect([await family('x'), (await family())!.versions]).toEqual([undefined, 5]);
  });

  it('does a step that two pending migrations have as the later one allows', async () => {
    await make({ versions: 5 }, 'orders');
    await tools({ versions: 5 }).deploy(folder);
    await make({ versions: 3 }, 'three', `data-loss:versions:${table}/d`);
    await make({ versions: 2 }, 'two');
    const { applied, done, status } = await tools({ versions: 2 }).deploy(folder);
    expect([applied.length, done, (await family())!.versions]).toEqual([2, [], 5]);
    expect(status.held.map(({ id }) => id)).toEqual([`versions:${table}/d`]);
  });

  it('tells drift, and leaves it alone', async () => {
    await make({ versions: 2 }, 'orders');
    await tools({ versions: 2 }).deploy(folder);
    await tools({ versions: 7 }).apply();
    const status = await tools({ versions: 2 }).migrationStatus(folder);
    expect([status.upToDate, status.drift.map(({ id }) => id)]).toEqual([false, [`versions:${table}/d`]]);
    await make({ versions: 2, note: true }, 'note');
    const { status: after, applied } = await tools({ versions: 2, note: true }).deploy(folder);
    expect([applied.length, after.drift.length, (await family())!.versions]).toEqual([1, 1, 7]);
  });

  it('does not call drift what the next migration will do', async () => {
    const first = await tools({ extra: true }).migrationStatus(folder);
    expect([first.declared, first.drift]).toEqual([false, []]);
    await make({ extra: true }, 'orders');
    await tools({ extra: true }).deploy(folder);
    await tools({ extra: true, versions: 7 }).apply();
    const next = { note: true, byStatus: true };
    const status = await tools(next).migrationStatus(folder);
    expect([status.declared, status.upToDate]).toEqual([false, false]);
    expect(status.drift.map(({ id }) => id)).toEqual([`versions:${table}/d`]);
  });

  it('undoes nothing of a step that it held back', async () => {
    await make({ extra: true, versions: 5 }, 'orders');
    await tools({ extra: true, versions: 5 }).deploy(folder);
    await make({}, 'less');
    await tools({}).deploy(folder);
    const { kept, done, held } = (await tools({}).undoMigration(folder))!;
    expect([done, held, [...kept].sort()]).toEqual([
      [],
      [],
      [
        `drop-family:${table}/x: nothing to undo, the migration did not allow it`,
        `versions:${table}/d: nothing to undo, the migration did not allow it`,
      ],
    ]);
  });

  it('does nothing when files were changed, are missing, or are not of these declarations', async () => {
    const first = await make({}, 'orders');
    await expect(tools({ note: true }).deploy(folder)).rejects.toThrow(
      /declarations differ from the last migration/,
    );
    await tools({}).deploy(folder);
    const file = join(folder, first, 'plan.json');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('"allow": []', '"allow": ["meaning"]'));
    expect(await states({})).toEqual(['changed']);
    await expect(tools({}).deploy(folder)).rejects.toThrow(`${first} was changed after it was deployed`);
    await expect(tools({}).undoMigration(folder)).rejects.toThrow('was changed after it was deployed');
    rmSync(join(folder, first), { recursive: true });
    expect(await states({})).toEqual(['missing']);
    await expect(tools({}).deploy(folder)).rejects.toThrow(
      `${first} was deployed, but the folder does not have it`,
    );
  });

  it('undoes options, families and indexes, and says what stays', async () => {
    await make({}, 'orders');
    const release = { versions: 4, extra: true, byStatus: true, note: true };
    const second = await make(release, 'more');
    await tools(release).deploy(folder);
    const undone = await tools(release).undoMigration(folder);
    expect(undone).toMatchObject({ name: second });
    expect(undone!.held.map(({ id }) => id).sort()).toEqual([
      `drop-family:${table}/x`,
      `versions:${table}/d`,
    ]);
    expect(undone!.done).toMatchObject([{ kind: 'drop-index' }]);
    expect((await tools(release).history()).slice(-2)).toMatchObject([
      { migration: second, state: 'done', steps: expect.arrayContaining([expect.anything()]) },
      { migration: second, state: 'done', undo: true, intact: true },
    ]);
    expect((await tools(release).history()).filter(({ undo }) => undo)).toHaveLength(1);
    expect(undone!.kept.join('\n')).toContain(`stamp:${table}/rowan.record: the stamp stays`);
    expect(await states(release)).toEqual(['applied', 'pending']);
    await tools(release).deploy(folder);
    const allow = undone!.held.map(({ id }): Allowance => `data-loss:${id}`);
    await tools(release).undoMigration(folder, { allow });
    expect([await family('x'), (await family())!.versions]).toEqual([undefined, 1]);
    expect((await tools(release).deploy(folder)).status.upToDate).toBe(true);
    expect((await family())!.versions).toBe(4);
  });

  it('leaves the migrations of another program alone, whose tables are others', async () => {
    const theirs = join(folder, 'theirs');
    const otherTable = `${table}_theirs`;
    const others = (release: Release) => toolsOf(engine, otherTable, release);
    const first = await make({}, 'orders');
    const made = await others({}).makeMigration(theirs, { title: 'orders' });
    // Both were made in the same second, under the same title.
    if (made!.name !== first) renameSync(join(theirs, made!.name), join(theirs, first));
    expect((await tools({}).deploy(folder)).applied).toEqual([first]);
    expect((await others({}).migrationStatus(theirs)).migrations).toMatchObject([
      { name: first, state: 'pending' },
    ]);
    const deployed = await others({}).deploy(theirs);
    expect(deployed).toMatchObject({ applied: [first], status: { upToDate: true } });
    expect(deployed.done.map(({ table: each }) => each)).toContain(otherTable);
    const second = (await others({ versions: 2 }).makeMigration(theirs))!.name;
    await others({ versions: 2 }).deploy(theirs);
    expect(await tools({}).migrationStatus(folder)).toMatchObject({
      upToDate: true,
      migrations: [{ name: first, state: 'applied' }],
    });
    // The last one of this folder, not of the database.
    expect(await tools({}).undoMigration(folder)).toMatchObject({ name: first });
    expect(await states({})).toEqual(['pending']);
    expect((await others({ versions: 2 }).migrationStatus(theirs)).migrations).toMatchObject([
      { name: first, state: 'applied' },
      { name: second, state: 'applied' },
    ]);
    expect((await tools({}).deploy(folder)).applied).toEqual([first]);
    // One's own is found to be missing though another's has the same name.
    rmSync(join(folder, first), { recursive: true });
    expect((await tools({}).migrationStatus(folder)).migrations).toMatchObject([
      { name: first, state: 'missing' },
    ]);
  });

  it('takes records of earlier releases, which do not name their tables, as its own', async () => {
    const first = await make({}, 'orders');
    await tools({}).deploy(folder);
    const control = new ControlTable(engine.table('rowan_schema'));
    const before = (await control.read<{ tables?: string[] }>(Buffer.from(`m${first}`)))!;
    expect(before.value.tables).toEqual([table]);
    const { tables: _, ...earlier } = before.value;
    await control.change(before.row, before, earlier);
    expect(await states({})).toEqual(['applied']);
    rmSync(join(folder, first), { recursive: true });
    expect(await states({})).toEqual(['missing']);
    await expect(tools({}).deploy(folder)).rejects.toThrow('the folder does not have it');
  });
}

/** Removes the records of all migrations. */
async function forget(engine: Engine): Promise<void> {
  if (!(await engine.admin.tableExists('rowan_schema'))) return;
  const { Delete, Scan } = await import('../../../src/table/index.js');
  const control = engine.table('rowan_schema');
  for await (const { row } of control.scan(new Scan().setStartStopRowForPrefix(Buffer.from('m'))))
    await control.delete(new Delete(row));
}
