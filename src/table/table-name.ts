import { InvalidArgumentError } from '../errors.js';
import { describe } from './checks.js';

/** HBase's rules (`TableName.java`): Unicode letters are legal. */
const NAMESPACE = /^[_\p{Alphabetic}0-9]+$/u;
const QUALIFIER = /^[_\p{Alphabetic}0-9][-_.\p{Alphabetic}0-9]*$/u;

/** The namespace of tables named without one. */
export const DEFAULT_NAMESPACE = 'default';

export interface TableNameParts {
  readonly namespace: string;
  readonly qualifier: string;
}

/**
 * Takes "namespace:name" or "name" apart by HBase's rules.
 * @throws InvalidArgumentError when it is no table name.
 */
export function parseTableName(name: string): TableNameParts {
  if (typeof name !== 'string') {
    throw new InvalidArgumentError(`The name of a table is a text, not ${describe(name)}.`);
  }
  const colon = name.indexOf(':');
  const namespace = colon < 0 ? DEFAULT_NAMESPACE : name.slice(0, colon);
  const qualifier = name.slice(colon + 1);
  if (!NAMESPACE.test(namespace) || !QUALIFIER.test(qualifier)) {
    throw new InvalidArgumentError(
      `"${name}" is no table name. Write "name" or "namespace:name"; a namespace has letters, digits and _, ` +
        'a name also - and . after its first character.',
    );
  }
  return { namespace, qualifier };
}

/** The name by which HBase lists the table: without the default namespace. */
export function canonicalTableName(name: string): string {
  const { namespace, qualifier } = parseTableName(name);
  return namespace === DEFAULT_NAMESPACE ? qualifier : `${namespace}:${qualifier}`;
}
