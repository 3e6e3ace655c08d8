/** The transcript of KEEP_DELETED_CELLS in the HBase notes: puts at 10, 12, 14 and a delete up to 11, cell by cell. */

import { del, get, put, type RuleCase, stored } from './case.js';

const writes = [put('q', 10, 'v10'), put('q', 12, 'v12'), put('q', 14, 'v14'), del('columns', 'q', 11)];

export const keepDeletedCellsTranscript: readonly RuleCase[] = [
  {
    id: 'R42 transcript FALSE',
    title: 'the deleted cell goes with the flush, the marker with the major compaction',
    families: { f: { versions: 5, keepDeletedCells: 'FALSE' } },
    writes,
    queries: [
      stored(['v14', 'v12', 'DC@11'], {
        memstore: ['v14', 'v12', 'DC@11', 'v10'],
        flushEach: ['v14', 'v12', 'DC@11', 'v10'],
        minor: ['v14', 'v12'],
        major: ['v14', 'v12'],
      }),
      get({ versions: 'all', timeRange: [0, 11] }, []),
    ],
  },
  {
    id: 'R42 transcript TRUE',
    title: 'all four cells stay, through flush and major compaction',
    families: { f: { versions: 5, keepDeletedCells: 'TRUE' } },
    writes,
    queries: [
      stored(['v14', 'v12', 'DC@11', 'v10']),
      get({ versions: 'all' }, ['v14', 'v12']),
      get({ versions: 'all', timeRange: [0, 11] }, ['v10']),
    ],
  },
];
