export type { RecordClasses } from './avro-type.js';
export { AvroCodec, type AvroCodecOptions, avroCodec, sameAvroSchema } from './codec.js';
export { type Incompatibility, incompatibilities } from './compatibility.js';
export { canonicalForm, crc64Avro, fingerprintOf } from './fingerprint.js';
export { knownSchema, learnSchema, UnknownSchemaError } from './known-schemas.js';
export type { AvroSchema, AvroSchemaObject } from './schema.js';
export {
  AvroRegistry,
  type CompatibilityLevel,
  type EvolutionProblem,
  MemorySchemaStore,
  type SchemaStore,
} from './schema-store.js';
export { schemaTableDescriptor, TableSchemaStore } from './table-schema-store.js';
export {
  type AvroFields,
  type AvroRecordOf,
  type AvroType,
  type AvroValue,
  avro,
  avroSchemaOf,
  type RecordOptions,
} from './types.js';
export { AvroValues } from './values.js';
