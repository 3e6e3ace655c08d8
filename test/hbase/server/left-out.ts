/** The tests of `test:hbase` that `npm run test:hbase:served` leaves out, and why. docs/server.md has the same list. */

export interface LeftOut {
  /** Below test/hbase/. */
  readonly file: string;
  /** The tests of the file that are left out, or their groups. Default: all. */
  readonly tests?: readonly string[];
  readonly why: string;
}

export const LEFT_OUT: readonly LeftOut[] = [
  { file: 'chaos/servers.test.ts', why: 'kills and stops servers of a cluster of several' },
  { file: 'chaos/starts.test.ts', why: 'kills and stops servers of a cluster of several' },
  { file: 'labels.test.ts', why: 'starts an HBase with visibility labels' },
  { file: 'quotas.test.ts', why: 'starts an HBase with quotas' },
  { file: 'groups.test.ts', why: 'starts an HBase with groups of region servers' },
  {
    file: 'chaos/regions.test.ts',
    tests: [
      'splits, moves and merges regions without losing or doubling a write',
      'is counted once, and its outcome is unknown, when its region has moved',
    ],
    why: 'moves regions between servers',
  },
  { file: 'unassigned.test.ts', why: 'has the master close a region and open it nowhere' },
  { file: 'replicas.test.ts', why: 'reads replicas of regions, on other servers' },
  {
    file: 'bulk-load.test.ts',
    why: "loads files that HBase's flushes have written; `test/server/bulk-load.test.ts` loads others",
  },
  {
    file: 'hfile.test.ts',
    tests: [
      "HBase's own tool reads, checks and prints every cell of files of every shape",
      'cells of several regions and families are loaded as they are, and what HBase makes of the files is read here',
      'files packed by',
    ],
    why: 'reads the files of tables where HBase has them, or needs its codecs',
  },
  {
    file: 'cookbook.test.ts',
    why: 'one recipe shows that HBase refuses transactions, which work here; all run as one program',
  },
  {
    file: 'sequence-files.test.ts',
    tests: ['the life of single cells comes along where HBase is asked to send it'],
    why: 'asks for tags of cells (`KeyValueCodecWithTags`)',
  },
  {
    file: 'traffic-admin.test.ts',
    tests: ['peers of replication are added, listed, switched off and on, and removed'],
    why: 'replication is not supported',
  },
  {
    file: 'ddl.test.ts',
    tests: ['and describe says so in its own words'],
    why: 'a family does not tell an attribute that was set to its default (`NEW_VERSION_BEHAVIOR`)',
  },
  {
    file: 'shell.test.ts',
    tests: ['tables.rb', 'rows.rb', 'forms.rb'],
    why: 'the same, and refusals of a raw scan, a time to live and versions have other words',
  },
];

/** The names of the tests that are left out. */
export function testsLeftOut(): string[] {
  return LEFT_OUT.flatMap(({ tests = [] }) => tests);
}

/** The rows of the page's table. */
export function leftOutTable(): string {
  return LEFT_OUT.map(({ file, tests, why }) => {
    const which = tests === undefined ? 'all' : tests.map((name) => `"${name}"`).join(', ');
    return `| \`${file}\` | ${which} | ${why} |`;
  }).join('\n');
}
