/** Compiles declared properties to columns. */

import {
  type AnyClass,
  type AvroColumnOptions,
  type AvroDeclaration,
  type ColumnName,
  type ColumnOptions,
  type ColumnsOptions,
  classChain,
  type EmbeddedDeclaration,
  type EmbedOptions,
  emittedType,
  ownDeclarations,
  type PackedDeclaration,
  type PackedOptions,
  type PropertyDeclaration,
} from '../../decorators/index.js';
import { compareBytes, concatBytes, startsWithBytes, toBytes, toStringBinary } from '../bytes/index.js';
import { counter, inferValueCodec, json, uint16, uint32 } from '../codec/index.js';
import { SchemaError } from '../errors.js';
import { describe } from '../table/checks.js';
import { avroColumnCodec, NestedJsonCodec } from './avro-class.js';
import { type CollectedEntity, propertiesOf } from './collect.js';
import type { Problems } from './problems.js';
import type { ColumnSchema, EmbeddedSchema, FormerPlaceSchema, ValueCodec } from './types.js';

export interface CompiledColumns {
  /** In the order of family and qualifier. */
  readonly columns: readonly ColumnSchema[];
  /** Outer before inner. */
  readonly embedded: readonly EmbeddedSchema[];
}

/** The object in which properties are declared: the entity, or an embedded object. */
interface Scope {
  /** The declaring class. */
  readonly target: AnyClass;
  readonly path: readonly string[];
  /** The family of an embedded object. Undefined for the entity, whose columns name their own. */
  readonly family: string | undefined;
  readonly prefix: Uint8Array;
  /** The classes that embed this one, to detect cycles. */
  readonly outer: readonly AnyClass[];
}

type Storage = Pick<ColumnSchema, 'kind' | 'codec'> &
  Partial<Pick<ColumnSchema, 'qualifierCodec' | 'window'>>;

/** Compiles `was`: the former places of one entity's columns. */
export interface FormerPlaceCompiler {
  /** The former places of a column; reports what is wrong with them. */
  of(
    declared: PropertyDeclaration,
    place: Pick<ColumnSchema, 'family' | 'qualifier'>,
    storage: Storage,
    report: (rule: string, remedy: string) => void,
  ): readonly FormerPlaceSchema[];
  /** Reports former places that another column uses. */
  checkFree(
    columns: readonly ColumnSchema[],
    report: (column: ColumnSchema, rule: string, remedy: string) => void,
  ): void;
}

const NO_PLACES: readonly FormerPlaceSchema[] = Object.freeze([]);

/** @param former undefined: `was` is not compiled, and no column has a former place. */
export function compileColumns(
  entity: CollectedEntity,
  problems: Problems,
  former: FormerPlaceCompiler | undefined,
): CompiledColumns {
  return new ColumnCompiler(entity, problems, former).compile();
}

interface ParsedColumn {
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/** Splits "family:qualifier" at its first colon. Returns a message when it is invalid. */
export function parseColumnName(column: ColumnName): ParsedColumn | string {
  if (typeof column !== 'string') {
    return column?.qualifier instanceof Uint8Array && typeof column.family === 'string'
      ? column
      : 'The column is neither a text nor { family, qualifier }.';
  }
  const colon = column.indexOf(':');
  if (colon < 0) return `The column "${column}" names no family.`;
  if (colon === 0) return `The column "${column}" has an empty family.`;
  return { family: column.slice(0, colon), qualifier: toBytes(column.slice(colon + 1)) };
}

const MOVED: Readonly<Record<keyof ColumnOptions<unknown>, true>> = { was: true };

/** The options of each kind of property. */
const OPTIONS: Readonly<Record<PropertyDeclaration['kind'], Readonly<Record<string, true>>>> = {
  column: MOVED,
  json: MOVED,
  counter: MOVED,
  versions: MOVED,
  avro: { ...MOVED, classes: true, compatibility: true } satisfies Record<
    keyof AvroColumnOptions<unknown>,
    true
  >,
  columns: { ...MOVED, key: true, value: true } satisfies Record<
    keyof ColumnsOptions<unknown, unknown>,
    true
  >,
  packed: { ...MOVED, part: true, value: true } satisfies Record<keyof PackedOptions<unknown>, true>,
  embedded: { prefix: true } satisfies Record<keyof EmbedOptions, true>,
};

/** The problem of an invalid nested type, and its remedy. */
const NO_THUNK = ['Its type is not behind a function.', 'Write () => Address, or () => [LineItem].'] as const;

/** Whether it is a function that returns a class, and not the class itself. */
function isThunk(type: unknown): type is () => unknown {
  return typeof type === 'function' && !/^class\b/.test(Function.prototype.toString.call(type));
}

class ColumnCompiler {
  private readonly columns: ColumnSchema[] = [];
  private readonly embedded: EmbeddedSchema[] = [];
  private readonly families: readonly string[];

  constructor(
    private readonly entity: CollectedEntity,
    private readonly problems: Problems,
    private readonly former: FormerPlaceCompiler | undefined,
  ) {
    this.families = Object.keys(entity.table.families ?? {});
  }

  compile(): CompiledColumns {
    const { target, properties } = this.entity;
    const scope = { target, path: [], family: undefined, prefix: new Uint8Array(0), outer: [target] };
    for (const property of properties) this.add(property, scope);
    this.columns.sort(compareColumns);
    this.checkOverlaps();
    this.former?.checkFree(this.columns, ({ property }, rule, remedy) =>
      this.problems.add(this.entity.name, property, rule, remedy),
    );
    return { columns: Object.freeze(this.columns), embedded: Object.freeze(this.embedded) };
  }

  private add(property: PropertyDeclaration, scope: Scope): void {
    const path = [...scope.path, property.property];
    const { name } = this.entity;
    const { decorator, options = {} } = property;
    const taker = /^[A-Z]/.test(decorator) ? `@${decorator}` : `${decorator}()`;
    this.problems.checkOptions(name, path.join('.'), taker, options, OPTIONS[property.kind]);
    if (property.property === '__proto__') {
      this.problem(scope, property.property, 'The name cannot be a property.', 'Give it another.');
    } else if (property.kind === 'embedded') {
      this.addEmbedded(property, scope);
    } else {
      const place = this.placeOf(property.column, property, scope);
      const storage = this.storageOf(property, scope);
      if (storage !== undefined && !this.hasCodecs(storage, property, scope)) return;
      if (place === undefined || storage === undefined) return;
      this.columns.push(
        Object.freeze({
          path: Object.freeze(path),
          property: path.join('.'),
          ...place,
          qualifierCodec: undefined,
          window: undefined,
          ...storage,
          was:
            this.former?.of(property, place, storage, (rule, remedy) =>
              this.problem(scope, property.property, rule, remedy),
            ) ?? NO_PLACES,
          upgraded: this.entity.upgrades.some(({ options }) => options.sets.includes(path.join('.'))),
          required: scope.path.length === 0 && this.entity.required.has(property.property),
          order: this.columns.length,
        }),
      );
    }
  }

  private placeOf(
    column: ColumnName,
    property: PropertyDeclaration,
    scope: Scope,
  ): Pick<ColumnSchema, 'family' | 'qualifier'> | undefined {
    if (scope.family === undefined) {
      const parsed = parseColumnName(column);
      if (typeof parsed === 'string') {
        this.problem(scope, property.property, parsed, 'Write "family:qualifier".');
        return undefined;
      }
      this.checkFamily(scope, property.property, parsed.family);
      return { family: parsed.family, qualifier: parsed.qualifier };
    }
    if (typeof column !== 'string' || column.includes(':')) {
      this.problem(
        scope,
        property.property,
        `An embedded object has the family of its @Embedded, but the column ${JSON.stringify(column)} names one.`,
        'Write the qualifier alone.',
      );
      return undefined;
    }
    return { family: scope.family, qualifier: concatBytes(scope.prefix, toBytes(column)) };
  }

  private storageOf(
    property: Exclude<PropertyDeclaration, EmbeddedDeclaration>,
    scope: Scope,
  ): Storage | undefined {
    switch (property.kind) {
      case 'column': {
        const codec = property.codec ?? this.inferCodec(property.property, property, scope);
        return codec && { kind: 'column', codec };
      }
      case 'json':
        return this.jsonStorage(property.type, property, scope);
      case 'avro':
        return this.avroStorage(property, scope);
      case 'counter':
        return { kind: 'counter', codec: counter as ValueCodec<unknown> };
      case 'versions':
        return { kind: 'versions', codec: property.codec };
      case 'columns':
        return { kind: 'columns', codec: property.value, qualifierCodec: property.key };
      case 'packed':
        return this.packedStorage(property, scope);
    }
  }

  /** A codec may be any value where types were cast, or undefined in a cycle of imports. */
  private hasCodecs(storage: Storage, property: PropertyDeclaration, scope: Scope): boolean {
    const wrong = [storage.codec, storage.qualifierCodec ?? storage.codec].find(
      (codec) => typeof codec?.encode !== 'function' || typeof codec.decode !== 'function',
    );
    if (wrong === undefined && storage.codec !== undefined) return true;
    this.problem(
      scope,
      property.property,
      `What it gives as its codec is none: ${describe(wrong)}.`,
      'Give a codec: text, int32, date, decimal(2), ...; if two modules import each other, move it into one of its own.',
    );
    return false;
  }

  private jsonCodec(
    type: (() => unknown) | undefined,
    property: PropertyDeclaration,
    scope: Scope,
  ): ValueCodec<unknown> | undefined {
    if (type === undefined) return json<unknown>();
    if (!isThunk(type)) {
      this.problem(scope, property.property, ...NO_THUNK);
      return undefined;
    }
    const probe = type();
    return Array.isArray(probe)
      ? (new NestedJsonCodec(() => (type() as unknown[])[0], true) as ValueCodec<unknown>)
      : (new NestedJsonCodec(type, false) as ValueCodec<unknown>);
  }

  private jsonStorage(...given: Parameters<ColumnCompiler['jsonCodec']>): Storage | undefined {
    const codec = this.jsonCodec(...given);
    return codec && { kind: 'column', codec };
  }

  private avroStorage(property: AvroDeclaration, scope: Scope): Storage | undefined {
    const report = (rule: string, remedy: string): void =>
      this.problem(scope, property.property, rule, remedy);
    try {
      const codec = avroColumnCodec(property, report);
      return codec && { kind: 'column', codec };
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      for (const problem of error.problems) report(problem, '');
      return undefined;
    }
  }

  private packedStorage(property: PackedDeclaration, scope: Scope): Storage | undefined {
    const bucket = this.entity.elements
      .filter((element) => element.kind === 'timeBucket')
      .filter((element) => element.parts[0] === property.part)
      .sort((a, b) => a.width - b.width)[0];
    if (bucket?.kind !== 'timeBucket' || scope.path.length > 0) {
      this.problem(
        scope,
        property.property,
        `@Packed is over the part "${property.part}", of which the row key has no timeBucket.`,
        `Put timeBucket('${property.part}', '1h') into @RowKey, and @Packed on a property of the entity itself.`,
      );
      return undefined;
    }
    const unit = bucket.unit === 's' ? 1000 : 1;
    const small = bucket.width / unit <= 0x10000;
    return {
      kind: 'columns',
      codec: property.value,
      qualifierCodec: (small ? uint16 : uint32) as ValueCodec<unknown>,
      window: Object.freeze({ part: property.part, width: bucket.width, unit }),
    };
  }

  private addEmbedded(property: EmbeddedDeclaration, scope: Scope): void {
    const family = scope.family ?? property.family;
    const name = property.property;
    if (family === undefined || (scope.family !== undefined && property.family !== undefined)) {
      this.problem(
        scope,
        name,
        family === undefined
          ? 'It names no family.'
          : 'It stands in an embedded object, whose family it has.',
        family === undefined ? "Write @Embedded('family', () => Class)." : 'Write @Embedded(() => Class).',
      );
      return;
    }
    if (scope.family === undefined) this.checkFamily(scope, name, family);
    if (!isThunk(property.type)) {
      this.problem(scope, name, ...NO_THUNK);
      return;
    }
    const target = property.type();
    if (typeof target !== 'function' || scope.outer.includes(target)) {
      this.problem(
        scope,
        name,
        typeof target === 'function' ? `${target.name} is embedded in itself.` : 'Its class is undefined.',
        'Use @Json for objects that nest without end.',
      );
      return;
    }
    const path = [...scope.path, name];
    const at = path.join('.');
    this.embedded.push(Object.freeze({ path: Object.freeze(path), property: at, target }));
    const inner: Scope = {
      target,
      path,
      family,
      prefix: concatBytes(scope.prefix, toBytes(property.prefix)),
      outer: [...scope.outer, target],
    };
    for (const { problems } of classChain(target).flatMap(ownDeclarations)) {
      for (const problem of problems) this.problem(scope, name, problem, '');
    }
    const properties = propertiesOf(target, this.entity.name, this.problems);
    if (properties.length === 0) {
      this.problem(scope, name, `The class ${target.name} has no columns.`, 'Declare them with @Column.');
    }
    for (const declared of properties) this.add(declared, inner);
  }

  private checkFamily(scope: Scope, property: string, family: string): void {
    if (this.families.includes(family)) return;
    this.problem(
      scope,
      property,
      `Table "${this.entity.table.name}" has no family "${family}".`,
      `Declare it in @Table({ families })${this.families.length === 0 ? '' : `, or use one of: ${this.families.join(', ')}`}.`,
    );
  }

  private inferCodec(
    name: string,
    { column, decorator }: { readonly column: ColumnName; readonly decorator: string },
    scope: Scope,
  ): ValueCodec<unknown> | undefined {
    const type = emittedType(scope.target, name);
    const codec = inferValueCodec(type);
    if (codec !== undefined) return codec;
    const written = typeof column === 'string' ? `'${column}'` : 'column';
    if (type === undefined) {
      this.problem(
        scope,
        name,
        'No codec is given, and the compiler emitted no type to take it from.',
        `Write it: @${decorator}(${written}, text), or int32, date, bytes, ...`,
      );
    } else {
      const typeName = typeof type === 'function' ? type.name : String(type);
      if (type === Object) {
        this.problem(
          scope,
          name,
          'No codec is given, and of a union (`string | null`) or an interface compilers emit only Object.',
          `Write the codec: @${decorator}(${written}, text), or int32, date, bytes, ...; of an object @Json or @Embedded.`,
        );
        return undefined;
      }
      this.problem(
        scope,
        name,
        `No codec is given, and there is none for the emitted type ${typeName}.`,
        `Write a codec: @${decorator}(${written}, json()), or use @Json or @Embedded.`,
      );
    }
    return undefined;
  }

  private checkOverlaps(): void {
    for (const [index, column] of this.columns.entries()) {
      for (const other of this.columns.slice(index + 1)) {
        if (other.family !== column.family || !startsWithBytes(other.qualifier, column.qualifier)) break;
        const same = other.qualifier.length === column.qualifier.length;
        if (!same && column.kind !== 'columns') continue;
        const name = `"${column.family}:${toStringBinary(column.qualifier)}"`;
        this.problems.add(
          this.entity.name,
          other.property,
          same
            ? `The column ${name} is also that of "${column.property}".`
            : `The column lies within ${name}*, the columns of "${column.property}".`,
          'Give each property a column of its own.',
        );
      }
    }
  }

  private problem(scope: Scope, property: string, rule: string, remedy: string): void {
    this.problems.add(this.entity.name, [...scope.path, property].join('.'), rule, remedy);
  }
}

/** The order of cells in a result: families in byte order, then qualifiers. */
function compareColumns(a: ColumnSchema, b: ColumnSchema): number {
  if (a.family !== b.family) return Buffer.compare(Buffer.from(a.family), Buffer.from(b.family));
  return compareBytes(a.qualifier, b.qualifier);
}
