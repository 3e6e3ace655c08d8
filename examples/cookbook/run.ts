/** Runs every recipe in this process, or those that are named: `node build/examples/cookbook/run.js 01-webtable`. */

import { readdirSync } from 'node:fs';

const folder = new URL('.', import.meta.url);
const all = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();
const asked = process.argv.slice(2);

for (const name of asked.length === 0 ? all : asked) {
  console.log(`\n>>> ${name}`);
  await import(new URL(`${name}/main.js`, folder).href);
}
