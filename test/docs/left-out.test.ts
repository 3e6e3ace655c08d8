/** The page of the server lists the tests that are left out on served stores as the code does, and they exist. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { LEFT_OUT, leftOutTable } from '../hbase/server/left-out.js';

it('the tests that are left out on served stores are listed on the page, and exist', () => {
  expect(readFileSync('docs/server.md', 'utf8')).toContain(`|---|---|---|\n${leftOutTable()}\n\n`);
  for (const { file, tests = [] } of LEFT_OUT) {
    const source = readFileSync(`test/hbase/${file}`, 'utf8');
    for (const name of tests.map((each) => each.replace(/\.rb$/, '')))
      expect(source.includes(`'${name}`) || source.includes(`"${name}`), `${file}: ${name}`).toBe(true);
  }
});
