/** R1-R15: order, limits, versions. */

import { fromLatin1 } from '../../../src/bytes/index.js';
import { Delete, filters, Get, Put } from '../../../src/table/index.js';
import { del, get, put, putNow, type RuleCase, refused, scan, stored, together, write } from './case.js';

export const orderAndVersions: readonly RuleCase[] = [
  {
    id: 'R1',
    title: 'every type of marker is stored as itself',
    writes: [
      del('column', 'a', 1),
      del('columns', 'b', 2),
      del('family', '', 3),
      del('familyVersion', '', 4),
      put('c', 5, 'v'),
    ],
    queries: [stored(['DFV@4', 'DF@3', 'D@1', 'DC@2', 'v'], { minor: ['v'], major: ['v'] })],
  },
  {
    id: 'R2',
    title: 'cells sort by row, family, qualifier, newest timestamp, then type code downwards',
    families: { f: { versions: 3, keepDeletedCells: 'TRUE' }, g: { versions: 3 } },
    writes: [
      put('q', 5, 'five'),
      put('q', 7, 'seven'),
      put('qq', 1, 'longer'),
      put('a', 1, 'other family', { family: 'g' }),
      put('a', 1, 'other row', { row: 'r\x00' }),
      del('column', 'q', 5),
    ],
    queries: [
      scan({ raw: true, versions: 'all' }, ['seven', 'D@5', 'five', 'longer', 'other family', 'other row']),
    ],
  },
  {
    id: 'R2b',
    title: 'bytes compare unsigned, a shorter prefix first',
    writes: [
      put('\xff', 1, 'ff'),
      put('\x7f', 1, '7f'),
      put('\x80', 1, '80'),
      put('a', 1, 'a'),
      put('aa', 1, 'aa'),
      put('', 1, 'empty'),
    ],
    queries: [get({}, ['empty', 'a', 'aa', '7f', '80', 'ff'])],
  },
  {
    id: 'R4',
    title: 'family markers have the empty qualifier, and a newer put of that column stands before them',
    writes: [put('', 9, 'newer'), del('family', '', 5), put('a', 6, 'kept')],
    queries: [
      stored(['newer', 'DF@5', 'kept'], { minor: ['newer', 'kept'], major: ['newer', 'kept'] }),
      get({}, ['newer', 'kept']),
    ],
  },
  {
    id: 'R5',
    title: 'an empty qualifier and an empty value are values like others; an empty row is not',
    writes: [put('', 1, 'no name'), put('q', 1, '')],
    queries: [
      get({}, ['no name', '']),
      refused(async (table) => table.put(new Put('').addColumn('f', 'q', 'v')), 'ERR_INVALID_ARGUMENT'),
      refused(
        async (table) => table.put(new Put(new Uint8Array(32768)).addColumn('f', 'q', 'v')),
        'ERR_INVALID_ARGUMENT',
      ),
      refused(async (table) => table.put(new Put('r', -1).addColumn('f', 'q', 'v')), 'ERR_INVALID_ARGUMENT'),
    ],
  },
  {
    id: 'R5b',
    title: 'the longest row is 32767 bytes',
    writes: [write((table) => table.put(new Put(new Uint8Array(32767).fill(120)).addColumn('f', 'q', 'v')))],
    queries: [scan({}, ['v'])],
  },
  {
    id: 'R6',
    title: 'a timestamp far ahead is taken as it is',
    writes: [put('q', 4_000_000_000_000_000, 'future'), put('q', 5, 'past')],
    queries: [get({}, ['future']), get({ versions: 2 }, ['future', 'past'])],
  },
  {
    id: 'R7',
    title: 'cells of one put without a timestamp share the time of writing',
    writes: [write((table) => table.put(new Put('r').addColumn('f', 'a', '1').addColumn('f', 'b', '2')))],
    queries: [
      {
        expect: ['equal', 'near now'],
        ask: async ({ table, now }) => {
          const { cells } = await table.get(new Get('r'));
          const [a, b] = [cells[0]!.timestamp, cells[1]!.timestamp];
          return [a === b ? 'equal' : 'different', Math.abs(a - now) < 600_000 ? 'near now' : String(a)];
        },
      },
    ],
  },
  {
    id: 'R8',
    title: 'of two puts of one column and timestamp the later stands alone',
    writes: [put('q', 5, 'first'), put('q', 5, 'second')],
    queries: [get({ versions: 'all' }, ['second']), stored(['second'])],
  },
  {
    id: 'R9',
    title: 'one version unless asked for more, and never more than the family keeps',
    writes: [1, 2, 3, 4, 5].map((time) => put('q', time, `v${time}`)),
    queries: [
      get({}, ['v5']),
      get({ versions: 2 }, ['v5', 'v4']),
      get({ versions: 10 }, ['v5', 'v4', 'v3']),
      scan({}, ['v5']),
    ],
  },
  {
    id: 'R9b',
    title: 'a family keeps one version by default',
    families: { f: {} },
    writes: [put('q', 1, 'old'), put('q', 2, 'new')],
    queries: [get({ versions: 'all' }, ['new'])],
  },
  {
    id: 'R10',
    title: 'versions count what is neither deleted nor outside the time range',
    writes: [put('q', 1, 'v1'), put('q', 2, 'v2'), put('q', 3, 'v3'), del('column', 'q', 3)],
    queries: [get({ versions: 1 }, ['v2']), get({ versions: 1, timeRange: [0, 2] }, ['v1'])],
  },
  {
    id: 'R11',
    title:
      'an older version comes back when a newer one is deleted before a flush or compaction has dropped it',
    families: { f: { versions: 2 } },
    writes: [put('q', 1, 'v1'), put('q', 2, 'v2'), put('q', 3, 'v3'), del('column', 'q', 3)],
    queries: [get({ versions: 'all' }, ['v2', 'v1'])],
  },
  {
    id: 'R11b',
    title: 'and not after all three have been flushed together',
    families: { f: { versions: 2 } },
    writes: [
      write((table) =>
        table.put(
          new Put('r').addColumn('f', 'q', 'v1', 1).addColumn('f', 'q', 'v2', 2).addColumn('f', 'q', 'v3', 3),
        ),
      ),
      write((table) => table.put(new Put('x').addColumn('f', 'q', 'x', 1))),
      write((table) => table.put(new Put('y').addColumn('f', 'q', 'y', 1))),
      del('column', 'q', 3),
    ],
    queries: [get({ versions: 'all' }, ['v2', 'v1'], { flushEach: ['v2'], minor: ['v2'] })],
  },
  {
    id: 'R12',
    title: 'the time range is looked at first: an old version answers until a flush has dropped it',
    families: { f: { versions: 1 } },
    writes: [
      write((table) => table.put(new Put('r').addColumn('f', 'q', 'v1', 1).addColumn('f', 'q', 'v2', 2))),
    ],
    queries: [get({ timeRange: [0, 2] }, [], { memstore: ['v1'] }), get({}, ['v2'])],
  },
  {
    id: 'R13',
    title: 'a flush writes no more versions than the family keeps',
    writes: [
      write((table) => {
        const each = new Put('r');
        for (let time = 1; time <= 5; time++) each.addColumn('f', 'q', `v${time}`, time);
        return table.put(each);
      }),
    ],
    queries: [stored(['v5', 'v4', 'v3'], { memstore: ['v5', 'v4', 'v3', 'v2', 'v1'] })],
  },
  {
    id: 'R14',
    title: 'markers are no versions',
    writes: [
      put('q', 1, 'v1'),
      put('q', 2, 'v2'),
      put('q', 4, 'v4'),
      del('column', 'q', 9),
      del('column', 'q', 8),
      del('column', 'q', 7),
      del('column', 'q', 6),
    ],
    queries: [get({ versions: 'all' }, ['v4', 'v2', 'v1'])],
  },
  {
    id: 'R15',
    title: 'with a filter the asked versions count among what it accepts',
    writes: [put('q', 1, 'v1'), put('q', 2, 'v2'), put('q', 3, 'v3')],
    queries: [
      get({ versions: 1, filter: filters.value('NOT_EQUAL', 'v3') }, ['v2']),
      get({ versions: 2, filter: filters.value('NOT_EQUAL', 'v2') }, ['v3', 'v1']),
    ],
  },
  {
    id: 'R34',
    title: 'in row mutations order does not matter: a marker hides a put of the same timestamp',
    writes: [
      together((row) => [
        new Delete(row).addColumns('f', 'q', 5),
        new Put(row).addColumn('f', 'q', 'hidden', 5).addColumn('f', 'p', 'seen', 5),
      ]),
    ],
    queries: [get({}, ['seen'])],
  },
  {
    id: 'R38',
    title: 'a row that is deleted as a whole gives no result, not an empty one',
    writes: [put('q', 1, 'v'), put('q', 1, 'other', { row: 's' }), del('row', '', 5)],
    queries: [
      {
        expect: ['s'],
        ask: async ({ table }) => {
          const rows: string[] = [];
          const { Scan } = await import('../../../src/table/index.js');
          for await (const result of table.scan(new Scan())) rows.push(Buffer.from(result.row).toString());
          return rows;
        },
      },
    ],
  },
  {
    id: 'R7b',
    title: 'a later put without a timestamp is the newest',
    writes: [putNow('q', 'first'), putNow('q', 'second')],
    queries: [get({}, ['second'])],
  },
  {
    id: 'R88',
    title: 'a mutation of one row is applied over all its families, or not at all',
    families: { f: {}, g: {} },
    writes: [
      write((table) => table.put(new Put('r').addColumn('f', 'q', 'in f').addColumn('g', 'q', 'in g'))),
      write(async (table) => {
        const bad = new Put('r').addColumn('f', 'q', 'half').addColumn('nope', 'q', 'x');
        await table.put(bad).catch(() => {});
      }),
    ],
    queries: [
      get({}, ['in f', 'in g']),
      refused(
        async (table) => table.put(new Put('r').addColumn('nope', fromLatin1('q'), 'x')),
        'ERR_NO_SUCH_FAMILY',
      ),
    ],
  },
];
