/** Writes on an engine whose step is one row, to a table that takes none any more, as the old one where keys were changed. */

import { expect, test } from 'vitest';
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { stepless } from '../proof/stepless.js';

const FOLLOWED = {
  nothing: {},
  'an index': { indexes: { byA: { on: [part('a')] } } },
  'an eventual index': { indexes: { byA: { on: [part('a')], consistency: 'eventual' as const } } },
  'a summary': { summaries: { perA: { by: ['a'], figures: { rows: 'count' as const } } } },
  changes: { changes: { keep: 3600_000, marks: 'm' } },
};

test.each(Object.entries(FOLLOWED))(
  'a delete of a row that is not there is refused as others are, with %s',
  async (_, more) => {
    const Row = defineEntity({
      name: 'Row',
      table: defineTable({ name: 'rows', families: { d: {}, m: {} } }),
      key: [part('id')],
      columns: (c) => ({ a: c.column('d:a', text) }),
      ...more,
    });
    const engine = stepless(await openEmbedded('/rows', { fileSystem: new MemoryFileSystem() }));
    const db = new Database(compileSchema([Row]), engine, 'create');
    await db.ready();
    const rows = db.repository(Row);
    await rows.put({ id: '1', a: 'x' });
    await rows.delete({ id: '2' });
    await engine.admin.modifyTable({ ...(await engine.admin.getDescriptor('rows')), readOnly: true });
    const refused = { code: 'ERR_READONLY' };
    await expect(rows.delete({ id: '1' })).rejects.toMatchObject(refused);
    await expect(rows.delete({ id: '2' })).rejects.toMatchObject(refused);
    await expect(rows.deleteMany([{ id: '1' }, { id: '2' }])).rejects.toMatchObject(refused);
    await db.close();
  },
);
