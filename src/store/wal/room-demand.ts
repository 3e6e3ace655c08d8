/** A sync of more than this is not short anyhow: zeros written before would only add to it. */
const SMALL_SYNC = 64 * 1024;
/** So many bytes of room are worth one more small sync before they are prepared. */
const ROOM_PER_SYNC = 512 * 1024;

/** Tells from the syncs of a log whether room prepared ahead is worth its writing. */
export class RoomDemand {
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
