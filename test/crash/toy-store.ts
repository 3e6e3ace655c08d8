import { type FileSystem, joinPath, sortedFileName, walFileName } from '../../src/store/fs/index.js';
import { liveFiles, Manifest } from '../../src/store/manifest/index.js';
import { PreparedSegment, replayWal, Wal } from '../../src/store/wal/index.js';
import { tableDescriptor } from '../../src/table/index.js';

const DIRECTORY = '/data/db';
const NO_KEY = new Uint8Array(0);
const REGION = 3;
const FAMILY = 2;

function atOnce(task: () => void): () => void {
  task();
  return () => undefined;
}

/**
 * The least that a store is: numbered writes go to the log, and now and then to a file. It uses log and MANIFEST by
 * their rules, so that their recovery can be tested alone.
 */
export class ToyStore {
  /** The numbers of all writes, in files and in memory. */
  readonly writes: number[] = [];
  private flushed = 0;
  private next: PreparedSegment | undefined;
  private leaving: Promise<void> | undefined;

  private constructor(
    private readonly files: FileSystem,
    readonly manifest: Manifest,
    private readonly wal: Wal,
  ) {}

  static open(files: FileSystem): ToyStore {
    const manifest = Manifest.open(files, DIRECTORY, { rollSize: 3000 });
    if (manifest.state.tables.size === 0) {
      manifest.log([
        {
          type: 'tableAdd',
          id: 1,
          descriptor: tableDescriptor('t', { d: {} }),
          familyNumbers: new Map([['d', FAMILY]]),
          enabled: true,
        },
        { type: 'regionAdd', id: REGION, table: 1, startKey: NO_KEY, endKey: NO_KEY },
      ]);
    }
    const { state } = manifest;
    const found: number[] = [];
    for (const { number } of liveFiles(state).values()) found.push(...readFile(files, number));
    const flushed = state.regions.get(REGION)?.stores.get(FAMILY)?.flushedSeq ?? 0;
    const { closed } = replayWal(files, DIRECTORY, [...state.walSegments.values()], (record) => {
      const text = Buffer.from(record.payload).toString(
        'latin1',
        record.offset,
        record.offset + record.length,
      );
      if (text !== payload(record.firstSeq)) throw new Error(`record ${record.firstSeq} has other bytes`);
      if (record.firstSeq > flushed) found.push(record.firstSeq);
    });
    const number = manifest.newFileNumber();
    const wal = Wal.create(files, DIRECTORY, number, { segmentSize: 6000, whenIdle: atOnce });
    manifest.log([
      ...closed.map((segment) => ({ type: 'walClosed' as const, ...segment })),
      { type: 'walAdd', number },
    ]);
    const store = new ToyStore(files, manifest, wal);
    store.writes.push(...found);
    store.flushed = flushed;
    return store;
  }

  /** One write, staged. */
  put(): void {
    if (
      this.next !== undefined &&
      !this.wal.switching &&
      (this.wal.full || this.wal.size > 3 * this.next.room)
    ) {
      const left = this.wal.switchTo(this.next);
      if (left !== undefined) this.next = undefined;
      // What cannot be recorded is found by the next opener.
      this.leaving = left
        ?.then((closed) => void this.manifest.log([{ type: 'walClosed', ...closed }]))
        .catch(() => {});
    }
    const seq = this.writes.length + 1;
    const bytes = Buffer.from(payload(seq), 'latin1');
    this.wal.append(seq, 1, bytes, 0, bytes.length);
    this.writes.push(seq);
  }

  flushToOs(): void {
    this.wal.flushToOs();
  }

  async sync(): Promise<void> {
    await this.wal.sync();
    await this.leaving;
    if (this.next !== undefined) return;
    const number = this.manifest.newFileNumber();
    const next = await PreparedSegment.create(this.files, DIRECTORY, number, {
      room: 1500,
      shouldContinue: () => true,
    });
    try {
      this.manifest.log([{ type: 'walAdd', number }]);
      this.next = next;
    } catch (error) {
      if (this.manifest.poisoned === undefined) next.discard();
      else next.close();
      throw error;
    }
  }

  /** Writes what is only in memory to a file, and forgets the segments that are in files. */
  async flush(): Promise<void> {
    await this.wal.sync();
    const seqs = this.writes.filter((seq) => seq > this.flushed);
    if (seqs.length === 0) return;
    const number = this.manifest.newFileNumber();
    const size = writeFile(this.files, number, seqs);
    const maxSeq = seqs.at(-1)!;
    await this.files.syncDirectoryAsync(DIRECTORY);
    await this.manifest.logAsync([
      {
        type: 'fileAdd',
        region: REGION,
        family: FAMILY,
        file: {
          number,
          size,
          cells: seqs.length,
          deletes: 0,
          firstKey: NO_KEY,
          lastKey: NO_KEY,
          minTimestamp: 0,
          maxTimestamp: 0,
          minSeq: seqs[0]!,
          maxSeq,
        },
      },
      { type: 'flushed', region: REGION, family: FAMILY, seq: maxSeq },
    ]);
    this.flushed = maxSeq;
    const done = [...this.manifest.state.walSegments.values()].filter(
      ({ closed }) => closed !== undefined && closed.lastSeq <= maxSeq,
    );
    if (done.length === 0) return;
    this.manifest.log(done.map((segment) => ({ type: 'walRemove', number: segment.number })));
    for (const segment of done) this.files.unlink(joinPath(DIRECTORY, walFileName(segment.number)));
  }

  /** Makes one file of all files. */
  compact(): void {
    const old = [...liveFiles(this.manifest.state).values()];
    if (old.length < 2) return;
    const seqs = old.flatMap(({ number }) => readFile(this.files, number)).sort((a, b) => a - b);
    const number = this.manifest.newFileNumber();
    const size = writeFile(this.files, number, seqs);
    this.manifest.log([
      ...old.map((file) => ({
        type: 'fileRemove' as const,
        region: REGION,
        family: FAMILY,
        number: file.number,
      })),
      {
        type: 'fileAdd',
        region: REGION,
        family: FAMILY,
        file: { ...old[0]!, number, size, maxSeq: seqs.at(-1)!, cells: seqs.length },
      },
    ]);
    for (const file of old) this.files.unlink(joinPath(DIRECTORY, sortedFileName(file.number)));
  }

  close(): void {
    this.manifest.log(this.wal.close().map((segment) => ({ type: 'walClosed', ...segment })));
    this.next?.close();
    this.manifest.close();
  }

  /** Lets go of the files, as a process that dies. */
  abandon(): void {
    this.wal.abandon();
    this.next?.close();
    this.manifest.abandon();
  }
}

function payload(seq: number): string {
  return `write ${seq} `.repeat(1 + ((seq * 7) % 90));
}

function writeFile(files: FileSystem, number: number, seqs: readonly number[]): number {
  const file = files.create(joinPath(DIRECTORY, sortedFileName(number)));
  const bytes = Buffer.from(JSON.stringify(seqs));
  file.write(bytes, 0, bytes.length);
  file.sync();
  file.close();
  return bytes.length;
}

function readFile(files: FileSystem, number: number): number[] {
  const file = files.openRead(joinPath(DIRECTORY, sortedFileName(number)));
  const bytes = Buffer.alloc(file.size);
  file.read(bytes, 0, bytes.length, 0);
  file.close();
  return JSON.parse(bytes.toString()) as number[];
}
