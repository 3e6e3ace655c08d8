/** Who may come to a server, and what they may do there. */

import { randomBytes } from 'node:crypto';
import { InvalidArgumentError } from '../../errors.js';
import { secretToken } from '../../hbase/security/delegation-token.js';
import { checkOptions, describe } from '../../table/checks.js';
import { canonicalTableName, parseTableName } from '../../table/index.js';

/** A user of a server. Tables are named as `shop:orders`, all of a namespace as `shop:*`, all as `*`. */
export interface ServedUser {
  /** What the user shows that he knows: 16 characters or more. */
  readonly secret: string;
  /** Tables that he may read. */
  readonly read?: readonly string[];
  /** Tables that he may read and write. */
  readonly write?: readonly string[];
  /** He may do everything: read and write all tables, and make, change and drop them. Default false. */
  readonly admin?: boolean;
}

/** Users by their names. */
export type ServedUsers = Readonly<Record<string, ServedUser>>;

const SHORTEST_SECRET = 16;
const KNOWN: Readonly<Record<keyof ServedUser, true>> = {
  secret: true,
  read: true,
  write: true,
  admin: true,
};
/** Of the server's own tables. */
const SYSTEM_NAMESPACE = 'hbase';

/** What somebody may do with tables. */
export class Grants {
  constructor(
    readonly isAdmin: boolean,
    private readonly reads: readonly string[],
    private readonly writes: readonly string[],
  ) {}

  mayRead(table: string): boolean {
    return this.isAdmin || fits(this.reads, table) || fits(this.writes, table);
  }

  mayWrite(table: string): boolean {
    return this.isAdmin || fits(this.writes, table);
  }
}

function fits(patterns: readonly string[], table: string): boolean {
  const { namespace } = parseTableName(table);
  if (namespace === SYSTEM_NAMESPACE) return false;
  const name = canonicalTableName(table);
  return patterns.some((pattern) => pattern === '*' || pattern === `${namespace}:*` || pattern === name);
}

export interface KnownUser {
  readonly name: string;
  readonly grants: Grants;
}

export class Users {
  private readonly known = new Map<string, { readonly user: KnownUser; readonly password: string }>();
  /** Stands for the secret of whom nobody knows: he is refused in the same way, in the same time. */
  private readonly nobody = { user: undefined, password: randomBytes(24).toString('base64') };

  /** @throws InvalidArgumentError naming the user and what is wrong. */
  constructor(users: ServedUsers) {
    const names = Object.keys(isObject(users) ? users : {});
    if (names.length === 0) {
      throw new InvalidArgumentError(
        `users is an object of users by their names, { "reports": { "secret": "…", "read": ["shop:*"] } }, not ${describe(users)}.`,
      );
    }
    for (const name of names) {
      const given = users[name]!;
      checkUser(name, given);
      const { secret, admin = false, read = [], write = [] } = given;
      const { identifier, password } = secretToken(name, secret);
      this.known.set(base64(identifier), {
        user: { name, grants: new Grants(admin, read.map(patternOf), write.map(patternOf)) },
        password: base64(password),
      });
    }
  }

  /** By the identifier of the token, as DIGEST-MD5 has it, and the password to it. */
  byIdentifier(identifier: string): { readonly user: KnownUser | undefined; readonly password: string } {
    return this.known.get(identifier) ?? this.nobody;
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkUser(name: string, given: ServedUser): void {
  if (!isObject(given))
    throw new InvalidArgumentError(`users: "${name}" is an object, not ${describe(given)}.`);
  checkOptions(`users: "${name}"`, given, KNOWN);
  const { secret, read = [], write = [], admin = false } = given;
  if (typeof secret !== 'string' || secret.length < SHORTEST_SECRET) {
    throw new InvalidArgumentError(
      `users: "${name}" needs a secret of ${SHORTEST_SECRET} characters or more. Make one: openssl rand -base64 24.`,
    );
  }
  if (typeof admin !== 'boolean')
    throw new InvalidArgumentError(`users: admin of "${name}" is true or false, not ${describe(admin)}.`);
  for (const list of [read, write]) {
    if (Array.isArray(list) && list.every((each) => typeof each === 'string')) continue;
    throw new InvalidArgumentError(
      `users: read and write of "${name}" are lists of tables, not ${describe(list)}.`,
    );
  }
  for (const table of [...read, ...write]) patternOf(table);
}

/** As tables are compared with it. @throws InvalidArgumentError for what is no name. */
function patternOf(text: string): string {
  if (text === '*') return text;
  if (text.endsWith(':*')) return `${parseTableName(`${text.slice(0, -1)}t`).namespace}:*`;
  return canonicalTableName(text);
}
