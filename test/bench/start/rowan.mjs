/** The published package as a program has it: for `bench:start`, and for commands that take a module. */

import { join } from 'node:path';
import { boolean, date, defineEntity, defineTable, float64, int32, open, part, text } from 'rowan-orm';

export const Reading = defineEntity({
  name: 'Reading',
  table: defineTable({ name: 'readings', families: { d: {} } }),
  key: [part('sensor', text), part('seq', int32)],
  columns: (c) => ({
    kind: c.column('d:k', text),
    unit: c.column('d:u', text),
    value: c.column('d:v', float64),
    quality: c.column('d:q', int32),
    valid: c.column('d:o', boolean),
    takenAt: c.column('d:t', date),
  }),
});

export async function openRowan(folder) {
  const db = await open({ path: join(folder, 'rowan'), entities: [Reading] });
  const readings = db.repository(Reading);
  return {
    insert: (rows) => readings.putMany(rows),
    get: (sensor, seq) => readings.get({ sensor, seq }),
    close: () => db.close(),
  };
}
