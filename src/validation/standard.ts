/**
 * Standard Schema v1 (https://standardschema.dev): the interface by which frameworks take validators of any library, and its
 * part about JSON Schema. Declared here, so that nothing has to be installed for it.
 */

import { InvalidArgumentError } from '../errors.js';
import type { JsonSchema } from './values.js';

/** Something wrong with what was given, and where it stands. */
export interface Issue {
  readonly message: string;
  /** Properties from the outside in; of an entry of a Map its key, of an item of a list its index. */
  readonly path: readonly PropertyKey[];
}

/** The value as the repository takes it, or what is wrong. */
export type Validated<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** The dialects of JSON Schema that schemas are written in. OpenAPI 3.1 is `draft-2020-12`. */
export type JsonSchemaTarget = 'draft-2020-12' | 'draft-07';

/** A validator made from an entity. Frameworks know it by `~standard`. */
export interface EntityValidator<Input, Output> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: 'rowan-orm';
    /** Never throws. Answers a promise only where a check of the entity (`@Validate`) does. */
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => JsonSchema;
      readonly output: (options: { readonly target: string }) => JsonSchema;
    };
  };
  /** The value as the repository takes it. @throws InvalidArgumentError with `details.issues`. */
  parse(value: unknown): Promise<Output>;
  /**
   * The JSON Schema of what `{ coerce: true }` takes and `toPlain` gives: dates as ISO texts, bigints as decimal texts, bytes as
   * base64, Maps as lists of [key, value].
   *
   * @param target Default `draft-2020-12`.
   * @throws InvalidArgumentError on another dialect.
   */
  toJSONSchema(target?: JsonSchemaTarget): JsonSchema;
}

/** The error of what a schema refuses, with every issue. */
export function refusal(what: string, entity: string, issues: readonly Issue[]): InvalidArgumentError {
  const texts = issues.map(({ message, path }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
  return new InvalidArgumentError(`${what} is refused. ${texts.join('; ')}`, {
    details: { entity, property: issues[0]?.path.map(String).join('.'), issues: Object.freeze([...issues]) },
  });
}

/** Whether nothing more is looked at: who gives a million wrong values is not told of each. */
export const MOST_ISSUES = 50;
