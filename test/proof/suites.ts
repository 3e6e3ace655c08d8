/**
 * The suites that verify the engine's guarantees, in the order of docs/reliability.md. Their counts come from {@link
 * record}.
 */

interface Suite {
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
    id: 'concurrent-crash-points',
    promises: 'P1-P5',
    file: 'test/crash/concurrent-crashes.test.ts',
    what: 'the same under writers, flushes, compactions, splits, bulk loads, checkpoints and changes of tables that do not wait for each other, and a second crash at operations of the recovery',
  },
  {
    id: 'failing-disk',
    promises: 'P7',
    file: 'test/crash/failing-disk.test.ts',
    what: 'the Nth operation of a kind on a file fails, once or from there on, under one writer',
  },
  {
    id: 'concurrent-faults',
    promises: 'P1, P4, P5, P7',
    file: 'test/crash/concurrent-faults.test.ts',
    what: 'the same under 16 clients, with the store closed and opened again in between; and, drawn at random, under six that fill small logs and memstores while one kind of file fails: no rejected value is in the open store or the next one, counters count exactly, batches are whole',
  },
  {
    id: 'kills',
    promises: 'P1, P3, P4',
    file: 'test/crash/kill.test.ts',
    what: 'a real process is killed with SIGKILL at a random moment, again and again on one store',
  },
  {
    id: 'system-calls',
    promises: 'P1-P4, P7',
    file: 'test/crash/system-calls.deep.test.ts',
    what: 'the system calls of a real process are recorded and the disk is rebuilt as a loss of power could have left it; and single calls are made to fail',
  },
  {
    id: 'bit-flips',
    promises: 'P6',
    file: 'test/crash/bit-flips.test.ts',
    what: 'one bit of one file is changed',
  },
  {
    id: 'repair',
    promises: 'P6',
    file: 'test/crash/repair.test.ts',
    what: 'a store with one changed bit is repaired: it opens, holds nothing that was not in it, and what is missing was listed',
  },
  {
    id: 'truncations',
    promises: 'P6',
    file: 'test/crash/truncations.test.ts',
    what: 'one file is cut off, at every length',
  },
  {
    id: 'decoders',
    promises: 'P6',
    file: 'test/fuzz/decoders.test.ts',
    what: 'damaged blocks, indexes, filters, footers, records and edits whose checksums fit the damage',
  },
  {
    id: 'log-and-manifest-fuzz',
    promises: 'P6',
    file: 'test/fuzz/wal.test.ts',
    what: 'random damage of the log; `manifest.test.ts` beside it does the same to MANIFEST and CURRENT',
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
    id: 'lifecycles',
    promises: 'docs/schema.md',
    file: 'test/moves/lifecycles.test.ts',
    what: 'releases of an entity that reorder, move and upgrade its columns and move its Map, into other families too, add and drop indexes and summaries, pin the marker, let rows end by themselves, and add, leave out and retire another type of the table, with openings between: every way of reading gives what every way of writing has stored',
  },
  {
    id: 'crossing',
    promises: 'docs/entities.md',
    file: 'test/crossing/crossing.test.ts',
    what: 'random declarations that have many of 28 features at once (lives, soft deletes, versions, Maps, packed rows, upgrades, moves, copies, referential rules, summaries, change feeds; indexes that are unique, partial, eventual, of lists and of Maps), written in every way, in batches and in transactions, between flushes, compactions and openings, held against a plain Map',
  },
  {
    id: 'disturbed',
    promises: 'P1, P4, P5',
    file: 'test/crossing/disturbed.test.ts',
    what: 'the same declarations under three clients that do not wait for each other, beside builds, merges of files, moves of columns and changes of sources, with losses of power and openings of the next release between: what was acknowledged is there, each index, summary, copy, reference and feed agrees with the rows',
  },
  {
    id: 'lifecycles-hbase',
    promises: 'docs/schema.md',
    file: 'test/hbase/lifecycles.test.ts',
    what: 'the same on a real HBase, without transactions, and with summaries or rows that end, not both',
  },
  {
    id: 'moving-rows',
    promises: 'docs/indexes.md',
    file: 'test/indexes/moving-rows.test.ts',
    what: 'a writer moves a row to other entries of indexes while a query reads them, where one step is one row, in orders of their calls: every form of query gives each row once',
  },
  {
    id: 'linearizability',
    promises: 'P1, P4, P5',
    file: 'test/store/engine/linearizability.test.ts',
    what: 'histories of registers, counters and checks of clients that do not wait for each other must have an order that explains them, while files are written, merged and split and the disk fails',
  },
  {
    id: 'acid',
    promises: 'P4, P5',
    file: 'test/store/engine/acid.test.ts',
    what: 'writers set all of 3 families x 50 columns of a row to one value; no reader may see two',
  },
  {
    id: 'transactions',
    promises: 'P2-P5',
    file: 'test/crash/transactions.test.ts',
    what: 'transfers, inserts under a unique index and reads of ranges in transactions that meet, with flushes, compactions, splits, losses of power and a disk that is full now and then: no cycle among what each has read and written, money neither made nor lost',
  },
  {
    id: 'loads',
    promises: 'P5',
    file: 'test/store/transaction/loads.test.ts',
    what: 'transactions, steps and plain writes beside bulk loads: a load is seen whole or not at all, by whoever begins when it is acknowledged, and the loads and writes that each has seen have one order',
  },
  {
    id: 'followers',
    promises: 'P1-P5',
    file: 'test/crash/followers.test.ts',
    what: 'the power goes under 16 writers of sources, of rows with copies of them, references and summaries, and of rows that a delete takes along: no reference leads nowhere, figures are those of the rows, copies differ only where the outbox says so, and a second repair changes nothing',
  },
  {
    id: 'late-requests',
    promises: 'docs/hbase-calls.md',
    file: 'test/indexes/late-requests.test.ts',
    what: 'each change that a write sends, of entries, claims of unique values, copies, referential rules and figures, arrives when others have taken over what its writer had begun, who has given up or ended, or arrives twice: unique values, answers and checks are exact',
  },
  {
    id: 'late-sockets',
    promises: 'docs/hbase-calls.md',
    file: 'test/hbase/late/late-requests.test.ts',
    what: 'the same on a real HBase, over sockets: a proxy keeps a request, and delivers it when the connection has ended that it was sent over',
  },
  {
    id: 'late-changes',
    promises: 'docs/hbase-calls.md',
    file: 'test/watch/late-requests.test.ts',
    what: 'each change that a write sends whose change is told arrives late or twice, when others have written the row, when a feed has passed it, or has begun behind it: whoever is told has the rows that are there',
  },
  {
    id: 'late-rekey',
    promises: 'docs/hbase-calls.md',
    file: 'test/rekey/late-requests.test.ts',
    what: 'each change that a change of keys by copies sends, of copies, of its record and of its jobs, arrives late or twice, when another program has gone on with it or begun it anew, has cut over, and the new layout was written and compacted: what was acknowledged is there, and nothing else',
  },
  {
    id: 'rekey-kills',
    promises: 'docs/rekey.md',
    file: 'test/hbase/rekey/kill.test.ts',
    what: 'on a real HBase processes that change keys are killed wherever they are, in the cut-over too, beside writers and regions that move, and others go on with the change or abort it: what was acknowledged is there, in the layout that counts, and nothing else',
  },
  {
    id: 'rekey-rests',
    promises: 'docs/rekey.md',
    file: 'test/hbase/rekey/rest.test.ts',
    what: 'on a real HBase the keys of 20,000 rows are cut over beside four writers, and beside regions that move: how long a writer was refused at most',
  },
  {
    id: 'served-kills',
    promises: 'docs/server.md',
    file: 'test/hbase-served/kills.test.ts',
    what: '`rowan serve` is killed with SIGKILL under clients of HBase in Java and of this package, which put and increment: each acknowledged put is there, each increment counts once, and no client hangs',
  },
  {
    id: 'served-java',
    promises: 'docs/semantics.md',
    file: 'test/hbase-served/java.test.ts',
    what: "HBase's Java client replays on `rowan serve` the sequences that were recorded from HBase 2.6.4, and is given the same answers; its LoadTestTool, AcidGuaranteesTestTool and PerformanceEvaluation find no fault",
  },
  {
    id: 'served-client-tests',
    promises: 'docs/server.md',
    file: 'test/hbase-served/client-tests.test.ts',
    what: "HBase's own client tests, on `rowan serve` in place of the cluster that they start",
  },
  {
    id: 'linked-list',
    promises: 'P1, P3',
    file: 'test/crash/linked-list.deep.test.ts',
    what: 'rows that each name one written before; the writer is killed over and over; no name may lead nowhere',
  },
  {
    id: 'limits',
    promises: 'P5, P7',
    file: 'test/store/engine/limits.test.ts',
    what: 'everything at its limit, and past it',
  },
  {
    id: 'soak',
    promises: 'P5',
    file: 'test/store/engine/soak.deep.test.ts',
    what: 'a mixed load on one store: heap, memory, descriptors and disk stay flat',
  },
];
