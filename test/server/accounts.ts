/** Accounts between which transactions move money. */

import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';

export const Account = defineEntity({
  name: 'Account',
  table: defineTable({ name: 'accounts', families: { d: {} } }),
  key: [part('id', int32)],
  columns: (c) => ({
    owner: c.column('d:o', text),
    balance: c.column('d:b', int32),
    /** How often it was changed. */
    moves: c.column('d:m', int32),
  }),
  indexes: {
    byOwner: { on: [part('owner')], unique: true },
    byBalance: { on: [part('balance', int32)] },
  },
});

export const ACCOUNTS = 8;
export const START = 100;

/** Every account as it is at first. */
export function accounts(): { id: number; owner: string; balance: number; moves: number }[] {
  return Array.from({ length: ACCOUNTS }, (_, id) => ({ id, owner: `o${id}`, balance: START, moves: 0 }));
}
