import type { OperationOptions, SyncTable } from './table.js';

/** What a transaction takes. */
export interface TransactionOptions extends OperationOptions {
  /** How often it is tried before it fails with `ERR_SERIALIZATION`; default 10. */
  readonly attempts?: number | undefined;
}

/** The tables of a store as one transaction sees and changes them. */
export interface TableTransaction {
  /** @throws RowanError `ERR_TRANSACTION_ENDED` behind the transaction's end, as every call of the table then does. */
  table(name: string): SyncTable;
}
