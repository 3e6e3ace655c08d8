/**
 * Connects with `tables: 'create'` when it is told to by SIGUSR2, and writes a row. Prints `ready` when it can be told.
 * Usage: starting-process.ts <masters> <name of the tables> <id of the row>
 */
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { connect } from '../../src/database.js';

const [masters, name, id] = process.argv.slice(2) as [string, string, string];

const Order = defineEntity({
  name: 'Order',
  table: defineTable({ name, families: { d: {}, m: {} } }),
  key: [part('id', text)],
  columns: (c) => ({ no: c.column('d:n', text), state: c.column('d:s', text) }),
  indexes: { byNo: { on: [part('no')], unique: true }, byState: { on: [part('state')] } },
  summaries: { perState: { by: ['state'], figures: { orders: 'count' } } },
  changes: { keep: 3_600_000, marks: 'm' },
});

await new Promise<void>((resolve) => {
  const waiting = setInterval(() => undefined, 1000);
  process.once('SIGUSR2', () => {
    clearInterval(waiting);
    resolve();
  });
  console.log('ready');
});
const db = await connect({ masters: masters.split(','), entities: [Order], tables: 'create' });
await db.repository(Order).insert({ id, no: id, state: 'open' });
await db.close();
