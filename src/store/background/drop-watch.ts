import { CellType } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import type { DroppedMarkers } from '../manifest/index.js';
import { ColumnBytes } from '../match/matcher.js';

/** What matters to copies of a table that were made before, of what a flush or compaction has read and dropped. */
export interface Drops {
  /**
   * It has dropped what will not stay hidden in a copy that has it: a copy that later gets all that was written since may show what the
   * table does not, or hide what it shows.
   */
  readonly isLoss: boolean;
  /** The delete markers that it has dropped without a loss to copies that have them; undefined: none. */
  readonly markers: DroppedMarkers | undefined;
  /** It has dropped puts. They stay hidden in a copy unless single versions are deleted. */
  readonly hasPuts: boolean;
  /** The sequence number of the newest marker of single versions that it has read; 0 for none. */
  readonly versionDeletes: number;
}

/** The rules of the family that decide which drops are repeated by every reader of a copy. */
interface DropRules {
  /** Whether a marker hides what is older than it, whenever that was written, and nothing hidden is kept. */
  readonly arePlainMarkers: boolean;
  readonly minVersions: number;
  readonly oldestUnexpired: number;
  readonly now: number;
}

/**
 * Watches what a flush or compaction keeps and drops. A copy of the table (an incremental backup) has the cells of all moments at
 * which it was continued, and none is taken away. So everything dropped here must stay hidden there:
 *
 * - A put in excess of the versions, for as long as the newer ones are there: a newer one that expires earlier by its own time to live
 *   is a loss. Deletes of single versions are told apart (`hasPuts`, `versionDeletes`), as they may come later.
 * - A put that a marker hides, for as long as the copy has the marker: a marker with a time to live is a loss.
 * - A marker that the copy has hides there what it hid here. It must hide nothing else, and a copy that does not have it cannot get
 *   it: so the newest commit and timestamp of dropped markers are told (`markers`). Where markers depend on more, each is a loss.
 * - What exceeds the family's time to live expires there, too.
 */
export class DropWatch {
  private isLoss = false;
  private lastMarker = -1;
  private markersUntil = -1;
  private hasPuts = false;
  private versionDeletes = 0;
  private hasFleetingMarkers = false;
  /** The column of the last kept put with a time to live of its own, and when the first of its kept puts expires. */
  private readonly fleeting = new ColumnBytes();
  private firstExpiry = 0;

  constructor(private readonly rules: DropRules) {}

  get drops(): Drops {
    const { isLoss, hasPuts, versionDeletes, lastMarker: commit, markersUntil: until } = this;
    return { isLoss, markers: commit < 0 ? undefined : { commit, until }, hasPuts, versionDeletes };
  }

  startRow(): void {
    this.fleeting.clear();
  }

  /** A marker, or a put with a time to live of its own, is kept. Other puts need not be told. */
  kept(cell: CellCursor): void {
    if (cell.type !== CellType.Put) {
      this.readMarker(cell);
    } else if (this.fleeting.isSet && this.fleeting.isOf(cell)) {
      this.firstExpiry = Math.min(this.firstExpiry, expiryOf(cell));
    } else {
      this.fleeting.copyFrom(cell);
      this.firstExpiry = expiryOf(cell);
    }
  }

  /** The cell is dropped for what it is. */
  dropped(cell: CellCursor): void {
    const isMarker = cell.type !== CellType.Put;
    if (isMarker) this.readMarker(cell);
    if (this.isPastAge(cell)) return;
    if (isMarker) this.droppedMarker(cell);
    else this.droppedPut(cell);
  }

  /** The cell is dropped with the rest of its column, behind enough newer cells or a column marker. */
  passed(cell: CellCursor): void {
    if (cell.type !== CellType.Put) this.readMarker(cell);
    if (!this.isPastAge(cell)) this.droppedPut(cell);
  }

  private droppedMarker({ seq, timestamp, ttl }: CellCursor): void {
    if (ttl !== 0 || !this.rules.arePlainMarkers) {
      this.isLoss = true;
      return;
    }
    this.lastMarker = Math.max(this.lastMarker, seq);
    this.markersUntil = Math.max(this.markersUntil, timestamp);
  }

  private droppedPut(cell: CellCursor): void {
    const expiry = expiryOf(cell);
    if (expiry < this.rules.now) return;
    this.hasPuts = true;
    const outlives = this.fleeting.isSet && expiry > this.firstExpiry && this.fleeting.isOf(cell);
    if (outlives || this.hasFleetingMarkers) this.isLoss = true;
  }

  private readMarker(marker: CellCursor): void {
    const { type, seq, ttl } = marker;
    if (type === CellType.Delete || type === CellType.DeleteFamilyVersion)
      this.versionDeletes = Math.max(this.versionDeletes, seq);
    if (ttl !== 0) this.hasFleetingMarkers = true;
  }

  /** Whether every reader finds it expired by the family's time to live. */
  private isPastAge({ timestamp }: CellCursor): boolean {
    return this.rules.minVersions === 0 && timestamp < this.rules.oldestUnexpired;
  }
}

function expiryOf({ timestamp, ttl }: CellCursor): number {
  return ttl === 0 ? Number.POSITIVE_INFINITY : timestamp + ttl;
}
