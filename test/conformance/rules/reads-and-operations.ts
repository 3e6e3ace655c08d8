/** R47-R58 and R67-R82: raw and reversed scans, bounds, increments, appends, checks, NEW_VERSION_BEHAVIOR. */

import { fromLatin1 } from '../../../src/bytes/index.js';
import {
  Append,
  CheckAndMutate,
  Delete,
  filters,
  Get,
  Increment,
  LATEST_TIMESTAMP,
  Put,
  RowMutations,
  Scan,
  tableDescriptor,
} from '../../../src/table/index.js';
import {
  append,
  check,
  del,
  get,
  increment,
  put,
  putNow,
  type RuleCase,
  refused,
  scan,
  stored,
  together,
  write,
} from './case.js';

const rows = ['a', 'b', 'c', 'd'].map((row) => put('q', 1, row, { row }));
const counter = (value: number): string => String.fromCharCode(0, 0, 0, 0, 0, 0, 0, value);

export const readsAndOperations: readonly RuleCase[] = [
  {
    id: 'R47',
    title: 'a raw scan or get gives puts and markers, within its time range and its own number of versions',
    families: { f: { versions: 5, keepDeletedCells: 'TRUE' } },
    writes: [put('q', 1, 'v1'), put('q', 2, 'v2'), put('q', 3, 'v3'), del('column', 'q', 2)],
    queries: [
      stored(['v3', 'D@2', 'v2', 'v1']),
      scan({ raw: true, versions: 1 }, ['v3', 'D@2']),
      get({ raw: true, versions: 'all' }, ['v3', 'D@2', 'v2', 'v1']),
      get({ raw: true }, ['v3', 'D@2']),
    ],
  },
  {
    id: 'R47b',
    title: 'a filter of empty values gives the markers of a row',
    families: { f: { versions: 5, keepDeletedCells: 'TRUE' } },
    writes: [
      put('p', 1, 'v'),
      put('q', 1, 'v1'),
      del('columns', 'q', 2),
      put('q', 3, 'v3'),
      del('row', '', 1),
    ],
    queries: ['scan' as const, 'get' as const].map((kind) =>
      (kind === 'scan' ? scan : get)({ raw: true, filter: filters.value('EQUAL', '') }, ['DF@1', 'DC@2']),
    ),
  },
  {
    id: 'R48',
    title: 'a raw scan or get of single columns is refused',
    writes: [put('q', 1, 'v')],
    queries: [
      refused(async (table) => {
        const scanner = table.scan(new Scan().setRaw(true).addColumn('f', 'q'));
        await scanner.next();
      }, 'ERR_INVALID_ARGUMENT'),
      refused((table) => table.get(new Get('r').setRaw(true).addColumn('f', 'q')), 'ERR_INVALID_ARGUMENT'),
    ],
  },
  {
    id: 'R49',
    title: 'a reversed scan gives the rows downwards, and the cells of each as ever',
    writes: [...rows, put('p', 1, 'c first', { row: 'c' })],
    queries: [
      scan({ reversed: true }, ['d', 'c first', 'c', 'b', 'a']),
      scan({ reversed: true, start: ['c', true], stop: ['a', false] }, ['c first', 'c', 'b']),
      scan({ reversed: true, start: ['c', false], stop: ['a', true] }, ['b', 'a']),
      scan({ reversed: true, start: ['cc', true], limit: 1 }, ['c first', 'c']),
    ],
  },
  {
    id: 'R50',
    title: 'the start is inside and the stop outside unless told otherwise; an empty bound is open',
    writes: rows,
    queries: [
      scan({ start: ['b', true], stop: ['d', false] }, ['b', 'c']),
      scan({ start: ['b', false], stop: ['d', true] }, ['c', 'd']),
      scan({ start: ['b', true], stop: ['b', true] }, ['b']),
      scan({ start: ['bb', true] }, ['c', 'd']),
      scan({}, ['a', 'b', 'c', 'd']),
      scan({ limit: 2 }, ['a', 'b']),
    ],
  },
  {
    id: 'R51',
    title: 'the time range of a family takes the place of the one of the query',
    families: { f: { versions: 3 }, g: { versions: 3 } },
    writes: [
      put('q', 1, 'f1'),
      put('q', 5, 'f5'),
      put('q', 1, 'g1', { family: 'g' }),
      put('q', 5, 'g5', { family: 'g' }),
    ],
    queries: [
      {
        expect: ['f5', 'g1'],
        ask: async ({ table }) => {
          const query = new Get('r').setTimeRange(3, 9).setColumnFamilyTimeRange('g', 0, 3);
          return (await table.get(query)).cells.map((cell) => Buffer.from(cell.value).toString());
        },
      },
    ],
  },
  {
    id: 'R52',
    title: 'a time range has its start and not its end; asking for existence gives no cells',
    writes: [put('q', 1, 'v1'), put('q', 2, 'v2'), put('q', 3, 'v3')],
    queries: [
      get({ versions: 'all', timeRange: [1, 3] }, ['v2', 'v1']),
      get({ versions: 'all', timeRange: [2, LATEST_TIMESTAMP] }, ['v3', 'v2']),
      {
        expect: ['true', 'false'],
        ask: async ({ table }) => [
          String(await table.exists(new Get('r'))),
          String(await table.exists(new Get('nobody'))),
        ],
      },
    ],
  },
  {
    id: 'R53',
    title: 'what is written after a scan began does not change its rows',
    writes: rows,
    queries: [
      {
        expect: ['a', 'b', 'c', 'd'],
        ask: async ({ table }) => {
          const scanner = table.scan(new Scan().setCaching(1));
          const seen = [await scanner.next()];
          await table.put(new Put('c').addColumn('f', 'q', 'c', 1));
          for (let result = await scanner.next(); result; result = await scanner.next()) seen.push(result);
          return seen.map((result) => Buffer.from(result!.cells[0]!.value).toString());
        },
      },
    ],
  },
  {
    id: 'R54',
    title: 'a row in a scan is whole over its families',
    families: { f: {}, g: {} },
    writes: [put('q', 1, 'f'), put('q', 1, 'g', { family: 'g' })],
    queries: [scan({}, ['f', 'g']), scan({ families: ['g'] }, ['g'])],
  },
  {
    id: 'R55',
    title: 'limits and offsets count the cells of each row and family',
    families: { f: {}, g: {} },
    writes: [
      ...['a', 'b', 'c'].map((q) => put(q, 1, `f${q}`)),
      ...['a', 'b', 'c'].map((q) => put(q, 1, `g${q}`, { family: 'g' })),
    ],
    queries: [scan({ perFamily: { limit: 1, offset: 1 } }, ['fb', 'gb'])],
  },
  {
    id: 'R58',
    title: 'columns, rows and families that are asked for alone give what they give among others',
    families: { f: { versions: 2, bloomFilter: 'ROWCOL' } },
    writes: [
      put('a', 1, 'a1'),
      put('b', 2, 'b2'),
      put('c', 3, 'c3'),
      del('columns', 'b', 2),
      put('a', 9, 'x', { row: 's' }),
    ],
    queries: [
      get({ columns: ['b'] }, []),
      get({ columns: ['a', 'c'] }, ['a1', 'c3']),
      get({ columns: ['a'], row: 'nobody' }, []),
      get({ columns: ['zz'] }, []),
    ],
  },
  {
    id: 'R68',
    title: 'appends lengthen the value, and begin at nothing',
    writes: [append('q', 'one'), append('q', 'two'), append('q', '')],
    queries: [get({}, ['onetwo'])],
  },
  {
    id: 'R69',
    title: 'increments and appends answer with the new cells unless told not to',
    writes: [increment('n', 1)],
    queries: [
      {
        expect: ['2', 'no cells', 'ab'],
        ask: async ({ table }) => {
          const value = (await table.increment(new Increment('x').addColumn('f', 'n', 2))).getValue(
            'f',
            'n',
          )!;
          const silent = await table.increment(
            new Increment('x').addColumn('f', 'n', 2).setReturnResults(false),
          );
          await table.append(new Append('x').addColumn('f', 's', 'a'));
          const appended = await table.append(new Append('x').addColumn('f', 's', 'b'));
          await table.delete(new Delete('x'));
          return [
            String(new DataView(value.buffer, value.byteOffset).getBigInt64(0)),
            silent.isEmpty ? 'no cells' : 'cells',
            Buffer.from(appended.getValue('f', 's')!).toString(),
          ];
        },
      },
    ],
  },
  {
    id: 'R69b',
    title: 'the first value of an increment or append has the timestamp given to it, and the next is newer',
    writes: [
      write((table) =>
        table.increment(new Increment('r').addColumn('f', 'a', 1, 999).addColumn('f', 'b', 1, 999)),
      ),
      write((table) => table.increment(new Increment('r').addColumn('f', 'b', 1, 500))),
      write((table) =>
        table.append(new Append('r').addColumn('f', 'c', '1', 999).addColumn('f', 'd', '1', 999)),
      ),
      write((table) => table.append(new Append('r').addColumn('f', 'd', '2', 500))),
    ],
    queries: [
      {
        expect: ['a 999', 'b newer', 'c 999', 'd newer'],
        ask: async ({ table }) => {
          const { cells } = await table.get(new Get('r'));
          return cells.map(({ qualifier, timestamp }) => {
            const time = timestamp > 999 ? 'newer' : timestamp;
            return `${Buffer.from(qualifier).toString()} ${time}`;
          });
        },
      },
    ],
  },
  {
    id: 'R70',
    title: 'an incremented counter has one version where the family keeps one',
    families: { f: {} },
    writes: [increment('n', 1), increment('n', 1), increment('n', 1)],
    queries: [get({ versions: 'all' }, [counter(3)])],
  },
  {
    id: 'R71',
    title: 'an increment of nothing reads the counter, and writes it',
    writes: [increment('n', 0)],
    queries: [get({}, [counter(0)])],
  },
  {
    id: 'R67c',
    title: 'an increment of what is no counter is refused and changes nothing',
    writes: [putNow('q', 'text')],
    queries: [
      {
        expect: ['refused', 'text'],
        ask: async ({ table }) => {
          const outcome = await table.increment(new Increment('r').addColumn('f', 'q', 1)).then(
            () => 'accepted',
            () => 'refused',
          );
          return [outcome, Buffer.from((await table.get(new Get('r'))).getValue('f', 'q')!).toString()];
        },
      },
    ],
  },
  ...(
    [
      ['EQUAL', 'm', true],
      ['EQUAL', 'n', false],
      ['NOT_EQUAL', 'n', true],
      ['NOT_EQUAL', 'm', false],
      ['GREATER', 'n', true],
      ['GREATER', 'm', false],
      ['GREATER_OR_EQUAL', 'm', true],
      ['LESS', 'a', true],
      ['LESS', 'm', false],
      ['LESS_OR_EQUAL', 'm', true],
    ] as const
  ).map(
    ([operator, value, holds]): RuleCase => ({
      id: `R72 ${operator} ${value}`,
      title: 'a check compares the given value with the stored one, in this order',
      writes: [put('q', 1, 'm'), check('q', operator, value)],
      queries: [get({}, holds ? ['yes', 'm'] : ['m'])],
    }),
  ),
  ...(
    [
      ['absent', 'EQUAL', null, true],
      ['absent', 'GREATER', null, true],
      ['absent', 'NOT_EQUAL', null, false],
      ['absent', 'EQUAL', 'x', false],
      ['absent', 'NOT_EQUAL', 'x', false],
      ['q', 'EQUAL', null, false],
      ['q', 'NOT_EQUAL', null, true],
      ['empty', 'EQUAL', null, true],
      ['empty', 'NOT_EQUAL', null, false],
    ] as const
  ).map(
    ([column, operator, value, holds]): RuleCase => ({
      id: `R73 ${column} ${operator} ${value}`,
      title: 'checks of columns that are absent or empty, and against nothing',
      writes: [put('q', 1, 'm'), put('empty', 1, ''), check(column, operator, value)],
      queries: [get({ columns: ['done'] }, holds ? ['yes'] : [])],
    }),
  ),
  {
    id: 'R74',
    title: 'a check can be a filter, and its action any change of the row',
    writes: [
      put('q', 1, 'v'),
      write((table) =>
        table.checkAndMutate(
          CheckAndMutate.ifFilter(
            filters.singleColumnValue('f', 'q', 'EQUAL', 'v', { filterIfMissing: true }),
            new RowMutations('r').add(
              new Put('r').addColumn('f', 'a', 'A'),
              new Delete('r').addColumns('f', 'q'),
            ),
          ),
        ),
      ),
      write((table) =>
        table.checkAndMutate(
          CheckAndMutate.ifFilter(filters.qualifier('EQUAL', 'nope'), new Put('r').addColumn('f', 'a', 'B')),
        ),
      ),
      write((table) =>
        table.checkAndMutate(
          CheckAndMutate.ifEquals(
            'f',
            fromLatin1('a'),
            fromLatin1('A'),
            new Increment('r').addColumn('f', 'n', 3),
          ),
        ),
      ),
    ],
    queries: [get({}, ['A', counter(3)])],
  },
  {
    id: 'R75',
    title: 'a put behind a check is never older than the cell that was checked',
    writes: [
      put('q', 4_000_000_000_000_000, 'ahead'),
      write((table) =>
        table.checkAndMutate(
          CheckAndMutate.ifEquals(
            'f',
            fromLatin1('q'),
            fromLatin1('ahead'),
            new Put('r').addColumn('f', 'q', 'changed'),
          ),
        ),
      ),
    ],
    queries: [get({}, ['changed'])],
  },
  {
    id: 'R76',
    title: 'row mutations take effect together, over families',
    families: { f: {}, g: {} },
    writes: [
      put('old', 1, 'old'),
      together((row) => [
        new Put(row).addColumn('f', 'new', 'new').addColumn('g', 'q', 'g'),
        new Delete(row).addColumns('f', 'old'),
      ]),
    ],
    queries: [get({}, ['new', 'g'])],
  },
  {
    id: 'R77',
    title: 'in a batch each row stands alone: one that fails leaves the others',
    writes: [
      write((table) =>
        table.batch([
          new Put('a').addColumn('f', 'q', 'a'),
          new Put('b').addColumn('nope', 'q', 'b'),
          new Put('c').addColumn('f', 'q', 'c'),
        ]),
      ),
    ],
    queries: [
      scan({}, ['a', 'c']),
      {
        expect: ['true', 'false ERR_NO_SUCH_FAMILY', 'true'],
        ask: async ({ table }) => {
          const outcomes = await table.batch([
            new Get('a'),
            new Put('b').addColumn('nope', 'q', 'b'),
            new Put('c').addColumn('f', 'q', 'c', 1),
          ]);
          return outcomes.map((outcome) => (outcome.ok ? 'true' : `false ${outcome.error.code}`));
        },
      },
    ],
  },
  {
    id: 'R79',
    title: 'with NEW_VERSION_BEHAVIOR a marker hides only what was written before it',
    families: { f: { versions: 3, newVersionBehavior: true } },
    writes: [put('q', 18, 'before'), del('columns', 'q', 20), put('q', 19, 'after')],
    queries: [get({ versions: 'all' }, ['after'])],
  },
  {
    id: 'R80',
    title: 'with NEW_VERSION_BEHAVIOR a deleted version counts, so none comes back',
    families: { f: { versions: 2, newVersionBehavior: true } },
    writes: [put('q', 1, 'v1'), put('q', 2, 'v2'), put('q', 3, 'v3'), del('column', 'q', 3)],
    queries: [get({ versions: 'all' }, ['v2'])],
  },
  {
    id: 'R81',
    title: 'with NEW_VERSION_BEHAVIOR of two puts of one timestamp the later is seen',
    families: { f: { versions: 2, newVersionBehavior: true } },
    writes: [put('q', 5, 'first'), put('q', 5, 'second')],
    queries: [get({ versions: 'all' }, ['second'])],
  },
  {
    id: 'R86',
    title: 'split keys rise strictly and none is empty',
    writes: [],
    queries: [
      {
        expect: ['ERR_INVALID_ARGUMENT', 'ERR_INVALID_ARGUMENT'],
        ask: async () => {
          const { checkSplitKeys } = await import('../../../src/table/index.js');
          const codeOf = (keys: Uint8Array[]): string => {
            try {
              checkSplitKeys(keys);
              return 'accepted';
            } catch (error) {
              return (error as { code: string }).code;
            }
          };
          return [codeOf([new Uint8Array(0)]), codeOf([Uint8Array.of(2), Uint8Array.of(1)])];
        },
      },
    ],
  },
  {
    id: 'R19',
    title: 'MIN_VERSIONS above VERSIONS is refused',
    writes: [],
    queries: [
      {
        expect: ['ERR_SCHEMA'],
        ask: async () => {
          try {
            tableDescriptor('t', { f: { versions: 1, minVersions: 2, ttl: 10 } });
            return ['accepted'];
          } catch (error) {
            return [(error as { code: string }).code];
          }
        },
      },
    ],
  },
];
