/** Tables that are made and dropped by several who do not wait for each other. */

import { setTimeout as delay } from 'node:timers/promises';
import { RowanError } from '../errors.js';
import type { Admin, TableDescriptor } from '../table/index.js';

const TRIES = 8;
const FIRST_WAIT_MS = 50;

/** Makes the table if it is not there; another one may be making it at the same time. */
export async function ensureTable(
  admin: Admin,
  descriptor: TableDescriptor,
  splitKeys: readonly Uint8Array[] = [],
): Promise<void> {
  await trying(
    async () => admin.tableExists(descriptor.name),
    () => admin.createTable(descriptor, splitKeys),
  );
}

/** Drops the table if it is there; another one may be dropping it at the same time. */
export async function dropTable(admin: Admin, name: string): Promise<void> {
  await trying(
    async () => !(await admin.tableExists(name)),
    async () => {
      if (await admin.isTableEnabled(name)) await admin.disableTable(name);
      await admin.deleteTable(name);
    },
  );
}

/** What another one's doing the same looks like. */
const MEANWHILE: ReadonlySet<string> = new Set([
  'ERR_TABLE_EXISTS',
  'ERR_TABLE_NOT_FOUND',
  'ERR_TABLE_DISABLED',
  'ERR_TABLE_ENABLED',
]);

async function trying(isDone: () => Promise<boolean>, act: () => Promise<void>): Promise<void> {
  for (let tries = 1; !(await isDone()); tries++) {
    try {
      await act();
    } catch (error) {
      const passing = error instanceof RowanError && (error.retryable || MEANWHILE.has(error.code));
      if (!passing || tries >= TRIES) throw error;
      await delay(FIRST_WAIT_MS * 2 ** tries);
    }
  }
}
