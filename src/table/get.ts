import type { BytesLike } from '../bytes/index.js';
import { brand, requestOf } from './brand.js';
import { checkRow } from './checks.js';
import { Query } from './query.js';

/** Reads one row (HBase `Get`). With no family or column added it reads every family. */
export class Get extends Query {
  readonly row: Uint8Array;
  /** Only whether the row has a matching cell is wanted; the result has no cells (R52). */
  checkExistenceOnly = false;

  constructor(row: BytesLike) {
    super();
    this.row = checkRow(row);
  }

  setCheckExistenceOnly(checkExistenceOnly: boolean): this {
    this.checkExistenceOnly = checkExistenceOnly;
    return this;
  }

  override copy(): this {
    const copy = new Get(this.row) as this;
    this.copyTo(copy);
    copy.checkExistenceOnly = this.checkExistenceOnly;
    return copy;
  }
}

brand(Get, 'get');

/** Whether a value asks for a row. */
export function isGet(given: unknown): given is Get {
  return requestOf(given) === 'get';
}
