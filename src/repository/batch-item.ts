import type { Get } from '../table/index.js';
import type { Change } from './change.js';

/** One item, ready to be sent: a change, or a get. */
export type BatchItem = Change | { readonly get: Get };

/** Compiles an item: runs its hooks and checks. */
export type CompileItem = () => Promise<BatchItem>;
