import type { RangeSource } from './range-source.js';
import type { OpenRange } from './range-to-open.js';
import type { RowCursor } from './row-cursor.js';

/** One range after the other. */
export class SequenceCursor implements RowCursor {
  private index = 0;
  private source: RangeSource | undefined;

  constructor(
    private readonly ranges: readonly OpenRange[],
    private readonly open: (range: OpenRange, left: number | undefined) => RangeSource,
    private left: number | undefined,
  ) {}

  get row(): RangeSource['row'] {
    return this.source?.row;
  }

  get entity(): number {
    return this.source?.entity ?? 0;
  }

  advance(): boolean | Promise<boolean> {
    for (;;) {
      if (this.source === undefined) {
        if (this.index >= this.ranges.length) return false;
        this.source = this.open(this.ranges[this.index++]!, this.left);
      }
      const more = this.source.advance();
      if (typeof more !== 'boolean') return this.advanceLater(more);
      if (more) return this.gave();
      const closing = this.finish();
      if (closing !== undefined) return closing.then(() => this.advance());
    }
  }

  private async advanceLater(more: Promise<boolean>): Promise<boolean> {
    if (await more) return this.gave();
    await this.finish();
    return this.advance();
  }

  private gave(): true {
    if (this.left !== undefined) this.left = Math.max(this.left - 1, 1);
    return true;
  }

  private finish(): Promise<void> | undefined {
    const { source } = this;
    this.source = undefined;
    return source?.close() ?? undefined;
  }

  async close(): Promise<void> {
    this.index = this.ranges.length;
    await this.finish();
  }
}
