/** What is refused of declared summaries, each with what to do; and what an entity with one refuses. */

import { expect, test } from 'vitest';
import { rawDecimal } from '../../src/codec/index.js';
import { Column, Columns, Counter, Entity, Json, part, RowKey, Summary, text } from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openMemory } from '../../src/testing/index.js';
import { Order } from './entities.js';

const table = { name: 'wrong', families: { d: {}, m: {}, t: { ttl: 60 } } };

function problems(definition: unknown, name: unknown = 'one', options: object = {}): string {
  @Entity({ table, ...options })
  @RowKey(part('id'))
  class Wrong {
    declare static readonly key: ['id'];
    id!: string;
    @Column('d:s', text) status?: string | null;
    @Column('d:r', rawDecimal) raw?: string | null;
    @Column('t:e', text) ending?: string | null;
    @Json('d:j') list?: string[] | null;
    @Columns('m:', { value: text }) map?: Map<string, string>;
    @Counter('d:n') hits?: bigint;
  }
  (Summary as (...args: unknown[]) => (target: unknown) => void)(name, definition)(Wrong);
  try {
    compileSchema([Wrong]);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

test('what is no declaration is said, with the mend', () => {
  const figures = { rows: 'count' };
  const by = ['status'];
  expect(problems({ by, figures })).toBe('');
  expect(problems({ by, figures: { hits: { sum: 'hits' } } })).toBe('');
  expect(problems(undefined)).toContain('@Summary("one") takes');
  expect(problems({ by, figures }, 'no name')).toContain('Its name is');
  expect(problems({ figures })).toContain('by is undefined');
  expect(problems({ by: ['none'], figures })).toContain('neither a single-valued column nor a key part');
  expect(problems({ by: ['map'], figures })).toContain('neither a single-valued column nor a key part');
  expect(problems({ by: ['list'], figures })).toContain('neither a single-valued column nor a key part');
  expect(problems({ by: ['status', 'status'], figures })).toContain('twice');
  expect(problems({ by, figures: {} })).toContain('figures is');
  expect(problems({ by, figures: { status: 'count' } })).toContain('is both in by and a figure');
  expect(problems({ by, figures: { toString: 'count' } })).toContain('Every object has');
  expect(problems({ by, figures: { x: 'sum' } })).toContain('The figure "x" is');
  expect(problems({ by, figures: { x: { median: 'hits' } } })).toContain('The figure "x" is');
  expect(problems({ by, figures: { x: { sum: 'hits', avg: 'hits' } } })).toContain('The figure "x" is');
  expect(problems({ by, figures: { x: { sum: 'status' } } })).toContain('not a number');
  expect(problems({ by, figures: { x: { sum: 'raw' } } })).toContain('without a scale');
  expect(problems({ by, figures: { x: { max: 'raw' } } })).toContain('not an ordered codec');
  expect(problems({ by, figures: { x: { min: 'status' } } })).toContain('which is in by');
  expect(problems({ by: ['ending'], figures })).toContain('has a ttl');
  expect(problems({ by, figures, where: { ending: 'x' } })).toContain('has a ttl');
  expect(problems({ by, figures, where: 'x' })).toContain('where is');
  expect(problems({ by, figures, having: {} })).toContain('has no option "having"');
  expect(problems({ by, figures }, 'one', { ttl: 5, marker: false })).toContain('no row marker');
});

test('a condition that is none is said at the opening', async () => {
  @Entity({ table })
  @RowKey(part('id'))
  @Summary('one', { by: [], figures: { rows: 'count' }, where: { none: 1 } })
  class Wrong {
    declare static readonly key: ['id'];
    declare static readonly summaries: { one: { by: []; figures: { rows: 'count' } } };
    id!: string;
    @Column('d:s', text) status?: string | null;
  }
  await expect(openMemory({ entities: [Wrong] })).rejects.toThrow(/the condition of a summary is wrong/);
});

test('what no summary could follow is refused', async () => {
  const db = await openMemory({ entities: [Order] });
  const orders = db.repository(Order);
  await expect(orders.put({ shop: 'a', no: 1 }, { ttl: 5 })).rejects.toMatchObject({
    code: 'ERR_UNSUPPORTED',
  });
  await expect(db.repositoryIn(Order, 'elsewhere')).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
  await db.close();
});
