/** Expressions of labels, and engines that know none. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmbedded } from '../../src/store/engine.js';
import {
  Append,
  CheckAndMutate,
  Delete,
  type Engine,
  Get,
  Increment,
  Put,
  RowMutations,
  Scan,
  tableDescriptor,
} from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';

const invalid = expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' });

// What HBase's own ExpressionParser says of each (2.6.4).
it.each([
  'a',
  'a-b',
  'a:b/c',
  'a.b_c',
  '"x y"',
  '"q\\"r"',
  '"\\\\"',
  '"é"',
  '!a',
  '!"a b"',
  ' a & b|c ',
  'a&b|c',
  '(a)',
  '((a|b)&!(c))',
  '!(a|!b)',
  '"a"&b',
  '12',
  '"a\tb"',
])('%s is an expression', (expression) => {
  expect(new Put('r').setCellVisibility(expression).visibility).toBe(expression);
});

it.each([
  '',
  ' ',
  'a b',
  'a &',
  '& a',
  'a & & b',
  '(a',
  'a)',
  '()',
  '!',
  '!!a',
  '! a',
  'é',
  '""',
  '" "',
  '"a',
  'a"b"',
  '"a"b',
  'a\\',
  '"\\x"',
  '(a)(b)',
  'a(b)',
  'a!b',
  `${'('.repeat(5000)}a${')'.repeat(5000)}`,
])('%s is none', (expression) => {
  expect(() => new Put('r').setCellVisibility(expression)).toThrow(invalid);
});

it('authorizations are a list of labels, of which there is one at least', () => {
  expect(new Get('r').setAuthorizations(['a', 'ü b']).copy().authorizations).toEqual(['a', 'ü b']);
  const labels = ['a'];
  const scan = new Scan().setAuthorizations(labels);
  labels.push('b');
  expect(scan.copy().authorizations).toEqual(['a']);
  expect(scan.setAuthorizations(undefined).authorizations).toBeUndefined();
  for (const wrong of [[], [''], 'a', [7], null, {}]) {
    expect(() => new Get('r').setAuthorizations(wrong as never)).toThrow(invalid);
  }
});

describe('an engine without labels', () => {
  let engine: Engine;
  beforeEach(async () => {
    engine = await openEmbedded('/store', { fileSystem: new MemoryFileSystem() });
    await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  });
  afterEach(() => engine.close());

  const unsupported = { code: 'ERR_UNSUPPORTED' };
  const secret = (row = 'r'): Put => new Put(row).addColumn('f', 'q', 'v').setCellVisibility('a');

  it('refuses every change that nobody would be kept from reading', async () => {
    const table = engine.table('t');
    const open = new Put('r').addColumn('f', 'x', 'v');
    for (const change of [
      table.put(secret()),
      table.putAll([secret()]),
      table.delete(new Delete('r').setCellVisibility('a')),
      table.increment(new Increment('r').addColumn('f', 'n', 1).setCellVisibility('a')),
      table.append(new Append('r').addColumn('f', 'n', 'x').setCellVisibility('a')),
      table.mutateRow(new RowMutations('r').add(open, secret())),
      table.checkAndMutate(CheckAndMutate.ifNotExists('f', Buffer.from('q'), secret())),
      table.batch([open, secret('s')], { atomic: true }),
    ]) {
      await expect(change).rejects.toMatchObject(unsupported);
    }
    const [first, second] = await table.batch([new Put('other').addColumn('f', 'q', 'v'), secret()]);
    expect([first?.ok, second]).toMatchObject([true, { ok: false, error: unsupported }]);
    const within = engine.transaction?.((transaction) => transaction.table('t').put(secret()));
    await expect(within).rejects.toMatchObject(unsupported);
    expect(await table.exists(new Get('r'))).toBe(false);
    expect(await table.exists(new Get('s'))).toBe(false);
  });

  it('refuses reads that count on labels', async () => {
    const table = engine.table('t');
    const get = new Get('r').setAuthorizations(['a']);
    await expect(table.get(get)).rejects.toMatchObject(unsupported);
    await expect(table.getAll([get])).rejects.toMatchObject(unsupported);
    await expect(table.exists(get)).rejects.toMatchObject(unsupported);
    const all = async (): Promise<void> => {
      for await (const _ of table.scan(new Scan().setAuthorizations(['a'])));
    };
    await expect(all()).rejects.toMatchObject(unsupported);
    const within = engine.transaction?.((transaction) => transaction.table('t').get(get));
    await expect(within).rejects.toMatchObject(unsupported);
  });
});
