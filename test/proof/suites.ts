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
    what: 'Cuts the power after every file operation of one writer, and keeps none, half or all of the unsynced bytes. The store that opens then holds a prefix of the changes, with every acknowledged one.',
  },
  {
    id: 'concurrent-crash-points',
    promises: 'P1-P5',
    file: 'test/crash/concurrent-crashes.middle.test.ts',
    what: 'The same with concurrent writers, flushes, compactions, splits, bulk loads, checkpoints and table changes, and with a second power cut during recovery.',
  },
  {
    id: 'failing-disk',
    promises: 'P7',
    file: 'test/crash/failing-disk.test.ts',
    what: 'Makes the nth file operation of one kind fail, once or from then on, under one writer.',
  },
  {
    id: 'archived-crashes',
    promises: 'docs/backup.md',
    file: 'test/crash/archived-crashes.test.ts',
    what: 'Cuts the power, or makes the disk fail, under one writer whose log is archived. The store opens with what was promised. After another write the archive restores exactly what the store has.',
  },
  {
    id: 'archive-faults',
    promises: 'docs/backup.md',
    file: 'test/crash/archive-faults.test.ts',
    what: 'Fills the disk of a log archive, makes its calls fail, and cuts the power of both disks, over several lives of one store. Random moments, by time and by write, are restored exactly as the store was then.',
  },
  {
    id: 'concurrent-faults',
    promises: 'P1, P4, P5, P7',
    file: 'test/crash/concurrent-faults.middle.test.ts',
    what: 'The same under 16 clients, with the store closed and reopened in between. Random runs add six clients that fill small logs and memstores while one kind of file fails. No rejected value is ever visible, counters are exact, batches are whole.',
  },
  {
    id: 'kills',
    promises: 'P1, P3, P4',
    file: 'test/crash/kill.test.ts',
    what: 'Kills a real process with SIGKILL at a random moment, again and again on one store.',
  },
  {
    id: 'system-calls',
    promises: 'P1-P4, P7',
    file: 'test/crash/system-calls.deep.test.ts',
    what: 'Records the system calls of a real process, and rebuilds the disk as a power cut could have left it. Then makes single calls fail.',
  },
  {
    id: 'bit-flips',
    promises: 'P6',
    file: 'test/crash/bit-flips.test.ts',
    what: 'Flips one bit of one file.',
  },
  {
    id: 'repair',
    promises: 'P6',
    file: 'test/crash/repair.test.ts',
    what: 'Repairs a store with one flipped bit. It opens, holds nothing that was not in it before, and the repair has listed everything that is missing.',
  },
  {
    id: 'truncations',
    promises: 'P6',
    file: 'test/crash/truncations.test.ts',
    what: 'Cuts one file off, at every length.',
  },
  {
    id: 'decoders',
    promises: 'P6',
    file: 'test/fuzz/decoders.test.ts',
    what: 'Damages blocks, indexes, filters, footers, records and edits, and makes their checksums fit the damage.',
  },
  {
    id: 'log-and-manifest-fuzz',
    promises: 'P6',
    file: 'test/fuzz/wal.test.ts',
    what: 'Damages the log at random. `manifest.test.ts` beside it does the same to MANIFEST and CURRENT.',
  },
  {
    id: 'metamorphic',
    promises: 'P5',
    file: 'test/store/engine/metamorphic.test.ts',
    what: 'Runs one random script on stores with different options and maintenance. All give the same answers.',
  },
  {
    id: 'differential',
    promises: 'P5',
    file: 'test/conformance/embedded-differential.test.ts',
    what: 'Compares random tables and queries with a simple model of HBase.',
  },
  {
    id: 'lifecycles',
    promises: 'docs/schema.md',
    file: 'test/moves/lifecycles.test.ts',
    what: 'Random releases of one entity: they reorder, move and upgrade columns (into other families too), move its Map, add and drop indexes and summaries, pin the marker, let rows expire, and add, omit and retire another type of the table. The store is reopened in between. Every way of reading returns what every way of writing stored.',
  },
  {
    id: 'crossing',
    promises: 'docs/entities.md',
    file: 'test/crossing/crossing.test.ts',
    what: 'Random declarations that combine many of 29 features (times to live, soft deletes, versions, Maps, packed rows, upgrades, moved and computed columns, copies, referential rules, summaries, change feeds; unique, partial, eventual, list and Map indexes). They are written in every way, in batches and transactions, between flushes, compactions and openings, and compared with a plain Map.',
  },
  {
    id: 'codecs',
    promises: 'docs/columns.md',
    file: 'test/crossing/codecs.middle.test.ts',
    what: 'Every codec in every place that orders or compares values: columns, keys, Maps, indexes, summaries, figures and conditional writes, on an engine whose step is many rows and on one whose step is one row. The order of listed values is the model.',
  },
  {
    id: 'disturbed',
    promises: 'P1, P4, P5',
    file: 'test/crossing/disturbed.test.ts',
    what: 'The same declarations under three concurrent clients, beside index builds, compactions, column moves and changes of copied sources, with power cuts and openings by the next release. Acknowledged data is there, and each index, summary, copy, reference and feed agrees with the rows.',
  },
  {
    id: 'lives',
    promises: 'P1, P4',
    file: 'test/crossing/lives.middle.test.ts',
    what: 'Random lives of a database, each with other indexes and summaries, in which keys are changed and rows expire. Index builds, repairs, key changes and jobs are cut off by closing, by power cuts, or go on in a checkpoint or in restored tables. All work ends, acknowledged rows are there, and indexes, summaries, feeds and readers agree with them.',
  },
  {
    id: 'mutual',
    promises: 'docs/relations.md',
    file: 'test/crossing/mutual.test.ts',
    what: 'Random declarations of mutual links that combine many of 16 features (soft deletes, versions, Maps, copies, copied entries, cascades, summaries; eventual and list indexes). Either side is written, in transactions too, on an engine whose step is many rows and on one whose step is one row. Both sides and what depends on them are compared with a plain Map.',
  },
  {
    id: 'lifecycles-hbase',
    promises: 'docs/schema.md',
    file: 'test/hbase/lifecycles.test.ts',
    what: 'The same releases on a real HBase, without transactions, and with either summaries or expiring rows.',
  },
  {
    id: 'moving-rows',
    promises: 'docs/indexes.md',
    file: 'test/indexes/moving-rows.middle.test.ts',
    what: 'Where one step is one row: a writer moves a row to other index entries while a query reads them, in many orders of their calls. Every form of query returns each row once.',
  },
  {
    id: 'linearizability',
    promises: 'P1, P4, P5',
    file: 'test/store/engine/linearizability.test.ts',
    what: 'Records histories of registers, counters and conditional writes by concurrent clients, while files are written, compacted and split and the disk fails. Some sequential order explains each history.',
  },
  {
    id: 'crowded',
    promises: 'P1, P4, P5',
    file: 'test/store/engine/crowded.middle.test.ts',
    what: 'Six clients increment, transfer, load, split, snapshot, empty, alter and drop tables of a store with little memory, while flushes fail now and then. Nobody waits for ever, counts are exact, and loads are whole.',
  },
  {
    id: 'acid',
    promises: 'P4, P5',
    file: 'test/store/engine/acid.test.ts',
    what: 'Writers set 50 columns in each of 3 families of a row to one value. No reader sees two values.',
  },
  {
    id: 'transactions',
    promises: 'P2-P5',
    file: 'test/crash/transactions.test.ts',
    what: 'Overlapping transactions transfer money, insert under a unique index and read ranges, with flushes, compactions, splits, power cuts and a disk that is full at times. Reads and writes form no cycle, and the sum of money is constant.',
  },
  {
    id: 'loads',
    promises: 'P5',
    file: 'test/store/transaction/loads.test.ts',
    what: 'Runs transactions, steps and plain writes beside bulk loads. A load is visible whole or not at all, and visible to everything that begins after it is acknowledged. All loads and writes have one order.',
  },
  {
    id: 'followers',
    promises: 'P1-P5',
    file: 'test/crash/followers.test.ts',
    what: 'Cuts the power under 16 writers of copied sources, of rows with copies, references and summaries, and of cascading deletes. No reference dangles, summaries equal their rows, copies differ only where the outbox says so, and a second repair changes nothing.',
  },
  {
    id: 'entries-follow-ups',
    promises: 'docs/indexes-eventual.md',
    file: 'test/indexes/follow-ups.test.ts',
    what: 'Ends programs at each request of a write whose entries are written after the call has returned, and delays or repeats each request. Three programs write the same rows at once, and die. A writer record leads to every row that lacks an entry, and drained entries are exact.',
  },
  {
    id: 'figures-follow-ups',
    promises: 'docs/summaries.md',
    file: 'test/summaries/follow-ups.test.ts',
    what: 'Ends programs at each request of a write that is counted after the call has returned, and delays or repeats each request. Three programs write the same rows at once, and die. Each row counts once, and a new count of all rows agrees.',
  },
  {
    id: 'late-requests',
    promises: 'docs/hbase-calls.md',
    file: 'test/indexes/late-requests.middle.test.ts',
    what: 'Delays each request of a write (entries, unique claims, copies, referential rules, summaries) until others have taken over for a writer that gave up or died, or delivers it twice. Unique values, answers and conditions are exact.',
  },
  {
    id: 'late-sockets',
    promises: 'docs/hbase-calls.md',
    file: 'test/hbase/late/late-requests.test.ts',
    what: 'The same on a real HBase: a proxy holds a request, and delivers it after its connection has closed.',
  },
  {
    id: 'late-changes',
    promises: 'docs/hbase-calls.md',
    file: 'test/watch/late-requests.middle.test.ts',
    what: 'Delays or repeats each request of a write that a change feed reports, until others have written the row, or a feed has passed it or begun after it. Followers end with the rows that are stored.',
  },
  {
    id: 'late-rekey',
    promises: 'docs/hbase-calls.md',
    file: 'test/rekey/late-requests.middle.test.ts',
    what: 'Delays or repeats each request of a re-keying by copies (its copies, record and jobs), until another program has continued it, restarted it or cut over, and the new layout was written and compacted. Exactly the acknowledged data is there.',
  },
  {
    id: 'rekey-kills',
    promises: 'docs/rekey.md',
    file: 'test/hbase/rekey/kill.test.ts',
    what: 'On a real HBase, kills processes that change keys at any point, also during cut-over, beside writers and moving regions. Other processes continue or abort the change. Exactly the acknowledged data is there, in the valid layout.',
  },
  {
    id: 'rekey-rests',
    promises: 'docs/rekey.md',
    file: 'test/hbase/rekey/rest.test.ts',
    what: 'On a real HBase, cuts over the keys of 20,000 rows beside four writers, with resting and moving regions. Measures the longest time for which a writer was refused.',
  },
  {
    id: 'served-kills',
    promises: 'docs/server.md',
    file: 'test/hbase-served/kills.test.ts',
    what: 'Kills `rowan serve` with SIGKILL under Java and Rowan clients that put and increment. Each acknowledged put is there, each increment counts once, and no client hangs.',
  },
  {
    id: 'served-hostile',
    promises: 'docs/server.md',
    file: 'test/server/hostile.test.ts',
    what: 'Sends randomly damaged frames to `rowan serve`. It answers or ends the connection, and serves other clients. The process, which holds server and clients, grows by less than 300 MiB.',
  },
  {
    id: 'served-java',
    promises: 'docs/semantics.md',
    file: 'test/hbase-served/java.test.ts',
    what: "HBase's Java client replays on `rowan serve` the sequences recorded from HBase 2.6.4, and gets the same answers.",
  },
  {
    id: 'served-tools',
    promises: 'docs/server.md',
    file: 'test/hbase-served/tools.test.ts',
    what: 'LoadTestTool writes, updates, reads and verifies keys on `rowan serve`. AcidGuaranteesTestTool and PerformanceEvaluation report no error.',
  },
  {
    id: 'served-client-tests',
    promises: 'docs/server.md',
    file: 'test/hbase-served/client-tests.test.ts',
    what: "Runs HBase's own client tests on `rowan serve`, in place of the cluster that they start.",
  },
  {
    id: 'linked-list',
    promises: 'P1, P3',
    file: 'test/crash/linked-list.deep.test.ts',
    what: 'Writes rows that each name an earlier one, and kills the writer over and over. No name dangles.',
  },
  {
    id: 'limits',
    promises: 'P5, P7',
    file: 'test/store/engine/limits.test.ts',
    what: 'Tests everything at its limit, and past it.',
  },
  {
    id: 'soak',
    promises: 'P5',
    file: 'test/store/engine/soak.deep.test.ts',
    what: 'Runs a mixed load on one store. Heap, memory, descriptors and disk usage stay flat.',
  },
];
