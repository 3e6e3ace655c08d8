/**
 * `rowan-orm/validation`: checks external input against the declarations of entities before it is written or queried (docs/validation.md). Validators are Standard Schemas, which frameworks accept directly.
 */

export { type OpenApiComponents, openApiComponents } from './json-schema.js';
export {
  type ParsedQuery,
  parseQuery,
  type QueryField,
  type QueryOperator,
  type QueryRules,
  type QuerySource,
} from './parse-query.js';
export {
  type Coercible,
  type InputSchemaOptions,
  inputSchema,
  keySchema,
  patchSchema,
  type SchemaOptions,
  type ValidatorOf,
  type Without,
} from './schemas.js';
export type { EntityValidator, Issue, JsonSchemaTarget, Validated } from './standard.js';
export type { JsonSchema } from './values.js';
