/**
 * A program of its own, so that its memory is that of the join alone: streams every line with its product, and prints how
 * many there were, the seconds, and the most memory that the process had.
 *
 *     node hash-join.js PATH hash|lookup
 */

import { open } from '../../../src/index.js';
import { peakMemory } from '../peak-memory.js';
import { Line, Product } from './entities.js';

const [path, join] = process.argv.slice(2) as [string, 'hash' | 'lookup'];
const db = await open({ path, entities: [Line, Product] });
const start = process.hrtime.bigint();
let rows = 0;
let price = 0;
for await (const line of db.repository(Line).find({}, { fullScan: true, join }).with('what')) {
  rows++;
  price += line.what?.price ?? Number.NaN;
}
const seconds = Number(process.hrtime.bigint() - start) / 1e9;
await db.close();
const megabytes = peakMemory() / 1e6;
console.log(JSON.stringify({ rows, price, seconds, megabytes }));
