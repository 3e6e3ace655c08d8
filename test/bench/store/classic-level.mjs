/** classic-level with entities as JSON: for `bench:start`. */

import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';

export async function openClassicLevel(folder) {
  const db = new ClassicLevel(join(folder, 'classic-level'), { valueEncoding: 'json' });
  await db.open();
  const key = (sensor, seq) => `${sensor}/${String(seq).padStart(10, '0')}`;
  return {
    insert: (rows) =>
      db.batch(rows.map((value) => ({ type: 'put', key: key(value.sensor, value.seq), value }))),
    get: (sensor, seq) => db.get(key(sensor, seq)),
    close: () => db.close(),
  };
}
