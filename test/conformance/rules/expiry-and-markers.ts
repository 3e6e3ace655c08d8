/** R16-R46: time to live, minimum versions, delete markers, KEEP_DELETED_CELLS. */

import { Delete, Get, Put } from '../../../src/table/index.js';
import { del, get, increment, put, putNow, type RuleCase, stored, write } from './case.js';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const hour = { f: { versions: 5, ttl: 3600 } } as const;

export const expiryAndMarkers: readonly RuleCase[] = [
  {
    id: 'R16',
    title: 'a cell older than the time to live of its family is not seen',
    families: hour,
    writes: [
      put('q', -2 * HOUR, 'expired'),
      put('q', -HOUR / 2, 'fresh'),
      put('p', -2 * HOUR, 'expired too'),
    ],
    queries: [get({ versions: 'all' }, ['fresh'])],
  },
  {
    id: 'R17',
    title: 'an expired marker hides nothing, and flushes drop it',
    families: hour,
    writes: [put('q', -HOUR / 2, 'v'), del('columns', 'p', -2 * HOUR)],
    queries: [
      get({ versions: 'all' }, ['v']),
      {
        expect: ['v'],
        ask: async (context) => (await stored([]).ask(context)).filter((cell) => cell === 'v'),
      },
    ],
  },
  {
    id: 'R18',
    title: 'MIN_VERSIONS keeps the newest versions however old they are',
    families: { f: { versions: 5, ttl: 3600, minVersions: 2 } },
    writes: [4, 3, 2].map((hours) => put('q', -hours * HOUR, `${hours} hours`)),
    queries: [get({ versions: 'all' }, ['2 hours', '3 hours'])],
  },
  {
    id: 'R21',
    title: 'a cell can have a time to live of its own, in milliseconds',
    writes: [
      put('q', -10 * SECOND, 'expired', { ttl: 5 * SECOND }),
      put('p', -10 * SECOND, 'alive', { ttl: HOUR }),
    ],
    queries: [get({}, ['alive'])],
  },
  {
    id: 'R22',
    title: "and cannot outlive its family's",
    families: hour,
    writes: [put('q', -2 * HOUR, 'expired', { ttl: 100 * HOUR })],
    queries: [get({}, [])],
  },
  {
    id: 'R23',
    title: 'a cell that expires by its own time lets the older version come back',
    writes: [put('q', -20 * SECOND, 'older'), put('q', -10 * SECOND, 'expired', { ttl: SECOND })],
    queries: [get({}, ['older'])],
  },
  {
    id: 'R24',
    title: 'its time runs from its timestamp, not from when it was written',
    writes: [put('q', 1, 'dead on arrival', { ttl: HOUR })],
    queries: [get({}, [])],
  },
  {
    id: 'R25',
    title: 'raw scans leave out what expired by its own time',
    writes: [put('q', -10 * SECOND, 'expired', { ttl: SECOND }), put('q', -20 * SECOND, 'older')],
    queries: [stored(['older'])],
  },
  {
    id: 'R27',
    title: 'expiry leaves no marker',
    families: hour,
    writes: [put('q', -2 * HOUR, 'expired'), put('p', -SECOND, 'v')],
    queries: [
      {
        expect: ['no marker'],
        ask: async (context) => {
          const cells = await stored([]).ask(context);
          return [cells.some((cell) => cell.includes('@')) ? cells.join() : 'no marker'];
        },
      },
    ],
  },
  {
    id: 'R28',
    title: 'the four markers reach one version, a column, a family, or a family at one timestamp',
    families: { f: { versions: 5 }, g: { versions: 5 } },
    writes: [
      ...['a', 'b', 'c'].flatMap((qualifier) =>
        [1, 2, 3].map((time) => put(qualifier, time, `${qualifier}${time}`)),
      ),
      put('x', 2, 'g2', { family: 'g' }),
      del('column', 'a', 2),
      del('columns', 'b', 2),
      del('familyVersion', '', 3),
      del('family', '', 1),
    ],
    queries: [get({ versions: 'all' }, ['c2', 'g2'])],
  },
  {
    id: 'R28b',
    title: 'a delete with nothing added deletes the row in every family',
    families: { f: {}, g: {} },
    writes: [
      put('q', 1, 'f'),
      put('q', 1, 'g', { family: 'g' }),
      put('q', 9, 'newer', { family: 'g' }),
      del('row', '', 5),
    ],
    queries: [get({}, ['newer'])],
  },
  {
    id: 'R29',
    title: 'deleting a family forgets the deletes of its columns in the same delete',
    writes: [
      put('q', 3, 'v'),
      write((table) => table.delete(new Delete('r').addColumns('f', 'q', 9).addFamily('f', 2))),
    ],
    queries: [get({}, ['v'])],
  },
  {
    id: 'R30',
    title: 'without a timestamp the newest version is deleted, twice the two newest',
    writes: [
      put('q', 1, 'v1'),
      put('q', 2, 'v2'),
      put('q', 3, 'v3'),
      put('p', 1, 'p1'),
      put('p', 2, 'p2'),
      del('newest', 'q', 0),
      write((table) => table.delete(new Delete('r').addColumn('f', 'p').addColumn('f', 'p'))),
    ],
    queries: [get({ versions: 'all' }, ['v2', 'v1'])],
  },
  {
    id: 'R31',
    title: 'markers of columns and families without a timestamp are of now',
    writes: [
      put('a', 5, 'a'),
      put('b', 5, 'b'),
      write((table) => table.delete(new Delete('r').addColumns('f', 'a'))),
      put('c', 4_000_000_000_000_000, 'ahead'),
    ],
    queries: [get({}, ['b', 'ahead'])],
  },
  {
    id: 'R32',
    title: 'a marker hides a put of the same timestamp, whichever came first',
    writes: [del('column', 'q', 5), put('q', 5, 'after'), put('p', 5, 'before'), del('column', 'p', 5)],
    queries: [get({}, [], { flushEach: [] })],
  },
  {
    id: 'R33',
    title: 'a marker hides what is written later with a lower timestamp, until a compaction has dropped it',
    writes: [del('family', '', 10), put('q', 7, 'hidden')],
    queries: [get({}, [])],
  },
  {
    id: 'R35',
    title: 'the greatest family marker counts, and a column marker beside the marker of a version',
    families: { f: { versions: 5 } },
    writes: [
      put('a', 3, 'a3'),
      put('a', 8, 'a8'),
      del('family', '', 5),
      del('family', '', 2),
      put('b', 7, 'b7'),
      put('b', 6, 'b6'),
      del('columns', 'b', 6),
      del('column', 'b', 7),
    ],
    queries: [get({ versions: 'all' }, ['a8'])],
  },
  {
    id: 'R36',
    title: 'a family version marker hides its timestamp in every column',
    families: { f: { versions: 5 } },
    writes: [put('a', 3, 'a3'), put('b', 3, 'b3'), put('a', 2, 'a2'), del('familyVersion', '', 3)],
    queries: [get({ versions: 'all' }, ['a2'])],
  },
  {
    id: 'R37',
    title: 'markers of one family never touch another',
    families: { f: {}, g: {} },
    writes: [put('q', 1, 'f'), put('q', 1, 'g', { family: 'g' }), del('family', '', 5)],
    queries: [get({}, ['g'])],
  },
  {
    id: 'R40',
    title: 'a marker after the time range hides what is inside it',
    writes: [put('q', 1, 'v'), del('columns', 'q', 5)],
    queries: [get({ timeRange: [0, 2] }, [])],
  },
  {
    id: 'R41',
    title: 'with KEEP_DELETED_CELLS a marker at or after the end of the range hides nothing',
    families: { f: { versions: 3, keepDeletedCells: 'TRUE' } },
    writes: [put('q', 1, 'v'), del('columns', 'q', 5)],
    queries: [get({ timeRange: [0, 5] }, ['v']), get({ timeRange: [0, 6] }, []), get({}, [])],
  },
  {
    id: 'R42',
    title: 'with KEEP_DELETED_CELLS compactions keep deleted puts, as versions',
    families: { f: { versions: 2, keepDeletedCells: 'TRUE' } },
    writes: [
      write((table) =>
        table.put(
          new Put('r').addColumn('f', 'q', 'v1', 1).addColumn('f', 'q', 'v2', 2).addColumn('f', 'q', 'v3', 3),
        ),
      ),
      del('columns', 'q', 5),
    ],
    queries: [get({ timeRange: [0, 4], versions: 'all' }, ['v3', 'v2']), get({ versions: 'all' }, [])],
  },
  {
    id: 'R43',
    title: 'with KEEP_DELETED_CELLS TTL deleted puts are kept while the marker lives',
    families: { f: { versions: 3, ttl: 3600, keepDeletedCells: 'TTL' } },
    writes: [put('q', -2 * SECOND, 'v'), del('columns', 'q', -SECOND)],
    queries: [get({ timeRange: [0, -SECOND], versions: 'all' }, ['v']), get({}, [])],
  },
  {
    id: 'R46',
    title: 'flushes under KEEP_DELETED_CELLS keep markers',
    families: { f: { versions: 1, keepDeletedCells: 'TRUE' } },
    writes: [put('q', 1, 'v1'), del('column', 'q', 1), put('p', 1, 'p')],
    queries: [stored(['p', 'D@1', 'v1'])],
  },
  {
    id: 'R56',
    title: 'a file of markers alone is read for times below the markers',
    writes: [put('q', 10, 'v'), del('columns', 'q', 100)],
    queries: [get({ timeRange: [0, 50] }, [])],
  },
  {
    id: 'R57',
    title: 'a marker of the whole family is found by a get of one column, under every bloom filter',
    families: { f: { bloomFilter: 'ROWCOL' } },
    writes: [put('q', 1, 'v'), del('family', '', 5), put('q', 1, 'kept', { row: 's' })],
    queries: [get({ columns: ['q'] }, []), get({ columns: ['q'], row: 's' }, ['kept'])],
  },
  {
    id: 'R59',
    title: 'flushes and minor compactions keep markers and drop what they hide',
    writes: [put('q', 10, 'v10'), put('q', 12, 'v12'), put('q', 14, 'v14'), del('columns', 'q', 11)],
    queries: [
      stored(['v14', 'v12', 'DC@11'], {
        memstore: ['v14', 'v12', 'DC@11', 'v10'],
        flushEach: ['v14', 'v12', 'DC@11', 'v10'],
        minor: ['v14', 'v12'],
        major: ['v14', 'v12'],
      }),
      get({ versions: 'all' }, ['v14', 'v12']),
    ],
  },
  {
    id: 'R60',
    title: 'a write after a marker with a higher timestamp is seen',
    writes: [del('columns', 'q', 5), put('q', 6, 'newer')],
    queries: [get({}, ['newer'])],
  },
  {
    id: 'R61',
    title: 'a major compaction drops markers, those of the future too',
    writes: [put('q', 5, 'v'), del('columns', 'q', 4_000_000_000_000_000)],
    queries: [
      get({}, []),
      stored(['DC@4000000000000000'], {
        memstore: ['DC@4000000000000000', 'v'],
        flushEach: ['DC@4000000000000000', 'v'],
        minor: ['DC@4000000000000000', 'v'],
        major: [],
      }),
    ],
  },
  {
    id: 'R67',
    title:
      'increments add to eight-byte integers, begin at nothing, wrap around, and are newer than what they replace',
    families: { f: { versions: 3 } },
    writes: [
      increment('n', 5),
      increment('n', 7),
      putNow('far', '\x7f\xff\xff\xff\xff\xff\xff\xff'),
      increment('far', 1),
    ],
    queries: [get({}, ['\x80\x00\x00\x00\x00\x00\x00\x00', '\x00\x00\x00\x00\x00\x00\x00\x0c'])],
  },
  {
    id: 'R67b',
    title: 'an increment of a value ahead of now takes the next timestamp',
    writes: [put('n', 4_000_000_000_000_000, '\x00\x00\x00\x00\x00\x00\x00\x01'), increment('n', 1)],
    queries: [
      get({}, ['\x00\x00\x00\x00\x00\x00\x00\x02']),
      {
        expect: ['4000000000000001'],
        ask: async ({ table }) => [String((await table.get(new Get('r'))).cells[0]!.timestamp)],
      },
    ],
  },
  {
    id: 'R20',
    title: 'with explicit columns, one expired version beyond MIN_VERSIONS is seen until it is flushed away',
    families: { f: { versions: 3, ttl: 3600, minVersions: 1 } },
    writes: [put('q', -3 * HOUR, 'older'), put('q', -2 * HOUR, 'expired'), put('q', -HOUR / 2, 'fresh')],
    queries: [
      get({ versions: 'all', columns: ['q'] }, ['fresh', 'expired'], {
        flushEnd: ['fresh'],
        minor: ['fresh'],
        major: ['fresh'],
        split: ['fresh'],
      }),
      get({ versions: 'all' }, ['fresh']),
    ],
  },
  {
    id: 'R44',
    title: 'KEEP_DELETED_CELLS: a marker older than every put goes with a major compaction',
    families: { f: { versions: 3, keepDeletedCells: 'TRUE' } },
    writes: [del('columns', 'q', 3), put('q', 5, 'v')],
    queries: [stored(['v', 'DC@3'], { major: ['v'] })],
  },
  {
    id: 'R44b',
    title: 'KEEP_DELETED_CELLS: a marker that is not goes with the excess versions it stands behind',
    families: { f: { versions: 1, keepDeletedCells: 'TRUE' } },
    writes: [put('q', 5, 'new'), put('q', 3, 'old'), del('columns', 'q', 2), put('p', 1, 'oldest')],
    queries: [
      stored(['oldest', 'new', 'old', 'DC@2'], {
        flushEnd: ['oldest', 'new'],
        split: ['oldest', 'new'],
        minor: ['oldest', 'new'],
        major: ['oldest', 'new'],
      }),
    ],
  },
  {
    id: 'R45',
    title: 'KEEP_DELETED_CELLS: an old put in another row keeps a family marker',
    families: { f: { versions: 3, keepDeletedCells: 'TRUE' } },
    writes: [put('q', 1, 'old', { row: 'other' }), del('family', '', 5), put('q', 9, 'v')],
    queries: [stored(['old', 'DF@5', 'v'])],
  },
];
