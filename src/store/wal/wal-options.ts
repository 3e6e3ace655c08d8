const DEFAULT_STAGING_SIZE = 1024 * 1024;

export interface WalOptions {
  /** Bytes after which {@link Wal.full} asks for the next segment; default 64 MiB. */
  readonly segmentSize?: number;
  /** Bytes staged before they are written without being asked to; default 1 MiB. */
  readonly stagingSize?: number;
  /** Bytes written and not synced after which a sync begins unasked, so that none is ever long; default 8 MiB. */
  readonly bytesPerSync?: number;
  /** How much room a segment is to have prepared where small syncs follow one another; default 0, none ever. */
  readonly preparedSize?: number;
  /** Runs a task when the work at hand is done; default `setImmediate`. For the mark after the last sync. */
  readonly whenIdle?: (task: () => void) => void;
}

/** The options with every default filled in. */
export function walSettings(options: WalOptions): Required<WalOptions> {
  return {
    segmentSize: options.segmentSize ?? 64 * 1024 * 1024,
    stagingSize: options.stagingSize ?? DEFAULT_STAGING_SIZE,
    bytesPerSync: options.bytesPerSync ?? 8 * 1024 * 1024,
    preparedSize: options.preparedSize ?? 0,
    whenIdle: options.whenIdle ?? ((task) => void setImmediate(task)),
  };
}

/** The staging buffer of a segment: beyond `stagingSize` there must be room for the record that fills it up. */
export function stagingRoom(stagingSize = DEFAULT_STAGING_SIZE): number {
  return stagingSize + 65536;
}
