export type { RecordClasses } from './avro-type.js';
export {
  AvroCodec,
  type AvroCodecOptions,
  type AvroFields,
  type AvroRecordOf,
  type AvroType,
  type AvroValue,
  AvroValues,
  avro,
  avroCodec,
  avroSchemaOf,
  type RecordOptions,
  sameAvroSchema,
} from './codec.js';
export { type Incompatibility, incompatibilities } from './compatibility.js';
export {
  canonicalForm,
  crc64Avro,
  fingerprintOf,
  knownSchema,
  learnSchema,
  UnknownSchemaError,
} from './fingerprint.js';
export type { AvroSchema, AvroSchemaObject } from './schema.js';
export {
  AvroRegistry,
  type CompatibilityLevel,
  type EvolutionProblem,
  MemorySchemaStore,
  type SchemaStore,
  schemaTableDescriptor,
  TableSchemaStore,
} from './schema-store.js';
