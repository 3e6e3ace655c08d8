/** What every contestant of the bench does: the same entity, the same two indexes, the same durability. */

export interface Account {
  id: string;
  email: string;
  phone: string;
  name: string;
  balance: number;
}

export interface Contestant {
  readonly name: string;
  readonly version: string;
  /** One batch. `durable`: acknowledged when the disk has it; else when the operating system will write it. */
  insert(rows: readonly Account[], durable: boolean): void | Promise<void>;
  get(id: string): Account | null | undefined | Promise<Account | null | undefined>;
  close(): void | Promise<void>;
}

/** A contestant that has the indexes: by e-mail, and by telephone with the balance in the index. */
export interface IndexedContestant extends Contestant {
  /** The row is read. */
  byEmail(email: string): Account | null | undefined | Promise<Account | null | undefined>;
  /** The index alone is read. */
  byPhone(phone: string): { balance: number } | null | undefined | Promise<{ balance: number } | null>;
}

/** Texts come in no order, as e-mail addresses do. */
export function makeAccount(index: number): Account {
  const mixed = (Math.imul(index + 1, 0x9e3779b1) >>> 0).toString(36).padStart(7, '0');
  return {
    id: `account-${String(index).padStart(8, '0')}`,
    email: `${mixed}@mail.example`,
    phone: `+44 ${[...mixed].reverse().join('')}`,
    name: `The owner of ${mixed}`,
    balance: index % 100_000,
  };
}
