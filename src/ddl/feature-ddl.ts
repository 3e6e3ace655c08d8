/** The feature that has indexes, for the DDL. One of the lists that name features (docs/extending.md). */

import { indexDdl } from '../features/indexes/ddl.js';
import type { IndexDdl } from './plan/types.js';

const PARTS: readonly IndexDdl[] = [indexDdl];

/** The index feature's part of the DDL. Undefined: tables have no indexes. */
export const INDEX_DDL: IndexDdl | undefined = PARTS[0];
