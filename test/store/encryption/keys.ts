/** Keys of encrypted stores for tests. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { EncryptionOptions } from '../../../src/store/encryption/keys.js';

/** The key of an id: always the same. */
export function keyOf(id: string): Uint8Array {
  return createHash('sha256').update(`key of ${id}`).digest();
}

/** New files are encrypted with the key of this id. */
export function encryptedBy(
  keyId: string | null,
  more: Partial<EncryptionOptions> = {},
): {
  readonly encryption: EncryptionOptions;
} {
  return { encryption: { keyId, key: keyOf, ...more } };
}

/** All files below a folder, with their bytes; sockets are left out. */
export function filesBelow(folder: string): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  if (!existsSync(folder)) return files;
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    const path = join(folder, name);
    if (statSync(path).isFile()) files.set(name, readFileSync(path));
  }
  return files;
}
