/** Tables stamped by the first releases, whose key codec of texts was called `string`. */

import { expect, it } from 'vitest';
import { defineEntity, defineTable, hash, part, reverse } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { stampOf, stampProblems } from '../../src/ddl/table-stamp.js';
import { compileSchema } from '../../src/mapper/index.js';

const Site = defineEntity({
  name: 'Site',
  table: defineTable({ name: 'sites', families: { d: {} } }),
  key: [hash('host'), reverse('host'), part('path', text)],
  columns: (c) => ({ title: c.column('d:t', text) }),
});

it('reads the stamps that say string where declarations say text, and still sees another codec', () => {
  const table = compileSchema([Site]).tables[0]!;
  const [[name, now]] = Object.entries(stampOf(table)) as [[string, string]];
  expect(now).toContain('host:reverse(text) path:text');
  const liveWith = (stamp: string) => ({ ...table.descriptor, metadata: { [name]: stamp } });
  const old = now.replace('reverse(text)', 'reverse(string)').replace('path:text', 'path:string');
  expect(old).not.toBe(now);
  expect(stampProblems(table, liveWith(old))).toEqual([]);
  expect(stampProblems(table, liveWith(old.replace('path:string', 'path:uuid')))).toHaveLength(1);
});
