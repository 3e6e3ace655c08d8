import { join } from 'node:path';
import { EntitySchema, MikroORM } from '@mikro-orm/better-sqlite';
import { CREATE_TABLE, PRAGMAS, versionOf } from './sqlite.mjs';

class Reading {}

const schema = new EntitySchema({
  class: Reading,
  tableName: 'reading',
  properties: {
    sensor: { type: 'text', primary: true },
    seq: { type: 'integer', primary: true },
    kind: { type: 'text' },
    unit: { type: 'text' },
    value: { type: 'double' },
    quality: { type: 'integer' },
    valid: { type: 'boolean' },
    takenAt: { type: 'Date', fieldName: 'taken_at' },
  },
});

export async function openMikroOrm(folder) {
  const orm = await MikroORM.init({ dbName: join(folder, 'mikro-orm.db'), entities: [schema] });
  const connection = orm.em.getConnection();
  for (const pragma of PRAGMAS) await connection.execute(`pragma ${pragma}`);
  await connection.execute(CREATE_TABLE);
  const em = orm.em.fork();
  const plain = { disableIdentityMap: true };
  return {
    name: 'mikro-orm',
    version: versionOf('@mikro-orm/core'),
    insert: (rows) => em.insertMany(Reading, rows),
    put: (rows) => em.upsertMany(Reading, rows, plain),
    get: (sensor, seq) => em.findOne(Reading, { sensor, seq }, plain),
    range: (sensor, from, to) =>
      em.find(Reading, { sensor, seq: { $gte: from, $lt: to } }, { ...plain, orderBy: { seq: 'asc' } }),
    all: () => em.find(Reading, {}, { ...plain, orderBy: { sensor: 'asc', seq: 'asc' } }),
    change: (sensor, seq, by) =>
      em.transactional(
        async (own) => {
          const found = await own.findOneOrFail(Reading, { sensor, seq });
          found.quality += by;
        },
        { clear: true },
      ),
    close: () => orm.close(),
  };
}
