import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../../src/errors.js';
import {
  applyEdits,
  decodeEdits,
  type Edit,
  emptyState,
  encodeEdits,
  liveFiles,
  snapshotEdits,
  type VersionState,
} from '../../../src/store/manifest/index.js';
import { tableDescriptor } from '../../../src/table/index.js';
import { BEGINNING, fileEntry, NO_KEY, TABLE } from './manifest-fixture.js';

const MIDDLE = Uint8Array.of(128);
const CLOSED = { length: 1000, crc: 5, firstSeq: 1, lastSeq: 90 };

const EVERYTHING: readonly Edit[] = [
  ...BEGINNING,
  { type: 'walAdd', number: 1 },
  { type: 'fileAdd', region: 4, family: 2, file: fileEntry(2) },
  { type: 'fileAdd', region: 4, family: 2, file: fileEntry(3, { bulkSeq: 77, footerCrc: 0 }) },
  { type: 'fileAdd', region: 4, family: 3, file: fileEntry(4, { firstKey: NO_KEY }) },
  { type: 'fileRemove', region: 4, family: 2, number: 2 },
  { type: 'flushed', region: 4, family: 2, seq: 30 },
  { type: 'walClosed', number: 1, ...CLOSED },
  { type: 'walAdd', number: 5 },
  { type: 'counters', nextFile: 50, nextId: 60, lastSeq: 100 },
  { type: 'tableAlter', id: 1, history: { lastLoss: '7-1000-1', versionDeletes: 20 } },
  { type: 'tableAlter', id: 1, history: { versionDeletes: 9, droppedMarkers: { commit: 7, until: 300 } } },
  { type: 'tableAlter', id: 1, history: { versionDeletes: 9, droppedMarkers: { commit: 9, until: 200 } } },
  { type: 'tableAlter', id: 1, history: { versionDeletes: 9 } },
];

const stateOf = (...edits: readonly Edit[]): VersionState => applyEdits(emptyState(), edits);
const beginningAnd = (...edits: readonly Edit[]): VersionState => stateOf(...BEGINNING, ...edits);

describe('the state of a store', () => {
  it('is the same after its edits, their bytes, and the edits that make it anew', () => {
    const state = stateOf(...EVERYTHING);
    const decoded = decodeEdits(encodeEdits(EVERYTHING), '/MANIFEST-000001', 0);
    expect(decoded).toEqual(EVERYTHING);
    expect(stateOf(...decoded)).toEqual(state);
    expect(stateOf(...snapshotEdits(state))).toEqual(state);
    expect(stateOf(...decodeEdits(encodeEdits(snapshotEdits(state)), '/MANIFEST-000001', 0))).toEqual(state);
  });

  it('has what the history of a table was and became', () => {
    const table = stateOf(...EVERYTHING).tables.get(1);
    const droppedMarkers = { commit: 9, until: 300 };
    expect(table!.history).toEqual({ lastLoss: '7-1000-1', droppedMarkers, versionDeletes: 20 });
  });

  it('is never changed', () => {
    const state = stateOf(...EVERYTHING);
    const copy = stateOf(...EVERYTHING);
    applyEdits(state, [
      { type: 'fileAdd', region: 4, family: 2, file: fileEntry(9) },
      { type: 'flushed', region: 4, family: 3, seq: 99 },
      { type: 'tableAlter', id: 1, familyNumbers: new Map([['d', 2]]) },
      { type: 'walRemove', number: 1 },
      { type: 'tableDrop', id: 1 },
    ]);
    expect(state).toEqual(copy);
  });

  it('knows its files, once each', () => {
    const file = fileEntry(3);
    const state = beginningAnd(
      { type: 'regionRemove', id: 4 },
      { type: 'regionAdd', id: 5, table: 1, startKey: NO_KEY, endKey: MIDDLE },
      { type: 'regionAdd', id: 6, table: 1, startKey: MIDDLE, endKey: NO_KEY },
      { type: 'fileAdd', region: 5, family: 2, file },
      { type: 'fileAdd', region: 6, family: 2, file },
    );
    expect([...liveFiles(state)]).toEqual([[3, file]]);
    const one = applyEdits(state, [{ type: 'fileRemove', region: 5, family: 2, number: 3 }]);
    expect(liveFiles(one).size).toBe(1);
    expect(liveFiles(applyEdits(one, [{ type: 'regionRemove', id: 6 }])).size).toBe(0);
  });

  it('loses the stores of a family that is altered away, and all of a table that is dropped', () => {
    const state = stateOf(...EVERYTHING);
    const altered = applyEdits(state, [
      { type: 'tableAlter', id: 1, familyNumbers: new Map([['d', 2]]), enabled: false },
    ]);
    expect([...altered.regions.get(4)!.stores.keys()]).toEqual([2]);
    expect(altered.tables.get(1)).toMatchObject({ enabled: false, descriptor: TABLE });
    const dropped = applyEdits(state, [{ type: 'tableDrop', id: 1 }]);
    expect([dropped.tables.size, dropped.regions.size, liveFiles(dropped).size]).toEqual([0, 0, 0]);
    expect(dropped.nextId).toBe(60);
  });

  it('counts numbers upwards only', () => {
    const state = stateOf(...EVERYTHING, { type: 'counters', nextFile: 1, nextId: 1, lastSeq: 1 });
    expect([state.nextFile, state.nextId, state.lastSeq]).toEqual([50, 60, 100]);
    expect(beginningAnd().nextId).toBe(5);
    const store = { region: 4, family: 2 };
    const flushed = beginningAnd(
      { type: 'flushed', ...store, seq: 8 },
      { type: 'flushed', ...store, seq: 3 },
    );
    expect(flushed.regions.get(4)!.stores.get(2)!.flushedSeq).toBe(8);
    expect(flushed.lastSeq).toBe(8);
    expect(beginningAnd({ type: 'fileAdd', ...store, file: fileEntry(9, { bulkSeq: 1000 }) })).toMatchObject({
      nextFile: 10,
      lastSeq: 1000,
    });
  });

  it.each<[string, Edit]>([
    ['a namespace twice', { type: 'namespaceAdd', name: 'shop' }],
    ['an unknown namespace', { type: 'namespaceRemove', name: 'none' }],
    [
      'a table twice',
      { type: 'tableAdd', id: 1, descriptor: TABLE, familyNumbers: new Map(), enabled: true },
    ],
    ['an unknown table', { type: 'tableAlter', id: 9 }],
    ['dropping an unknown table', { type: 'tableDrop', id: 9 }],
    ['a region twice', { type: 'regionAdd', id: 4, table: 1, startKey: NO_KEY, endKey: NO_KEY }],
    ['a region of no table', { type: 'regionAdd', id: 9, table: 9, startKey: NO_KEY, endKey: NO_KEY }],
    ['an unknown region', { type: 'regionRemove', id: 9 }],
    ['a file of no region', { type: 'fileAdd', region: 9, family: 2, file: fileEntry(9) }],
    ['a file of no family', { type: 'fileAdd', region: 4, family: 9, file: fileEntry(9) }],
    ['an unknown file', { type: 'fileRemove', region: 4, family: 2, number: 9 }],
    ['a flush of no region', { type: 'flushed', region: 9, family: 2, seq: 1 }],
    ['an unknown segment', { type: 'walRemove', number: 9 }],
    ['closing an unknown segment', { type: 'walClosed', number: 9, ...CLOSED }],
  ])('refuses %s', (_, edit) => {
    expect(() => beginningAnd(edit)).toThrow(InvalidArgumentError);
  });

  it('refuses a file and a segment that are there', () => {
    const file: Edit = { type: 'fileAdd', region: 4, family: 2, file: fileEntry(9) };
    expect(() => beginningAnd(file, file)).toThrow(/in region 4 already/);
    expect(() => beginningAnd({ type: 'walAdd', number: 1 }, { type: 'walAdd', number: 1 })).toThrow(
      /exists already/,
    );
  });
});

describe('the bytes of edits', () => {
  const decode = (json: string) => () => decodeEdits(Buffer.from(json), '/MANIFEST-000001', 27);

  it.each([
    ['no JSON', '{'],
    ['no edits', '{}'],
    ['an edit without type', '{"edits":[{}]}'],
    ['a name that is no text', '{"edits":[{"type":"namespaceAdd","name":1}]}'],
    ['a negative number', '{"edits":[{"type":"walAdd","number":-1}]}'],
    ['a number that is none', '{"edits":[{"type":"walAdd","number":"1"}]}'],
    ['a number that is no safe integer', '{"edits":[{"type":"walAdd","number":1e300}]}'],
    ['a file that is missing', '{"edits":[{"type":"fileAdd","region":1,"family":1}]}'],
    ['an impossible table', '{"edits":[{"type":"tableAdd","id":1,"descriptor":{"name":"t","families":[]}}]}'],
  ])('that are %s are damage, with file and offset', (_, json) => {
    expect(decode(json)).toThrow(
      expect.objectContaining({
        code: 'ERR_CORRUPTION',
        details: { file: '/MANIFEST-000001', offset: 27 },
      }) as Error,
    );
  });

  it('of an edit not known here are of a newer release', () => {
    expect(decode('{"edits":[{"type":"regionMerge"}]}')).toThrow(
      expect.objectContaining({ code: 'ERR_FORMAT_VERSION' }) as Error,
    );
  });

  it('keep every option of a table', () => {
    const descriptor = tableDescriptor(
      'ns:t',
      {
        a: {
          versions: 5,
          minVersions: 2,
          ttl: 'FOREVER',
          compression: 'ZSTD',
          dataBlockEncoding: 'DIFF',
          bloomFilter: 'ROWCOL',
          blockSize: 2048,
          keepDeletedCells: 'TTL',
          newVersionBehavior: true,
          inMemory: true,
          configuration: { x: 'y' },
        },
      },
      { durability: 'ASYNC_WAL', memstoreFlushSize: 1, splitPolicy: 'none', readOnly: true },
    );
    const edit: Edit = { type: 'tableAlter', id: 1, descriptor };
    expect(decodeEdits(encodeEdits([edit]), '', 0)).toEqual([edit]);
  });
});
