/** The side of a thread: reads parts of tables, and sends their rows or their number; verifies parts of files. */

import { prepareCodecs } from '../../compression/index.js';
import { toWire } from '../../errors.js';
import { RawRow, Scan, TimeRange } from '../../table/index.js';
import { BlockCache, FileHandleCache } from '../cache.js';
import type { CellCursor } from '../cursor.js';
import { DataBlock } from '../encoding/index.js';
import type { FileMeta } from '../file/footer.js';
import { SortedFileReader } from '../file/sorted-file-reader.js';
import { StoreFile } from '../file/store-file.js';
import { type BlockRange, verifyRange } from '../file/verify-file.js';
import type { FileSystem } from '../fs/file-system.js';
import { CellArena } from '../memstore/arena.js';
import { CellList } from '../memstore/cell-list.js';
import { MemstoreCursor, type SharedMemstore } from '../memstore/memstore-cursor.js';
import { PlainScanner } from '../scan/plain-scanner.js';
import { RegionScanner } from '../scan/region-scanner.js';
import { KnownColumns } from '../scan/row-run.js';
import type { FamilySource, ReadHint, ScanContext } from '../scan/store-read.js';
import { GroupPacker } from './packed-groups.js';
import { PutsPacker } from './packed-puts.js';
import { RowPacker } from './packed-rows.js';
import type {
  Asked,
  HeldBlock,
  Packet,
  ScanPart,
  ScanReply,
  ScanRequest,
  SharedFamily,
  SharedFile,
  SharedView,
} from './protocol.js';

/** Rows without results after which messages are received. */
const SKIPPED_AT_ONCE = 1 << 14;
/** Rows counted between two turns of the event loop. */
const COUNTED_AT_ONCE = 1 << 14;
/** Bytes of blocks that a scan keeps in a thread: their buffers are reused. */
const CACHE_BYTES = 1 << 23;
/** Bytes that are verified, before compression, between two messages. */
const VERIFIED_AT_ONCE = 1 << 20;
/** Files that a scan has open in a thread. */
const MAX_FILES = 64;

/** Sends a reply; `moved` are the buffers that are given away. */
export type SendReply = (reply: ScanReply, moved: readonly ArrayBuffer[]) => void;

/** The memstores and files of a family that another thread retains. */
class SharedSource implements FamilySource {
  readonly known = new KnownColumns();
  private readonly memstores: readonly { readonly arena: CellArena; readonly list: CellList }[];

  constructor(
    readonly descriptor: SharedFamily['descriptor'],
    readonly files: readonly StoreFile[],
    memstores: readonly SharedMemstore[],
  ) {
    this.memstores = memstores.map(({ buffers, refs }) => {
      const arena = CellArena.of(buffers);
      const list = new CellList(arena);
      list.fill(refs);
      return { arena, list };
    });
  }

  /** As `StoreVersion.openCursors`. */
  openCursors(hint: ReadHint): CellCursor[] {
    const cursors: CellCursor[] = [];
    this.files.forEach((file, order) => {
      const cursor = file.openCursor(hint);
      if (cursor === undefined) return;
      cursor.order = order;
      cursors.push(cursor);
    });
    this.memstores.forEach(({ arena, list }, order) => {
      const cursor = new MemstoreCursor(arena, list);
      cursor.order = this.files.length + order;
      cursors.push(cursor);
    });
    return cursors;
  }
}

/** One scan in this thread. */
class ScanRun {
  private readonly files: FileHandleCache;
  private readonly cache = new BlockCache(CACHE_BYTES);
  private readonly readers: SortedFileReader[] = [];
  private readonly regions = new Map<number, Promise<readonly SharedSource[]>>();
  private readonly scan: Scan;
  readonly context: ScanContext;
  closed = false;
  /** Packets that each part may still send, and what it waits for. */
  private readonly parts = new Map<number, { packets: number; wake: () => void }>();

  constructor(
    private readonly view: SharedView,
    fileSystem: FileSystem,
    private readonly send: (reply: PartReply, moved?: readonly ArrayBuffer[]) => void,
  ) {
    this.files = new FileHandleCache(fileSystem, MAX_FILES);
    this.scan = revived(view.scan);
    this.context = { readPoint: view.readPoint, now: view.now, random: Math.random };
  }

  async read({ part: number, of: part, packets, asked, blocks }: PartRequest): Promise<void> {
    const state = { packets, wake: () => {} };
    this.parts.set(number, state);
    try {
      const sources = await this.sourcesOf(part.region);
      if (this.closed) return;
      const packer = packets === 0 ? undefined : packerOf(asked);
      const lent = new LentBlocks(sources, blocks);
      const reading = lent.during(() => new PartReading(sources, this.boundTo(part), this.context, packer));
      try {
        while (lent.during(() => reading.step())) {
          const { packed } = reading;
          if (packed !== undefined) {
            this.send({ part: number, packed }, buffersOf(packed));
            state.packets--;
          }
          await new Promise((resolve) => setImmediate(resolve));
          while (packets > 0 && state.packets <= 0 && !this.closed)
            await new Promise<void>((resolve) => (state.wake = resolve));
          if (this.closed) return;
        }
      } finally {
        reading.close();
      }
      const { rows, bytes } = reading;
      // After the last read of lent blocks.
      this.send({ part: number, counted: { rows, bytes } });
    } catch (error) {
      if (!this.closed) this.send({ part: number, error: toWire(error) });
    } finally {
      this.parts.delete(number);
    }
  }

  allow(number: number): void {
    const state = this.parts.get(number);
    if (state === undefined) return;
    state.packets++;
    state.wake();
  }

  close(): void {
    this.closed = true;
    for (const { wake } of this.parts.values()) wake();
    for (const reader of this.readers) reader.close();
    this.files.closeAll();
  }

  private sourcesOf(region: number): Promise<readonly SharedSource[]> {
    let opened = this.regions.get(region);
    if (opened === undefined) {
      opened = Promise.all(this.view.regions[region]!.map((family) => this.open(family)));
      this.regions.set(region, opened);
    }
    return opened;
  }

  private async open({ descriptor, files, memstores }: SharedFamily): Promise<SharedSource> {
    const opened: StoreFile[] = [];
    for (const { path, fileNo, seq, size } of files) {
      const context = { files: this.files, cache: this.cache };
      const reader = SortedFileReader.open(context, path, fileNo, seq === undefined ? {} : { seq });
      this.readers.push(reader);
      opened.push(new StoreFile(fileNo, path, seq, reader, size, () => {}));
    }
    await prepareCodecs(opened.map(({ meta }) => meta.compression));
    return new SharedSource(descriptor, opened, memstores);
  }

  private boundTo({ start, stop }: ScanPart): Scan {
    return this.scan.copy().withStartRow(start).withStopRow(stop);
  }
}

/**
 * Blocks of the calling thread's cache that a part may read. The files have them only during the steps of the part: another part does not
 * know when their memory is used again.
 */
class LentBlocks {
  private readonly ofFiles: (readonly [SortedFileReader, Map<number, DataBlock>])[];

  constructor(sources: readonly SharedSource[], blocks: readonly HeldBlock[]) {
    const ofFiles = new Map<SortedFileReader, Map<number, DataBlock>>();
    for (const block of blocks) {
      const { reader } = sources[block.family]!.files[block.file]!;
      const lent = ofFiles.get(reader) ?? new Map<number, DataBlock>();
      ofFiles.set(reader, lent.set(block.number, DataBlock.ofShared(block)));
    }
    this.ofFiles = [...ofFiles];
  }

  /** Runs a step of the part. */
  during<T>(step: () => T): T {
    for (const [reader, blocks] of this.ofFiles) reader.lend(blocks);
    try {
      return step();
    } finally {
      for (const [reader, blocks] of this.ofFiles) reader.takeAway(blocks);
    }
  }
}

type PartRequest = Extract<ScanRequest, { readonly part: number }>;

type PartReply = ScanReply extends infer Reply
  ? Reply extends { readonly scan: number }
    ? Omit<Reply, 'scan'>
    : never
  : never;

/** The reading of one part, in steps. */
class PartReading {
  rows = 0;
  bytes = 0;
  /** The rows that the last step read, if it is time to send them. */
  packed: Packet | undefined;
  private readonly raw = new RawRow();
  private readonly scanner: PlainScanner | RegionScanner;
  private ended = false;

  constructor(
    sources: readonly FamilySource[],
    scan: Scan,
    context: ScanContext,
    private readonly packer: Packer | undefined,
  ) {
    this.scanner = PlainScanner.open(sources, scan, context) ?? RegionScanner.forScan(sources, scan, context);
  }

  /** Reads on; false when all is read and sent. */
  step(): boolean {
    this.packed = undefined;
    if (this.ended) return false;
    const { scanner, raw, packer } = this;
    scanner.maxSkipped = SKIPPED_AT_ONCE;
    for (let left = COUNTED_AT_ONCE; left > 0; left--) {
      if (scanner.nextRaw(raw) === undefined) {
        this.ended = scanner.maxSkipped > 0;
        break;
      }
      this.rows++;
      if (raw.count > 0) this.bytes += raw.ends[raw.count - 1]!;
      if (packer === undefined) continue;
      packer.add(raw);
      if (packer.isFull) break;
    }
    if (packer !== undefined && !packer.isEmpty && (this.ended || packer.isFull)) this.packed = packer.take();
    return !this.ended || this.packed !== undefined;
  }

  close(): void {
    this.scanner.close();
  }
}

/** The verification of some blocks of a file in this thread. */
class FileRun {
  private readonly files: FileHandleCache;
  private readonly steps: AsyncGenerator<number, FileMeta | undefined>;
  private turn: Promise<void> = Promise.resolve();

  constructor(
    file: SharedFile,
    blocks: BlockRange,
    fileSystem: FileSystem,
    private readonly send: (reply: PartReply) => void,
  ) {
    this.files = new FileHandleCache(fileSystem, 1);
    this.steps = this.verify(file, blocks);
    this.allow();
  }

  /** Takes one step, after those before. */
  allow(): void {
    this.turn = this.turn.then(() => this.step());
  }

  close(): void {
    void this.turn.then(() => this.steps.return(undefined));
  }

  private async step(): Promise<void> {
    try {
      const { done, value } = await this.steps.next();
      this.send(done ? { found: value! } : { stepped: value });
    } catch (error) {
      this.send({ failed: toWire(error) });
    }
  }

  private async *verify(
    { path, fileNo, seq }: SharedFile,
    blocks: BlockRange,
  ): AsyncGenerator<number, FileMeta | undefined> {
    try {
      const context = { files: this.files, cache: new BlockCache(CACHE_BYTES) };
      const reader = SortedFileReader.open(context, path, fileNo, seq === undefined ? {} : { seq });
      try {
        await prepareCodecs([reader.meta.compression]);
        const steps = verifyRange(reader, blocks);
        let bytes = 0;
        for (let step = steps.next(); ; step = steps.next()) {
          if (step.done) return step.value;
          bytes += step.value;
          if (bytes < VERIFIED_AT_ONCE) continue;
          yield bytes;
          bytes = 0;
        }
      } finally {
        reader.close();
      }
    } finally {
      this.files.closeAll();
    }
  }
}

/** All scans and verifications of this thread. */
export class ScanRuns {
  private readonly runs = new Map<number, ScanRun | FileRun>();

  constructor(
    private readonly fileSystem: FileSystem,
    private readonly send: SendReply,
  ) {}

  receive(request: ScanRequest): void {
    const { scan } = request;
    if ('open' in request || 'verify' in request) {
      this.runs.set(scan, this.begin(request));
      return;
    }
    const run = this.runs.get(scan)!;
    if ('part' in request) void (run as ScanRun).read(request);
    else if ('more' in request) run.allow(request.more);
    else {
      run.close();
      this.runs.delete(scan);
      this.send({ scan, closed: true }, []);
    }
  }

  private begin(request: Extract<ScanRequest, BeginRequest>): ScanRun | FileRun {
    const { scan } = request;
    const send = (reply: PartReply, moved: readonly ArrayBuffer[] = []): void =>
      this.send({ scan, ...reply } as ScanReply, moved);
    return 'open' in request
      ? new ScanRun(request.open, this.fileSystem, send)
      : new FileRun(request.verify, request.blocks, this.fileSystem, send);
  }
}

type BeginRequest =
  | { readonly open: SharedView }
  | { readonly verify: SharedFile; readonly blocks: BlockRange };

type Packer = RowPacker | GroupPacker | PutsPacker;

function packerOf(asked: Asked | undefined): Packer {
  if (asked === undefined) return new RowPacker();
  return 'by' in asked ? new GroupPacker(asked) : new PutsPacker(asked);
}

function buffersOf(packed: Packet): ArrayBuffer[] {
  return arraysOf(packed).map(({ buffer }) => buffer as ArrayBuffer);
}

function arraysOf(packed: Packet): readonly (Uint8Array | Int32Array | Float64Array)[] {
  if ('heads' in packed) return [packed.heads, packed.timestamps, packed.bytes];
  if ('puts' in packed)
    return packed.puts.flatMap(({ rowEnds, valueEnds, bytes }) => [rowEnds, valueEnds, bytes]);
  return [packed.keyLengths, packed.keys, packed.groupOf, packed.lengths, packed.bytes];
}

/** The scan with its methods. */
function revived(sent: Scan): Scan {
  const scan = Object.assign(new Scan(), sent);
  const again = ({ min, max }: TimeRange): TimeRange => new TimeRange(min, max);
  scan.timeRange = again(sent.timeRange);
  scan.familyTimeRanges = new Map([...sent.familyTimeRanges].map(([name, range]) => [name, again(range)]));
  return scan;
}
