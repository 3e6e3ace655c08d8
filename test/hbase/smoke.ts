import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Append,
  CheckAndMutate,
  Delete,
  type Engine,
  filters,
  Get,
  Increment,
  Put,
  RowMutations,
  Scan,
  type Table,
  tableDescriptor,
} from '../../src/table/index.js';
import { dropTable, uniqueTable } from './tables.js';

/** A way through every operation of a table once, to see at a glance what does not work at all. */
export function describeTable(what: string, connect: () => Promise<Engine>): void {
  describe(what, () => {
    const name = uniqueTable('smoke');
    let engine: Engine;
    let table: Table;

    beforeAll(async () => {
      engine = await connect();
      await engine.admin.createTable(tableDescriptor(name, { a: { versions: 3 }, b: {} }), [
        Buffer.from('m'),
        Buffer.from('scan-k'),
      ]);
      table = engine.table(name);
    });
    afterAll(async () => {
      await dropTable(engine, name);
      await engine.close();
    });

    const value = async (row: string, column: string) => {
      const [family = '', qualifier = ''] = column.split(':');
      const bytes = (await table.get(new Get(row))).getValue(family, qualifier);
      return bytes === undefined ? undefined : Buffer.from(bytes).toString();
    };

    it('puts, gets and deletes', async () => {
      await table.put(new Put('r1').addColumn('a', 'x', '1').addColumn('b', '', 'empty qualifier'));
      expect(await value('r1', 'a:x')).toBe('1');
      expect(await value('r1', 'b:')).toBe('empty qualifier');
      expect(await table.exists(new Get('r1'))).toBe(true);
      await table.delete(new Delete('r1').addColumns('a', 'x'));
      expect(await value('r1', 'a:x')).toBeUndefined();
      await table.delete(new Delete('r1'));
      expect(await table.exists(new Get('r1'))).toBe(false);
    });

    it('keeps versions and timestamps', async () => {
      for (const ts of [5, 7, 6]) await table.put(new Put('v').addColumn('a', 'x', String(ts), ts));
      const result = await table.get(new Get('v').readAllVersions());
      expect(result.cells.map((cell) => cell.timestamp)).toEqual([7, 6, 5]);
      expect(
        (await table.get(new Get('v').setTimestamp(6))).cells.map((cell) => String(cell.value)),
      ).toHaveLength(1);
    });

    it('increments and appends', async () => {
      const added = await table.increment(
        new Increment('n').addColumn('a', 'n', 2n ** 40n).addColumn('b', 'n', -1),
      );
      expect(Buffer.from(added.getValue('a', 'n') ?? []).readBigInt64BE()).toBe(2n ** 40n);
      expect(Buffer.from(added.getValue('b', 'n') ?? []).readBigInt64BE()).toBe(-1n);
      await table.append(new Append('n').addColumn('a', 's', 'ab'));
      const longer = await table.append(new Append('n').addColumn('a', 's', 'c'));
      expect(Buffer.from(longer.getValue('a', 's') ?? []).toString()).toBe('abc');
    });

    it('checks and mutates', async () => {
      const first = new Put('c').addColumn('a', 'x', '1');
      const missing = CheckAndMutate.ifNotExists('a', Buffer.from('x'), first);
      expect((await table.checkAndMutate(missing)).success).toBe(true);
      expect((await table.checkAndMutate(missing)).success).toBe(false);
      const second = new RowMutations('c').add(
        new Put('c').addColumn('a', 'y', '2'),
        new Delete('c').addColumns('a', 'x'),
      );
      const equal = CheckAndMutate.ifEquals('a', Buffer.from('x'), Buffer.from('1'), second);
      expect((await table.checkAndMutate(equal)).success).toBe(true);
      expect(await value('c', 'a:x')).toBeUndefined();
      expect(await value('c', 'a:y')).toBe('2');
    });

    it('answers a batch item by item, over regions', async () => {
      const outcomes = await table.batch([
        new Put('d').addColumn('a', 'x', '1'),
        new Put('z').addColumn('a', 'x', '2'),
        new Put('e').addColumn('nofamily', 'x', '3'),
        new Get('d'),
        new Get('z'),
      ]);
      expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true, false, true, true]);
      expect(outcomes[2]).toMatchObject({
        ok: false,
        error: { code: 'ERR_NO_SUCH_FAMILY', retryable: false },
      });
      const results = await table.getAll(['d', 'none', 'z'].map((row) => new Get(row)));
      expect(results.map((result) => Buffer.from(result.getValue('a', 'x') ?? []).toString())).toEqual([
        '1',
        '',
        '2',
      ]);
    });

    it('scans over regions, in both directions, with a limit and a pushed filter', async () => {
      const rows = Array.from(
        { length: 40 },
        (_, i) => `${i % 2 === 0 ? 'scan-j' : 'scan-n'}${String(i).padStart(3, '0')}`,
      );
      await table.putAll(rows.map((row) => new Put(row).addColumn('a', 'x', row)));
      const read = async (scan: Scan) => {
        const found: string[] = [];
        for await (const result of table.scan(scan)) found.push(Buffer.from(result.row).toString());
        return found;
      };
      const sorted = [...rows].sort();
      const range = () => new Scan().withStartRow('scan-').withStopRow('scan-~');
      expect(await read(range().setCaching(7))).toEqual(sorted);
      const reversed = new Scan().setReversed(true).withStartRow('scan-~').withStopRow('scan-', true);
      expect(await read(reversed.setCaching(7))).toEqual(sorted.toReversed());
      expect(await read(range().setLimit(25))).toEqual(sorted.slice(0, 25));
      expect(await read(range().setFilter(filters.prefix('scan-n')))).toEqual(
        sorted.filter((row) => row.startsWith('scan-n')),
      );
    });

    it('says which table is not there', async () => {
      await expect(engine.table('no_such_table').get(new Get('r'))).rejects.toMatchObject({
        code: 'ERR_TABLE_NOT_FOUND',
        details: { table: 'no_such_table' },
      });
    });
  });
}
