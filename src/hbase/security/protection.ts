import { InvalidArgumentError, RowanError } from '../../errors.js';
import { describe } from '../../table/checks.js';

/** `hbase.rpc.protection`: who one is, that nothing was changed on the way, that nobody has read it. */
export const PROTECTIONS = ['authentication', 'integrity', 'privacy'] as const;
export type Protection = (typeof PROTECTIONS)[number];

/** SASL's names of them (RFC 2831). */
const QOP: Readonly<Record<Protection, string>> = {
  authentication: 'auth',
  integrity: 'auth-int',
  privacy: 'auth-conf',
};

/** SASL's name of a protection. */
export function qopOf(protection: Protection): string {
  return QOP[protection];
}

/**
 * What an option `protection` accepts, the most wanted first; default: all, the least first, as a server that offers
 * several is content with the least of them.
 * @throws InvalidArgumentError for what is none of them.
 */
export function protectionsOf(option: Protection | readonly Protection[] | undefined): readonly Protection[] {
  const list: readonly Protection[] =
    option === undefined ? PROTECTIONS : typeof option === 'string' ? [option] : option;
  const isSound = Array.isArray(list) && list.length > 0 && list.every((one) => PROTECTIONS.includes(one));
  if (isSound) return list;
  throw new InvalidArgumentError(
    `protection is "authentication", "integrity" or "privacy", or several of them in an array, not ${describe(option)}.`,
  );
}

/**
 * The first of `wanted` that a server offers.
 * @throws RowanError `ERR_SECURITY` when it offers none of them.
 */
export function chooseProtection(
  wanted: readonly Protection[],
  offered: readonly Protection[],
  server: string,
): Protection {
  const chosen = wanted.find((protection) => offered.includes(protection));
  if (chosen !== undefined) return chosen;
  throw new RowanError(
    'ERR_SECURITY',
    `HBase server ${server} offers the protection ${offered.join(', ') || 'of nothing known'}, and only ` +
      `${wanted.join(', ')} is accepted. Change the option protection, or hbase.rpc.protection of the servers.`,
    { details: { server } },
  );
}
