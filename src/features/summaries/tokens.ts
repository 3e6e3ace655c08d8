/**
 * The tokens by which a group of a summary is incremented once, on engines whose atomic step is one row; docs/summaries.md has
 * the bytes. A group gets the token in the same step as the amounts, so a repeated or late request finds that they are applied.
 */

import { concatBytes, toLatin1 } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import { BackgroundBatches, FENCE_TTL } from '../../repository/index.js';
import { nextMillisecond } from '../../repository/row-lock.js';
import {
  type BatchAction,
  CheckAndMutate,
  Delete,
  type Filter,
  filters,
  Get,
  Increment,
  Put,
  type Result,
  type RowMutation,
  RowMutations,
  type Table,
} from '../../table/index.js';
import { additionTo, type FigureAmounts, incrementOf, SUMMARY_FAMILY } from './rows.js';

/** The prefix of the columns of tokens. FROZEN. */
const TOKENS = Uint8Array.of(0xff, 0xff, 0xff);
/** The value in the column of a token. */
const TAKEN = new Uint8Array(8);

/** In the column of a token in place of 1: the group refuses the amounts that were to come with it. */
const REFUSED = 2n;

/** Reads a group without its tokens, of which there may be many. */
export const AMOUNTS: Filter = filters.columnRange(null, false, TOKENS, false);

/** The increment that adds amounts to a group, and a token that expires when no request with it can still arrive. */
export function incrementWithToken(
  row: Uint8Array,
  amounts: FigureAmounts,
  token: Uint8Array,
): RowMutation[] {
  const increment = incrementOf(row, amounts);
  const taken = new Put(row).addColumn(SUMMARY_FAMILY, tokenColumn(token), TAKEN).setTtl(FENCE_TTL);
  return increment === undefined ? [taken] : [increment, taken];
}

/** A token by which the group refuses amounts. It expires likewise. */
export function refusal(row: Uint8Array, token: Uint8Array): Put {
  const value = Buffer.alloc(8);
  value.writeBigInt64BE(REFUSED);
  return new Put(row).addColumn(SUMMARY_FAMILY, tokenColumn(token), new Uint8Array(value)).setTtl(FENCE_TTL);
}

/** The same increment, on condition that the group does not have the token yet. */
export function incrementOnce(row: Uint8Array, amounts: FigureAmounts, token: Uint8Array): CheckAndMutate {
  const column = tokenColumn(token);
  const increment = additionTo(row, amounts).addColumn(SUMMARY_FAMILY, column, 1n);
  return CheckAndMutate.ifNotExists(SUMMARY_FAMILY, column, increment);
}

/** Has the group refuse the amounts of this token, unless it has taken them. */
export function refuseToken(row: Uint8Array, token: Uint8Array): CheckAndMutate {
  const column = tokenColumn(token);
  const increment = new Increment(row).setReturnResults(false).addColumn(SUMMARY_FAMILY, column, REFUSED);
  return CheckAndMutate.ifNotExists(SUMMARY_FAMILY, column, increment);
}

/** Whether the group has refused the amounts of this token, by the answer to {@link getTokens}. */
export function isRefused({ cells: [cell] }: Result): boolean {
  return cell !== undefined && Buffer.from(cell.value).readBigInt64BE() === REFUSED;
}

/** Reads tokens of a group, and the times at which the group got them. */
export function getTokens(row: Uint8Array, tokens: readonly Uint8Array[]): Get {
  const get = new Get(row);
  for (const token of tokens) get.addColumn(SUMMARY_FAMILY, tokenColumn(token));
  return get;
}

/** Gives tokens of a group, as they were read, a TTL, longer than any request with them can still arrive. */
function endTokens({ row, cells }: Result): RowMutations {
  const [del, put] = [new Delete(row), new Put(row).setTtl(FENCE_TTL, { optional: true })];
  for (const { qualifier, timestamp } of cells) {
    // The new cell must hide that one, also when it has expired.
    del.addColumns(SUMMARY_FAMILY, qualifier, timestamp);
    put.addColumn(SUMMARY_FAMILY, qualifier, TAKEN);
  }
  return new RowMutations(row).add(del, put);
}

/** Reads the tokens of a group that expired before this time, on engines without cell TTLs. */
function getEnded(row: Uint8Array, before: number): Get {
  return new Get(row)
    .addFamily(SUMMARY_FAMILY)
    .setTimeRange(0, before)
    .setFilter(filters.all(filters.columnRange(TOKENS, true, null, false), filters.value('EQUAL', TAKEN)));
}

/** After all amounts, so that these are read without tokens. */
function tokenColumn(token: Uint8Array): Uint8Array {
  return concatBytes(TOKENS, token);
}

/** Milliseconds for which tokens wait for others of their groups. */
const WAIT = 250;

/** A group that has applied a closed transfer, and the transfer's token. */
interface TakenTransfer {
  /** The group's row. */
  readonly group: Uint8Array;
  readonly token: Uint8Array;
}

/**
 * Lets the tokens of closed transfers expire, in the background. Until then they show late requests that the group has applied the
 * transfer.
 */
export class TokenExpiry {
  private readonly waiting = new BackgroundBatches<TakenTransfer>((taken) => this.expire(taken), {
    pause: WAIT,
  });

  constructor(
    /** `cellTtl`: whether cells have TTLs, by which tokens expire. */
    private readonly source: { table(name: string): Table; now(): number; readonly cellTtl: boolean },
    private readonly tableName: string,
  ) {}

  /** After an error the token stays: one small cell of the group. */
  add(groups: readonly Uint8Array[], token: Uint8Array): void {
    this.waiting.add(groups.map((group) => ({ group, token }))).catch((error: unknown) => {
      if (!(error instanceof RowanError)) throw error;
    });
  }

  /** Resolves when all tokens have got their expiry. */
  async rest(): Promise<void> {
    await this.waiting.rest();
  }

  private async expire(taken: readonly TakenTransfer[]): Promise<void> {
    const groups = new Map<string, { readonly group: Uint8Array; readonly tokens: Uint8Array[] }>();
    for (const { group, token } of taken) {
      const name = toLatin1(group);
      const known = groups.get(name);
      if (known === undefined) groups.set(name, { group, tokens: [token] });
      else known.tokens.push(token);
    }
    const all = [...groups.values()];
    await nextMillisecond();
    const found = await this.table.getAll(all.map(({ group, tokens }) => getTokens(group, tokens)));
    await this.batch(found.filter(({ cells }) => cells.length > 0).map(endTokens));
    if (!this.source.cellTtl) await this.removeExpired(all.map(({ group }) => group));
  }

  /** Deletes expired tokens on engines without cell TTLs. Requests that could still need them have failed long ago. */
  private async removeExpired(groups: readonly Uint8Array[]): Promise<void> {
    const before = this.source.now() - FENCE_TTL;
    const found = await this.table.getAll(groups.map((group) => getEnded(group, before)));
    const deletes = found
      .filter(({ cells }) => cells.length > 0)
      .map(({ row, cells }) =>
        cells.reduce(
          (del, { family, qualifier, timestamp }) => del.addColumns(family, qualifier, timestamp),
          new Delete(row),
        ),
      );
    await this.batch(deletes);
  }

  private async batch(actions: readonly BatchAction[]): Promise<void> {
    if (actions.length === 0) return;
    for (const answer of await this.table.batch(actions)) if (!answer.ok) throw answer.error;
  }

  private get table(): Table {
    return this.source.table(this.tableName);
  }
}
