/** The keys of encrypted stores for the commands, from the environment: they stand in no command line and no list of processes. */

import { InvalidArgumentError } from '../errors.js';
import type { EncryptionOptions } from '../store/encryption/keys.js';
import { textOf } from './context.js';

const KEYS = 'ROWAN_ENCRYPTION_KEYS';
const FILE = 'ROWAN_ENCRYPTION_KEYS_FILE';

/**
 * The option `encryption` by `ROWAN_ENCRYPTION_KEYS` (`id=hex`, separated by commas or white space; the first is for new files), or by
 * the file that `ROWAN_ENCRYPTION_KEYS_FILE` names, which has the same contents. Empty without them. `change` takes precedence.
 * @throws InvalidArgumentError when they are malformed.
 */
export function encryptionFromEnvironment(
  change: { readonly decrypt?: boolean; readonly encrypt?: boolean } = {},
): {
  readonly encryption?: EncryptionOptions;
} {
  const keys = keysOf();
  const [first] = keys.keys();
  if (first === undefined) {
    if (change.decrypt !== true && change.encrypt !== true) return {};
    throw new InvalidArgumentError(`--encrypt and --decrypt need the keys: set ${KEYS}=id=hex, or ${FILE}.`);
  }
  const key = (id: string): Uint8Array => {
    const found = keys.get(id);
    if (found === undefined) throw new InvalidArgumentError(`${KEYS} has no key "${id}"`);
    return found;
  };
  if (change.decrypt === true) return { encryption: { keyId: null, key } };
  return { encryption: { keyId: first, key, acceptPlain: change.encrypt === true } };
}

function keysOf(): ReadonlyMap<string, Uint8Array> {
  const file = process.env[FILE];
  const text = process.env[KEYS] ?? (file === undefined || file === '' ? '' : textOf(file));
  const keys = new Map<string, Uint8Array>();
  for (const each of text.split(/[\s,]+/).filter(Boolean)) {
    const cut = each.lastIndexOf('=');
    const id = each.slice(0, cut);
    const hex = each.slice(cut + 1);
    // The text is not shown: it may be a key.
    if (cut < 1 || !/^[0-9a-f]{64}$/i.test(hex))
      throw new InvalidArgumentError(
        `${KEYS} is a list of id=hex, with 64 hex digits for each key (AES-256).`,
      );
    keys.set(id, Buffer.from(hex, 'hex'));
  }
  return keys;
}
