/** The users of a server and their permissions. */

import { randomBytes } from 'node:crypto';
import { InvalidArgumentError } from '../../errors.js';
import { secretToken } from '../../hbase/security/delegation-token.js';
import { checkOptions, describe } from '../../table/checks.js';
import { canonicalTableName, parseTableName } from '../../table/index.js';

/** A user of a server. Tables are named `shop:orders`; `shop:*` are all of a namespace, `*` all tables. */
export interface ServedUser {
  /** The user's secret, at least 16 characters. */
  readonly secret: string;
  /** Tables that the user may read. */
  readonly read?: readonly string[];
  /** Tables that the user may read and write. */
  readonly write?: readonly string[];
  /** Whether the user may do everything: read and write all tables, and create, alter and drop them. Default false. */
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
/** The namespace of the server's own tables. */
const SYSTEM_NAMESPACE = 'hbase';

/** A user's permissions on tables. */
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
  /** Stands in for unknown users, so that they are refused in the same way and in the same time. */
  private readonly nobody = { user: undefined, password: randomBytes(24).toString('base64') };

  /**
   * Checks the users.
   * @throws InvalidArgumentError naming the user and the problem.
   */
  constructor(users: ServedUsers) {
    const names = Object.keys(isObject(users) ? users : {});
    if (names.length === 0) {
      throw new InvalidArgumentError(
        `users must be an object that maps names to users, { "reports": { "secret": "…", "read": ["shop:*"] } }, not ${describe(users)}.`,
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

  /** Finds a user by the token identifier of DIGEST-MD5; returns the password to compare with. */
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
    throw new InvalidArgumentError(`users: "${name}" must be an object, not ${describe(given)}.`);
  checkOptions(`users: "${name}"`, given, KNOWN);
  const { secret, read = [], write = [], admin = false } = given;
  if (typeof secret !== 'string' || secret.length < SHORTEST_SECRET) {
    throw new InvalidArgumentError(
      `users: "${name}" needs a secret of ${SHORTEST_SECRET} characters or more. Create one with: openssl rand -base64 24`,
    );
  }
  if (typeof admin !== 'boolean')
    throw new InvalidArgumentError(
      `users: admin of "${name}" must be true or false, not ${describe(admin)}.`,
    );
  for (const list of [read, write]) {
    if (Array.isArray(list) && list.every((each) => typeof each === 'string')) continue;
    throw new InvalidArgumentError(
      `users: read and write of "${name}" must be lists of tables, not ${describe(list)}.`,
    );
  }
  for (const table of [...read, ...write]) patternOf(table);
}

/** Converts a table pattern to its compared form. @throws InvalidArgumentError for an invalid name. */
function patternOf(text: string): string {
  if (text === '*') return text;
  if (text.endsWith(':*')) return `${parseTableName(`${text.slice(0, -1)}t`).namespace}:*`;
  return canonicalTableName(text);
}
