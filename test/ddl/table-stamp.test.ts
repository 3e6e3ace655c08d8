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
  expect(JSON.parse(now).key).toBe('hash(md5,16,host) host:reverse(text) path:text');
  const liveWith = (stamp: string) => ({ ...table.descriptor, metadata: { [name]: stamp } });
  const old =
    'key hash(md5,16,host) host:reverse(string) path:string; marker d:5f; d:686f7374 column text; d:74 column text';
  expect(stampProblems(table, liveWith(old))).toEqual([]);
  expect(stampProblems(table, liveWith(old.replace('path:string', 'path:uuid')))).toHaveLength(1);
  expect(stampProblems(table, liveWith(old.replace('d:74 column text', 'd:74 column int32')))).toHaveLength(
    1,
  );
});
