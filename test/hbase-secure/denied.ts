/** What a user without rights leaves behind: calls that take several steps are refused before the first, or are gone on with. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { connect } from '../../src/database.js';
import { connectHBase, type HBaseEngine } from '../../src/hbase/engine.js';
import type { Authenticator } from '../../src/hbase/security/authenticator.js';
import { part, salt } from '../../src/key/index.js';
import { Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { copyTable, exportTable, importTable } from '../../src/tools/index.js';

const OLD = 'denied_old';
const NEW = 'denied_new';
const MADE = 'denied_made';
const PEOPLE = 'denied_people';

const columns = { d: {} };
const Old = defineEntity({
  name: 'Old',
  table: defineTable({ name: OLD, families: columns }),
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text) }),
});
const New = defineEntity({
  name: 'New',
  table: defineTable({ name: NEW, families: columns }),
  key: [salt(2), part('id')],
  columns: (c) => ({ name: c.column('d:n', text) }),
});
const Made = defineEntity({
  name: 'Made',
  table: defineTable({ name: MADE, families: columns }),
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text) }),
});
const Person = defineEntity({
  name: 'Person',
  table: defineTable({ name: PEOPLE, families: columns }),
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text) }),
  indexes: { byName: { on: [part('name')] } },
});

const DENIED = { code: 'ERR_SECURITY' };

type Actions = Parameters<HBaseEngine['admin']['grant']>[0]['actions'];

/** How a user connects. */
interface UserOptions {
  readonly masters: readonly string[];
  readonly retries: number;
  readonly authenticator: Authenticator;
}

/** `mightyOptions` are those of a user who may do all, `weakOptions` those of carl, who may nothing. */
export function describeDenied(
  mightyOptions: () => Promise<UserOptions>,
  weakOptions: () => Promise<UserOptions>,
): void {
  describe('a user without rights', () => {
    let mighty: HBaseEngine;
    let weak: HBaseEngine;
    let folder: string;
    beforeAll(async () => {
      mighty = await connectHBase(await mightyOptions());
      weak = await connectHBase(await weakOptions());
      folder = await mkdtemp(join(tmpdir(), 'rowan-denied-'));
    });
    afterAll(async () => {
      await mighty?.close();
      await weak?.close();
      await rm(folder, { recursive: true, force: true });
    });

    const grant = (table: string, ...actions: Actions): Promise<void> =>
      mighty.admin.grant({ user: 'carl', table, actions });
    const tables = async (): Promise<string[]> => (await mighty.admin.listTables()).map(({ name }) => name);
    const rowsOf = async (table: string): Promise<number> => {
      let count = 0;
      for await (const _ of mighty.table(table).scan(new Scan())) count++;
      return count;
    };

    it('goes on with a copy and an import that were refused, when the right is given', async () => {
      const [from, to, into] = ['denied_from', 'denied_to', 'denied_into'];
      for (const name of [from, to, into]) await mighty.admin.createTable(tableDescriptor(name, columns));
      await mighty
        .table(from)
        .putAll(Array.from({ length: 50 }, (_, n) => new Put(`r${n}`).addColumn('d', 'n', 'v')));
      await exportTable(mighty, from, join(folder, 'export'));
      // The export has made it.
      await grant('rowan_jobs', 'READ', 'WRITE');
      const copy = () => copyTable({ engine: weak, table: from }, { engine: weak, table: to });
      const load = () => importTable(weak, join(folder, 'export'), { table: into });
      await grant(from, 'READ');
      await expect(copy()).rejects.toMatchObject({ ...DENIED, details: { action: 'CREATE', table: from } });
      await grant(from, 'READ', 'CREATE');
      for (const [name, run] of [
        [to, copy],
        [into, load],
      ] as const) {
        await expect(run()).rejects.toMatchObject({ ...DENIED, details: { action: 'CREATE', table: name } });
        await grant(name, 'READ', 'CREATE');
        await expect(run()).rejects.toMatchObject({ ...DENIED, details: { action: 'WRITE', table: name } });
        expect(await rowsOf(name)).toBe(0);
        await grant(name, 'READ', 'CREATE', 'WRITE');
        expect(await run()).toMatchObject({ resumed: true, counters: { cells: 50 } });
        expect(await rowsOf(name)).toBe(50);
      }
    });

    it('reads the state of migrations, and deploys none', async () => {
      const by = { entities: [Made], tables: 'ignore' } as const;
      const one = await connect({ ...(await mightyOptions()), ...by });
      const other = await connect({ ...(await weakOptions()), ...by });
      const migration = await one.schema.makeMigration(join(folder, 'migrations'));
      const before = await tables();
      const status = await other.schema.migrationStatus(join(folder, 'migrations'));
      expect(status.upToDate).toBe(false);
      await expect(other.schema.deploy(join(folder, 'migrations'))).rejects.toMatchObject(DENIED);
      expect(await tables()).toEqual(before);
      expect((await one.schema.deploy(join(folder, 'migrations'))).applied).toEqual([migration!.name]);
      await one.close();
      await other.close();
    });

    it('reads the state of a change of keys, and leaves each of its steps to one who may take it', async () => {
      const entities = [Old, New];
      const one = await connect({ ...(await mightyOptions()), entities, tables: 'create' });
      await one.repository(Old).putMany([1, 2, 3].map((n) => ({ id: `i${n}`, name: 'Ann' })));
      const other = await connect({ ...(await weakOptions()), entities, tables: 'ignore' });
      const [rekey, denied] = [one.rekey(Old, New), other.rekey(Old, New)];
      for (const name of [OLD, NEW]) await grant(name, 'READ', 'WRITE');
      if (!(await tables()).includes('rowan_schema')) {
        expect(await denied.status()).toBeUndefined();
        await expect(denied.run()).rejects.toMatchObject({ ...DENIED, details: { action: 'CREATE' } });
      }
      expect(await rekey.run()).toMatchObject({ state: 'ready' });
      await grant('rowan_schema', 'READ');
      expect(await denied.status()).toMatchObject({ state: 'ready' });
      await expect(denied.pause()).rejects.toMatchObject(DENIED);
      await grant('rowan_schema', 'READ', 'WRITE');
      await expect(denied.cutOver()).rejects.toMatchObject(DENIED);
      expect(await rekey.status()).toMatchObject({ state: 'ready' });
      await one.repository(Old).put({ id: 'later', name: 'Bea' });
      expect(await rekey.cutOver()).toMatchObject({ state: 'cut-over' });
      await expect(denied.cleanup()).rejects.toMatchObject(DENIED);
      expect(await rekey.cleanup()).toMatchObject({ state: 'done' });
      expect(await rowsOf(NEW)).toBe(4);
      await one.close();
      await other.close();
    });

    it('leaves no entries of a new row that it may not write, and a repair settles those of others', async () => {
      const one = await connect({ ...(await mightyOptions()), entities: [Person], tables: 'create' });
      await one.repository(Person).insert({ id: 'a', name: 'Ann' });
      await one['wiring'].contexts.rest();
      await grant(PEOPLE, 'READ');
      await grant(`${PEOPLE}_idx`, 'READ', 'WRITE');
      const other = await connect({ ...(await weakOptions()), entities: [Person], tables: 'ignore' });
      const people = other.repository(Person);
      await expect(people.insert({ id: 'b', name: 'Bob' })).rejects.toMatchObject(DENIED);
      await other['wiring'].contexts.rest();
      const index = one.index(Person, 'byName');
      expect(await index.verify()).toMatchObject({ valid: 1, unverified: 0, extra: 0 });
      await expect(people.update({ id: 'a' }, { name: 'Anna' })).rejects.toMatchObject(DENIED);
      await other['wiring'].contexts.rest();
      expect(await one.repository(Person).by('byName').find({ name: 'Ann' }).all()).toEqual([
        { id: 'a', name: 'Ann' },
      ]);
      expect(await one.repository(Person).by('byName').find({ name: 'Anna' }).all()).toEqual([]);
      expect(await index.verify()).toMatchObject({ unverified: 2 });
      await index.repair({ settledAfter: 0 });
      expect(await index.verify()).toMatchObject({ valid: 1, unverified: 0, missing: 0, stale: 0, extra: 0 });
      await one.close();
      await other.close();
    });
  });
}
