import { expect, it } from 'vitest';
import type { Presplit } from '../../decorators/index.js';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { int32 } from '../../src/codec/index.js';
import { date, fixedString, type KeyElement, part, uint32 } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { lintTables } from '../../src/schema/lint/lint.js';

function compile(presplit: Presplit, ...key: KeyElement[]) {
  const entity = defineEntity({
    name: 'Row',
    table: defineTable({ name: 'rows', families: { d: {} }, presplit }),
    key: key as unknown as readonly [],
    columns: (c) => ({ v: c.column('d:v', int32) }),
  });
  const { tables, warnings } = compileSchema([entity]);
  const splits = tables[0]!.splitKeys;
  return { splits, printed: splits.map((split) => Buffer.from(split).toString('latin1')), warnings, tables };
}

it("splits by HBase's own algorithms", () => {
  expect(compile({ regions: 4, algorithm: 'HexStringSplit' }, part('id')).printed).toEqual([
    '40000000',
    '80000000',
    'c0000000',
  ]);
  expect(compile({ regions: 4, algorithm: 'DecimalStringSplit' }, part('id')).printed).toEqual([
    '25000000',
    '50000000',
    '75000000',
  ]);
  expect(
    compile({ regions: 2, algorithm: 'UniformSplit' }, part('id')).splits.map((split) =>
      Uint8Array.from(split),
    ),
  ).toEqual([Uint8Array.of(0x80, 0, 0, 0, 0, 0, 0, 0)]);
  expect(() => compile({ regions: 2, algorithm: 'Other' as 'UniformSplit' }, part('id'))).toThrow(
    /Unknown split algorithm "Other"/,
  );
});

it('splits samples, given as keys or as rows, into equal shares', () => {
  const samples = Array.from({ length: 100 }, (_, n) => ({ n }));
  const { splits } = compile({ regions: 4, samples }, part('n', uint32));
  expect(splits.map((split) => Buffer.from(split).readUInt32BE())).toEqual([25, 50, 75]);
  const rows = ['a', 'b', 'c', 'd'].map((text) => Buffer.from(text));
  expect(compile({ regions: 2, samples: rows }, part('id')).printed).toEqual(['c']);
});

it('stays in the alphabet of the ends between which it splits', () => {
  const { printed } = compile({ regions: 10, between: ['00', 'ff'] }, part('id'));
  expect(printed).toHaveLength(9);
  for (const split of printed) expect(split).toMatch(/^[0-9a-f]+$/);
  const days = [new Date('2026-01-01'), new Date('2026-02-01')] as const;
  expect(compile({ regions: 8, between: days }, part('at', date)).splits).toHaveLength(7);
});

it('says when the keys tell fewer regions than were asked for', () => {
  const { splits, warnings, tables } = compile({ regions: 10 }, part('id', fixedString(16)));
  expect(splits).toEqual([]);
  expect(warnings.join()).toMatch(/is to begin with 10 regions, but its keys tell 1\..*samples/);
  expect(lintTables(tables)).toContainEqual(
    expect.objectContaining({ code: 'few-regions', severity: 'warning' }),
  );
  expect(compile({ regions: 10, algorithm: 'HexStringSplit' }, part('id')).warnings).toEqual([]);
});
