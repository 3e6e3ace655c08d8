/** The scans that are open: what a flush or compaction must leave for them, and who is told when the store closes. */

export interface RegisteredScanner {
  /** The registry's own: where it is among the open ones. */
  slot: number;
  /** It sees the writes up to this number. */
  readonly readPoint: number;
  /** The store closes. */
  cutOff(): void;
}

export class ScannerRegistry {
  /** Those that are open, each at its slot. */
  private readonly scanners: RegisteredScanner[] = [];

  get size(): number {
    return this.scanners.length;
  }

  opened(scanner: RegisteredScanner): void {
    scanner.slot = this.scanners.length;
    this.scanners.push(scanner);
  }

  closed(scanner: RegisteredScanner): void {
    const last = this.scanners.pop()!;
    if (last === scanner) return;
    this.scanners[scanner.slot] = last;
    last.slot = scanner.slot;
  }

  /** The oldest moment that is still looked at, by the open scans or by who begins one at `readPoint`. */
  smallestReadPoint(readPoint: number): number {
    let smallest = readPoint;
    for (const scanner of this.scanners) if (scanner.readPoint < smallest) smallest = scanner.readPoint;
    return smallest;
  }

  cutOffAll(): void {
    for (const scanner of [...this.scanners]) scanner.cutOff();
  }
}
