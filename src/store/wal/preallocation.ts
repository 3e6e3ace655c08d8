import { type FileSystem, joinPath, walFileName } from '../fs/index.js';
import { type ChunkWriter, createLogAsync, discardLog, failureOf, WAL_KIND } from '../logfile/index.js';
import { stagingRoom } from './wal-options.js';

/** How much is made and synced at a time: a long sync would keep those of writers waiting. */
const PIECE = 1 << 20;

/**
 * A segment that is ready to be written to: empty, and it, its room and its name are on the disk. Record it in the MANIFEST
 * before the log goes on in it.
 */
export class PreparedSegment {
  private constructor(
    private readonly files: FileSystem,
    readonly number: number,
    readonly writer: ChunkWriter,
  ) {}

  /**
   * Makes segment `number` off the thread.
   * @param room bytes of zeros that are prepared, so that syncs of what is written over them are short; 0 for none
   * @param goOn asked between pieces of it; false ends the making early, with what there is
   * @throws RowanError `ERR_IO`: there is no such file then, or a leftover that the next opener removes.
   */
  static async make(
    files: FileSystem,
    directory: string,
    number: number,
    options: { readonly room: number; readonly goOn: () => boolean },
  ): Promise<PreparedSegment> {
    const path = joinPath(directory, walFileName(number));
    const writer = await createLogAsync(files, path, WAL_KIND, number, stagingRoom());
    try {
      for (let left = options.room; left > 0 && options.goOn(); left -= PIECE) {
        await writer.prepare(Math.min(left, PIECE));
        await writer.syncAsync();
      }
    } catch (error) {
      discardLog(files, writer.file);
      throw failureOf(error);
    }
    return new PreparedSegment(files, number, writer);
  }

  /** Bytes that were prepared. */
  get room(): number {
    return this.writer.prepared;
  }

  /** Takes away a segment that the MANIFEST does not name. */
  discard(): void {
    discardLog(this.files, this.writer.file);
  }

  /** Lets go of the file, which stays. */
  close(): void {
    this.writer.file.close();
  }
}

/** A sync of more than this is not short anyhow: zeros written before would only add to it. */
const SMALL_SYNC = 64 * 1024;
/** So many bytes of room are worth one more small sync before they are prepared. */
const ROOM_PER_SYNC = 512 * 1024;

/** Tells from the syncs of a log whether room prepared ahead is worth its writing. */
export class PreallocationPolicy {
  /** How many syncs of little there were since the last one of much. */
  private smallSyncs = 0;

  /** `size`: the room that a segment is to have; 0 for none ever. */
  constructor(readonly size: number) {}

  /** A sync of so many bytes begins. */
  note(bytes: number): void {
    this.smallSyncs = bytes <= SMALL_SYNC ? this.smallSyncs + 1 : 0;
  }

  /** Whether more is wanted soon, where `left` bytes are left. */
  isSoon(left: number): boolean {
    return this.isWorthIt && left < this.size / 4;
  }

  /** Whether what is `left` is as good as nothing. */
  isNow(left: number): boolean {
    return this.isWorthIt && left < Math.min(SMALL_SYNC, this.size / 8);
  }

  private get isWorthIt(): boolean {
    return this.size > 0 && this.smallSyncs >= this.size / ROOM_PER_SYNC;
  }
}
