/**
 * Standard Schema v1 (https://standardschema.dev), the interface through which frameworks accept validators of any
 * library, and its extension for JSON Schema. Declared here so that no package is needed.
 */

import { InvalidArgumentError } from '../errors.js';
import type { JsonSchema } from './values.js';

/** A problem in the input, with its path. */
export interface Issue {
  readonly message: string;
  /** Property names from the outside in; the key for an entry of a Map, the index for an item of a list. */
  readonly path: readonly PropertyKey[];
}

/** The validated value, or the issues. */
export type Validated<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

/** The supported dialects of JSON Schema. OpenAPI 3.1 uses `draft-2020-12`. */
export type JsonSchemaTarget = 'draft-2020-12' | 'draft-07';

/** A validator derived from an entity. Frameworks use its `~standard` property. */
export interface EntityValidator<Input, Output> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: 'rowan-orm';
    /** Never throws. Returns a promise only if a validator of the entity (`@Validate`) does. */
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => JsonSchema;
      readonly output: (options: { readonly target: string }) => JsonSchema;
    };
  };
  /** Validates and returns the value for the repository. @throws InvalidArgumentError with `details.issues`. */
  parse(value: unknown): Promise<Output>;
  /**
   * The JSON Schema of values that `{ coerce: true }` accepts and `toPlain` returns: dates as ISO strings, bigints as
   * decimal strings, bytes as base64, Maps as lists of [key, value].
   *
   * @param target Default `draft-2020-12`.
   * @throws InvalidArgumentError on another dialect.
   */
  toJSONSchema(target?: JsonSchemaTarget): JsonSchema;
}

/** The error of a refused value, with every issue. */
export function refusal(what: string, entity: string, issues: readonly Issue[]): InvalidArgumentError {
  const texts = issues.map(({ message, path }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
  return new InvalidArgumentError(`${what} is refused. ${texts.join('; ')}`, {
    details: { entity, property: issues[0]?.path.map(String).join('.'), issues: Object.freeze([...issues]) },
  });
}

/** After this many issues, checking stops. */
export const MAX_ISSUES = 50;
