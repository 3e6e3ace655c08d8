import { type FileSystem, joinPath, walFileName } from '../fs/index.js';
import { type ChunkWriter, createLogAsync, discardLog, failureOf, WAL_KIND } from '../logfile/index.js';
import { stagingRoom } from './wal-options.js';

/** Bytes that are preallocated and synced at a time: a long sync would delay the syncs of writers. */
const PIECE = 1 << 20;

/**
 * A segment that is ready for writing: empty, with its file, preallocated space and name on the disk. It must be recorded in the
 * MANIFEST before the log continues in it.
 */
export class PreparedSegment {
  private constructor(
    private readonly files: FileSystem,
    readonly number: number,
    readonly writer: ChunkWriter,
  ) {}

  /**
   * Creates segment `number` off the thread.
   * @param room bytes of zeros to preallocate, so that syncs of the records written over them are short; 0 for none
   * @param shouldContinue called between pieces; false ends the preallocation early, with what there is
   * @throws RowanError `ERR_IO`: then there is no such file, or a leftover that the next opener removes.
   */
  static async create(
    files: FileSystem,
    directory: string,
    number: number,
    options: { readonly room: number; readonly shouldContinue: () => boolean },
  ): Promise<PreparedSegment> {
    const path = joinPath(directory, walFileName(number));
    const writer = await createLogAsync(files, path, WAL_KIND, number, stagingRoom());
    try {
      for (let left = options.room; left > 0 && options.shouldContinue(); left -= PIECE) {
        await writer.prepare(Math.min(left, PIECE));
        await writer.syncAsync();
      }
    } catch (error) {
      discardLog(files, writer.file);
      throw failureOf(error);
    }
    return new PreparedSegment(files, number, writer);
  }

  /** Preallocated bytes. */
  get room(): number {
    return this.writer.prepared;
  }

  /** Removes the file of a segment that the MANIFEST does not name. */
  discard(): void {
    discardLog(this.files, this.writer.file);
  }

  /** Closes the file and leaves it in the folder. */
  close(): void {
    this.writer.file.close();
  }
}

/** A sync of more bytes takes long in any case: preallocation would only add to it. */
const SMALL_SYNC = 64 * 1024;
/** Preallocation starts after one small sync for each so many bytes of it. */
const BYTES_PER_SYNC = 512 * 1024;

/** Decides from the sizes of recent syncs whether preallocating space for the log pays. */
export class PreallocationPolicy {
  /** Small syncs in a row. */
  private smallSyncs = 0;

  /** `size`: bytes to preallocate in a segment; 0 for never. */
  constructor(readonly size: number) {}

  /** A sync of so many bytes begins. */
  note(bytes: number): void {
    this.smallSyncs = bytes <= SMALL_SYNC ? this.smallSyncs + 1 : 0;
  }

  /** Whether the next segment should be preallocated, when `left` bytes of the present one's space are left. */
  isSoon(left: number): boolean {
    return this.pays && left < this.size / 4;
  }

  /** Whether the log should change to a preallocated segment now: `left` bytes are as good as none. */
  isNow(left: number): boolean {
    return this.pays && left < Math.min(SMALL_SYNC, this.size / 8);
  }

  private get pays(): boolean {
    return this.size > 0 && this.smallSyncs >= this.size / BYTES_PER_SYNC;
  }
}
