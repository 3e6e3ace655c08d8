/** Classes with `@AvroRecord` -> Avro schemas and the codecs of their columns. */

import {
  type AnyClass,
  type AvroDeclaration,
  classChain,
  type NestedType,
  ownDeclarations,
} from '../../decorators/index.js';
import {
  type AvroFields,
  type AvroSchema,
  type AvroType,
  avro,
  avroCodec,
  avroSchemaOf,
  type ValueCodec,
} from '../codec/index.js';

type Report = (rule: string, mend: string) => void;

/**
 * The codec of an `@Avro` property, or undefined when a class breaks a rule, which is reported.
 * @throws SchemaError when the schema is none.
 */
export function avroColumnCodec(property: AvroDeclaration, report: Report): ValueCodec<unknown> | undefined {
  const { type, options } = property;
  if (typeof type !== 'function') return avroCodec(type as AvroSchema, options) as ValueCodec<unknown>;
  let sound = true;
  const classes = new RecordClassSchemas((rule, mend) => {
    sound = false;
    report(rule, mend);
  });
  const built = classes.typeOf(type);
  if (built === undefined || !sound) return undefined;
  return avroCodec(built, { ...options, classes: classes.byName }) as ValueCodec<unknown>;
}

/** The records of one schema: each is defined where it is met first, and named after that, as Avro has it. */
class RecordClassSchemas {
  readonly byName: Record<string, AnyClass> = {};
  private readonly names = new Map<AnyClass, string>();

  constructor(private readonly report: Report) {}

  typeOf(nested: NestedType): AvroType<unknown> | undefined {
    const target: unknown = nested();
    if (!Array.isArray(target)) return this.recordOf(target as AnyClass);
    const item = this.recordOf(target[0] as AnyClass);
    return item && avro.array(item);
  }

  private recordOf(target: AnyClass): AvroType<unknown> | undefined {
    const known = this.names.get(target);
    if (known !== undefined) return avro.named(known);
    const declarations = typeof target === 'function' ? classChain(target).flatMap(ownDeclarations) : [];
    const record = declarations.flatMap(({ avroRecords }) => avroRecords).at(-1);
    const fields = declarations.flatMap(({ avroFields }) => avroFields);
    const className = typeof target === 'function' ? target.name : String(target);
    if (record === undefined) {
      this.report(`The class ${className} has no @AvroRecord.`, 'Put @AvroRecord({ name }) above it.');
      return undefined;
    }
    const { name, namespace, aliases } = record;
    const fullName = namespace === undefined ? name : `${namespace}.${name}`;
    if (this.byName[fullName] !== undefined) {
      this.report(`Two classes are the Avro record "${fullName}".`, 'Give each a name of its own.');
    }
    if (fields.length === 0) {
      this.report(`The class ${className} has no fields of Avro.`, 'Declare them with @AvroField.');
    }
    this.names.set(target, fullName);
    this.byName[fullName] = target;
    const types: Record<string, AvroType<unknown>> = {};
    const fieldAliases: Record<string, readonly string[]> = {};
    for (const field of fields) {
      const type = typeof field.type === 'function' ? this.typeOf(field.type) : field.type;
      if (type === undefined) continue;
      types[field.property] = field.optional ? avro.optional(type) : type;
      if (field.aliases !== undefined) fieldAliases[field.property] = field.aliases;
    }
    const schema = avroSchemaOf(name, types satisfies AvroFields, { namespace, aliases, fieldAliases });
    return { schema, default: undefined };
  }
}
