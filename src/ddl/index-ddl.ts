/** The feature that has indexes, for the DDL. One of the lists that name features (docs/extending.md). */

import { indexDdl } from '../features/indexes/ddl.js';
import type { IndexDdl } from './plan/types.js';

const PARTS: readonly IndexDdl[] = [indexDdl];

/** What the DDL knows of indexes. Undefined: tables have none. */
export const INDEX_DDL: IndexDdl | undefined = PARTS[0];
