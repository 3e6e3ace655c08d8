/** The suites that hold the engine to its promises, in the order of docs/reliability.md. Their counts come from {@link record}. */

export interface Suite {
  readonly id: string;
  /** Of docs/durability.md. */
  readonly promises: string;
  readonly file: string;
  readonly what: string;
}

export const SUITES: readonly Suite[] = [
  {
    id: 'crash-points',
    promises: 'P1-P5',
    file: 'test/crash/crash-points.test.ts',
    what: 'the power goes after every operation on a file, nothing, half or all of what is unsynced is kept, and what is opened then must be a prefix of the changes that holds every promised one; with one writer',
  },
  {
    id: 'failing-disk',
    promises: 'P7',
    file: 'test/crash/failing-disk.test.ts',
    what: 'the Nth operation of a kind on a file fails, once or from there on, under one writer',
  },
  {
    id: 'kills',
    promises: 'P1, P3, P4',
    file: 'test/crash/kill.test.ts',
    what: 'a real process is killed with SIGKILL at a random moment, again and again on one store',
  },
  {
    id: 'bit-flips',
    promises: 'P6',
    file: 'test/crash/bit-flips.test.ts',
    what: 'one bit of one file is changed',
  },
  {
    id: 'log-and-manifest-fuzz',
    promises: 'P6',
    file: 'test/fuzz/wal.test.ts',
    what: 'random damage of log, MANIFEST and CURRENT',
  },
  {
    id: 'metamorphic',
    promises: 'P5',
    file: 'test/store/engine/metamorphic.test.ts',
    what: 'one random script on stores with different options and different upkeep must have the same answers',
  },
  {
    id: 'differential',
    promises: 'P5',
    file: 'test/conformance/embedded-differential.test.ts',
    what: 'random tables and queries against a simple model of HBase',
  },
  {
    id: 'acid',
    promises: 'P4, P5',
    file: 'test/store/engine/acid.test.ts',
    what: 'writers set all of 3 families x 50 columns of a row to one value; no reader may see two',
  },
];
