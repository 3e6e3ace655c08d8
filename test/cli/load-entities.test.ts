import { expect, test } from 'vitest';
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { entitiesOf, loadSchema } from '../../src/cli/load-entities.js';
import { text } from '../../src/codec/index.js';

const Base = defineEntity({
  name: 'Note',
  table: defineTable({ name: 'notes', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({ body: c.column('d:b', text) }),
});

class Note extends Base {
  shout(): string {
    return this.body.toUpperCase();
  }
}

test('classes that extend what defineEntity made are entities, in place of it', () => {
  expect(entitiesOf({ Base })).toEqual([Base]);
  expect(entitiesOf({ Note })).toEqual([Note]);
  expect(entitiesOf({ Base, all: [Note, Base], Note, other: class {} })).toEqual([Note]);
});

test('a folder in place of a module is named, since commands differ in which comes first', async () => {
  await expect(loadSchema('test/cli')).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
    message: expect.stringMatching(/^test\/cli is a folder, .* --help shows which\.$/),
  });
});
