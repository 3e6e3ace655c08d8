/** What the outbox's rows are read as. docs/formats.md has their bytes. */

import { expect, test } from 'vitest';
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { toBytes } from '../../src/bytes/index.js';
import { text } from '../../src/codec/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { isNoteOf, noteOf, readNotes } from '../../src/repository/index.js';
import { Cell, CellType, type Put, Result } from '../../src/table/index.js';

const over = (table: string) => {
  const Stay = defineEntity({
    name: 'Stay',
    table: defineTable({ name: table, families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({ at: c.column('d:a', text) }),
  });
  return { entity: compileSchema([Stay]).entity(Stay), name: 'Place at' };
};

test('a note is of the entity over its table, and of no other table, with or without a namespace', () => {
  const plans = ['stays', 'shop:stays', 'shop:old_stays', 'shop'].map(over);
  for (const plan of plans) {
    const put = noteOf(plan, toBytes('a\0b')).mutation as Put;
    const stored = put.cells.map(
      ({ family, qualifier, value }) => new Cell(put.row, family, qualifier, 1, CellType.Put, value),
    );
    const [note, ...others] = readNotes(new Result(put.row, stored));
    expect(others).toEqual([]);
    expect(note).toMatchObject({ entity: 'Stay', plan: 'Place at', target: toBytes('a\0b') });
    expect(plans.filter((one) => isNoteOf(note!, one))).toEqual([plan]);
  }
});

test('no intent is read as a note, whatever its random bytes are', () => {
  const row = toBytes('Stay\0\0a');
  const intent = new Cell(row, 'o', toBytes('t:345678'), 1, CellType.Put, toBytes('stays'));
  expect(readNotes(new Result(row, [intent]))).toEqual([]);
});
