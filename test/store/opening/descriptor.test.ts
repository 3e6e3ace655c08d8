import { expect, test } from 'vitest';
import { type FamilyOptions, type TableOptions, tableDescriptor } from '../../../src/table/index.js';

test('every option of a table and of a family is held to what it takes', () => {
  const tables: Record<string, unknown[]> = {
    maxFileSize: [Number.NaN, -1, 0, '1'],
    memstoreFlushSize: [Number.NaN, -1, 1.5],
    regionReplication: [0, Number.NaN],
    readOnly: ['yes', 1],
    splitEnabled: [0],
    compactionEnabled: [null],
  };
  for (const [name, values] of Object.entries(tables)) {
    for (const value of values) {
      expect(
        () => tableDescriptor('t', { f: {} }, { [name]: value } as TableOptions),
        `${name} ${value}`,
      ).toThrow(name);
    }
  }
  for (const name of [
    'blockCache',
    'inMemory',
    'newVersionBehavior',
    'cacheDataOnWrite',
    'prefetchBlocksOnOpen',
  ]) {
    expect(() => tableDescriptor('t', { f: { [name]: 'yes' } as FamilyOptions }), name).toThrow(name);
  }
  expect(() => tableDescriptor('t', { f: {} }, { maxfilesize: 5 } as TableOptions)).toThrow('maxFileSize');
});
