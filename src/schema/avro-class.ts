import {
  type AnyClass,
  type AvroDeclaration,
  classChain,
  type NestedType,
  ownDeclarations,
} from '../../decorators/index.js';
import { toStringBinary } from '../bytes/index.js';
import {
  AvroCodec,
  type AvroFields,
  type AvroSchema,
  type AvroType,
  avro,
  avroCodec,
  avroSchemaOf,
  isLost,
  json,
  type ValueCodec,
} from '../codec/index.js';
import { RowanError } from '../errors.js';
import { transformer } from './transformer.js';
import type { EntitySchema, FormerPlaceSchema } from './types.js';

/** Compiles classes with `@AvroRecord` to Avro schemas, and the codecs of their columns. */

type Report = (rule: string, remedy: string) => void;

/**
 * The codec of an `@Avro` property. Undefined when a class breaks a rule, which is reported. @throws SchemaError on
 * an invalid schema.
 */
export function avroColumnCodec(property: AvroDeclaration, report: Report): ValueCodec<unknown> | undefined {
  const { type } = property;
  const { classes: given, compatibility } = property.options ?? {};
  const options = { ...(given && { classes: given }), ...(compatibility && { compatibility }) };
  if (typeof type !== 'function') return avroCodec(type as AvroSchema, options) as ValueCodec<unknown>;
  let sound = true;
  const classes = new RecordClassSchemas((rule, remedy) => {
    sound = false;
    report(rule, remedy);
  });
  const built = classes.typeOf(type);
  if (built === undefined || !sound) return undefined;
  return avroCodec(built, { ...options, classes: classes.byName }) as ValueCodec<unknown>;
}

/** The records of one schema. Each is defined where it first occurs and named afterwards, as Avro requires. */
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
    for (const problem of declarations.flatMap(({ problems }) => problems)) {
      this.report(`${className}: ${problem}`, '');
    }
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

/** A column with Avro values. */
interface AvroColumn {
  /**
   * The subject of its registered schemas: table, record type and column, which do not change when classes are
   * renamed.
   */
  readonly subject: string;
  readonly codec: AvroCodec<unknown>;
}

/** The subject of a column's schemas. */
export function avroSubject(
  table: string,
  recordType: number | undefined,
  family: string,
  qualifier: Uint8Array,
): string {
  return `${table}${recordType === undefined ? '' : `#${recordType}`}/${family}:${toStringBinary(qualifier)}`;
}

/** The Avro columns of an entity. */
export function avroColumns(entity: EntitySchema): AvroColumn[] {
  return entity.columns.flatMap((column) => avroAt(entity, column));
}

/** A place with Avro values that an entity reads beside those of its columns. */
interface FormerAvro {
  readonly subject: string;
  /** The subject of the column to which these values are moved unchanged. */
  readonly heir: string | undefined;
}

/** The places with Avro values that the upgrades of an entity read, or from which its columns are moved. */
export function formerAvro(entity: EntitySchema): FormerAvro[] {
  const read = entity.upgrades.flatMap(({ old }) => old.flatMap((column) => avroAt(entity, column)));
  return [
    ...read.map(({ subject }) => ({ subject, heir: undefined })),
    ...entity.columns.flatMap((column) =>
      column.was.flatMap((place) =>
        avroAt(entity, place).map(({ subject }) => ({
          subject,
          heir: place.migrate === undefined ? avroAt(entity, column)[0]?.subject : undefined,
        })),
      ),
    ),
  ];
}

/** The Avro columns of an entity whose cells are copied to another one with the same columns. */
export function copiedAvro(from: EntitySchema, to: EntitySchema): FormerAvro[] {
  return from.columns.flatMap((column) =>
    avroAt(from, column).map(({ subject }) => {
      const other = to.columnsByProperty.get(column.property);
      return { subject, heir: other && avroAt(to, other)[0]?.subject };
    }),
  );
}

function avroAt(
  { table, key }: EntitySchema,
  { family, qualifier, codec }: Pick<FormerPlaceSchema, 'family' | 'qualifier' | 'codec'>,
): AvroColumn[] {
  return codec instanceof AvroCodec
    ? [{ subject: avroSubject(table.descriptor.name, key.recordType, family, qualifier), codec }]
    : [];
}

type AnyConstructor = new (...args: never[]) => object;

/**
 * The codec of JSON whose objects are class instances, converted by class-transformer. The bytes are plain JSON.
 * class-transformer calls the constructors without arguments.
 */
export class NestedJsonCodec implements ValueCodec<object> {
  readonly name = 'json';
  readonly ordered = false;
  private readonly plain = json<unknown>();
  private target: AnyConstructor | undefined;

  constructor(
    private readonly type: () => unknown,
    private readonly list: boolean,
  ) {}

  encode(value: object): Uint8Array {
    this.checkShape(value);
    refuseLosses(value, '', new Set());
    return this.plain.encode(transformer().instanceToPlain(value));
  }

  decode(bytes: Uint8Array): object {
    const value = this.plain.decode(bytes);
    this.checkShape(value);
    this.target ??= this.type() as AnyConstructor;
    const made = transformer().plainToInstance(this.target as new () => object, value as object);
    keepShadowing(value, made);
    return made;
  }

  private checkShape(value: unknown): void {
    if (typeof value === 'object' && value !== null && Array.isArray(value) === this.list) return;
    throw new RowanError(
      'ERR_CODEC',
      `json of ${this.list ? 'a list of objects' : 'an object'} got ${Array.isArray(value) ? 'a list' : typeof value}. ` +
        `Give ${this.list ? 'a list' : 'an object'}, or declare the property with the type that it holds.`,
    );
  }
}

/** Restores properties that class-transformer skips because every object has a method of the same name. */
function keepShadowing(plain: unknown, made: unknown): void {
  if (typeof plain !== 'object' || plain === null || typeof made !== 'object' || made === null) return;
  for (const [name, value] of Object.entries(plain)) {
    if (Object.hasOwn(made, name)) keepShadowing(value, Reflect.get(made, name));
    else if (name in Object.prototype && name !== 'constructor') {
      Object.defineProperty(made, name, { value, writable: true, enumerable: true, configurable: true });
    }
  }
}

/**
 * Refuses values that would not survive: class-transformer calls functions among properties, and makes plain objects
 * of Maps and Sets.
 */
function refuseLosses(value: unknown, path: string, above: Set<object>): void {
  const refuse = (why: string): never => {
    throw new RowanError('ERR_CODEC', `json${path === '' ? '' : ` at "${path}"`}: ${why}.`);
  };
  // A bigint may have a @Transform. Without one it is refused when it is written.
  if (typeof value === 'function' || typeof value === 'symbol') {
    refuse(`a ${typeof value} is no value of JSON`);
  }
  if (typeof value === 'number' && !Number.isFinite(value)) refuse(`${value} is no number of JSON`);
  if (typeof value !== 'object' || value === null) return;
  if (isLost(value)) {
    const name = value.constructor.name;
    refuse(`a ${name} would come back as something else. Keep it as a list or an object`);
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) refuse('the Date is invalid');
    return;
  }
  if (above.has(value)) refuse('the object holds itself');
  above.add(value);
  for (const key of Object.keys(value)) {
    if (key === '__proto__' || key === 'constructor') {
      refuse(`a key is "${key}", which objects of a class cannot hold`);
    }
    refuseLosses(Reflect.get(value, key), path === '' ? key : `${path}.${key}`, above);
  }
  above.delete(value);
}
