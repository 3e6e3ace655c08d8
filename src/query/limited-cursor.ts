import type { RowCursor } from './row-cursor.js';

/** Ends behind so many rows. */
export class LimitedCursor implements RowCursor {
  constructor(
    private readonly inner: RowCursor,
    private left: number,
  ) {}

  get row(): RowCursor['row'] {
    return this.inner.row;
  }

  get entity(): number {
    return this.inner.entity;
  }

  advance(): boolean | Promise<boolean> {
    return this.left-- > 0 ? this.inner.advance() : false;
  }

  close(): void | Promise<void> {
    return this.inner.close();
  }
}
