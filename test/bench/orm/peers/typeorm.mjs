import { join } from 'node:path';
import { And, DataSource, EntitySchema, LessThan, MoreThanOrEqual } from 'typeorm';
import { CREATE_TABLE, PRAGMAS, versionOf } from './sqlite.mjs';

class Reading {}

const milliseconds = { to: (value) => value?.getTime(), from: (value) => new Date(value) };

const schema = new EntitySchema({
  name: 'Reading',
  target: Reading,
  tableName: 'reading',
  columns: {
    sensor: { type: 'text', primary: true },
    seq: { type: 'integer', primary: true },
    kind: { type: 'text' },
    unit: { type: 'text' },
    value: { type: 'real' },
    quality: { type: 'integer' },
    valid: { type: 'boolean' },
    takenAt: { type: 'integer', name: 'taken_at', transformer: milliseconds },
  },
});

export async function openTypeOrm(folder) {
  const source = new DataSource({
    type: 'better-sqlite3',
    database: join(folder, 'typeorm.db'),
    entities: [schema],
    prepareDatabase: (db) => {
      for (const pragma of PRAGMAS) db.pragma(pragma);
      db.exec(CREATE_TABLE);
    },
  });
  await source.initialize();
  const readings = source.getRepository(Reading);
  return {
    name: 'typeorm',
    version: versionOf('typeorm'),
    insert: (rows) => readings.insert(rows),
    put: (rows) => readings.upsert(rows, ['sensor', 'seq']),
    get: (sensor, seq) => readings.findOneBy({ sensor, seq }),
    range: (sensor, from, to) =>
      readings.find({
        where: { sensor, seq: And(MoreThanOrEqual(from), LessThan(to)) },
        order: { seq: 'ASC' },
      }),
    all: () => readings.find({ order: { sensor: 'ASC', seq: 'ASC' } }),
    change: (sensor, seq, by) =>
      source.transaction(async (manager) => {
        const { quality } = await manager.findOneBy(Reading, { sensor, seq });
        await manager.update(Reading, { sensor, seq }, { quality: quality + by });
      }),
    close: () => source.destroy(),
  };
}
