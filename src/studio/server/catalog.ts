/** The catalog: tables, families, entities, regions, and the findings of the lint. */

import { toStringBinary } from '../../bytes/index.js';
import { AvroCodec } from '../../codec/index.js';
import { schemaScript } from '../../ddl/index.js';
import type { KeyPart } from '../../key/types.js';
import { describeFinding } from '../../schema/index.js';
import type { EntityClass, EntitySchema } from '../../schema/types.js';
import type { StoreStats } from '../../store/stats.js';
import type { Engine, FamilyDescriptor, TableDescriptor } from '../../table/index.js';
import type {
  Catalog,
  EntityInfo,
  FamilyInfo,
  Json,
  PartInfo,
  RegionShown,
  RelationInfo,
  SchemaReport,
  TableInfo,
} from './api.js';
import type { StudioDatabase } from './studio-database.js';

/** The studio's own settings in the catalog. */
type CatalogAbout = Pick<Catalog, 'place' | 'writable' | 'queriesFile'>;

/** Tables and entities of a database. */
export async function catalogOf(db: StudioDatabase, about: CatalogAbout): Promise<Catalog> {
  const stats = statsOf(db.engine);
  const declared = new Map(db.schema.tables.map((table) => [table.descriptor.name, table]));
  const found = await db.admin.listTables();
  const tables = found.map((descriptor): TableInfo => {
    const { name, families } = descriptor;
    return {
      name,
      kind: declared.has(name) ? 'declared' : isSystem(descriptor, declared) ? 'system' : 'other',
      families: families.map((family) => familyInfo(name, family, stats)),
      entities: (declared.get(name)?.entities ?? []).map((entity) => entity.name),
    };
  });
  const entities = db.schema.entities.map((entity) => entityInfo(db, entity));
  return { ...about, engine: db.engine.name, tables, entities };
}

/** Tables that Rowan makes itself: of schemas and jobs, and beside a declared one those of its indexes, copies, changes. */
function isSystem({ name }: TableDescriptor, declared: ReadonlyMap<string, unknown>): boolean {
  if (/(^|:)rowan_/.test(name)) return true;
  return [...declared.keys()].some((table) => name.startsWith(`${table}_`) || name.startsWith(`${table}.`));
}

/** Statistics of an embedded store; undefined of other engines. */
export function statsOf(engine: Engine): StoreStats | undefined {
  const { stats } = engine as { stats?: () => StoreStats };
  return stats?.call(engine);
}

function familyInfo(table: string, family: FamilyDescriptor, stats: StoreStats | undefined): FamilyInfo {
  const { name, compression, dataBlockEncoding, bloomFilter, versions, ttl } = family;
  const counted = stats?.tables
    .find((each) => each.table === table)
    ?.regions.flatMap(({ families }) => families.filter((each) => each.family === name));
  const sum = (of: (each: NonNullable<typeof counted>[number]) => number): number =>
    (counted ?? []).reduce((total, each) => total + of(each), 0);
  return {
    name,
    compression,
    encoding: dataBlockEncoding,
    bloomFilter,
    maxVersions: versions,
    timeToLive: ttl >= 2 ** 31 - 1 ? null : ttl,
    counted:
      counted === undefined
        ? null
        : {
            fileBytes: sum((each) => each.fileBytes),
            rawBytes: sum((each) => each.rawBytes),
            memstoreBytes: sum((each) => each.memstoreBytes),
            cells: sum((each) => each.cells + each.memstoreCells),
            files: sum((each) => each.files),
          },
  };
}

function partInfo({ name, codec, descending, recoverable }: KeyPart): PartInfo {
  return { name, codec: codec.name, descending, recoverable };
}

function entityInfo(db: StudioDatabase, entity: EntitySchema): EntityInfo {
  const nameOf = (target: EntityClass): string => db.schema.entity(target).name;
  return {
    name: entity.name,
    table: entity.table.descriptor.name,
    recordType: entity.key.recordType ?? null,
    layout: entity.key.signature,
    parts: entity.key.parts.map(partInfo),
    columns: entity.columns.map(({ property, kind, family, qualifier, codec }) => ({
      property,
      kind,
      family,
      qualifier: toStringBinary(qualifier),
      codec: codec.name,
      ...(codec instanceof AvroCodec && { avro: codec.schema as Json }),
    })),
    indexes: entity.indexes.map(({ name, unique, eventual, layout, parts, included }) => ({
      name,
      unique,
      eventual,
      parts: layout.parts.filter((part) => parts.includes(part.name)).map(partInfo),
      included: included.map(({ property }) => property),
    })),
    summaries: entity.summaries.map(({ name, by }) => ({ name, by })),
    copies: entity.copies.map(({ target, fields }) => ({
      from: nameOf(target()),
      properties: fields.map(({ column }) => column.property),
    })),
    relations: relationsOf(db, entity),
    changes: entity.changesKept !== undefined,
  };
}

/** Those that are declared, and the entities of the same table whose keys begin with the same parts. */
function relationsOf(db: StudioDatabase, entity: EntitySchema): RelationInfo[] {
  const declared = [...entity.relations.values()].map(
    ({ property, kind, target, via }): RelationInfo => ({
      property,
      kind,
      entity: db.schema.entity(target()).name,
      declared: true,
      via,
    }),
  );
  const own = entity.key.parts.map(({ name }) => name);
  const beside = entity.table.entities.flatMap((other): RelationInfo[] => {
    if (other === entity || declared.some((relation) => relation.entity === other.name)) return [];
    const parts = other.key.parts.map(({ name }) => name);
    const shared = own.findIndex((name, at) => parts[at] !== name);
    const both = own.slice(0, shared < 0 ? own.length : shared);
    if (both.length === 0) return [];
    return [
      {
        property: other.name,
        kind: both.length === parts.length ? 'one' : 'many',
        entity: other.name,
        declared: false,
        via: both.map((name) => [name, name] as const),
      },
    ];
  });
  return [...declared, ...beside];
}

/** The regions of a table, in the order of their keys. */
export async function regionsOf(db: StudioDatabase, table: string): Promise<RegionShown[]> {
  const regions = await db.admin.getRegions(table);
  return regions.map(({ startKey, endKey, server, readRequests, writeRequests, ...region }) => ({
    start: toStringBinary(startKey),
    end: toStringBinary(endKey),
    server,
    reads: readRequests,
    writes: writeRequests,
    files: region.storeFiles,
    fileBytes: region.storeFileSize,
    memstoreBytes: region.memstoreSize,
  }));
}

/** How the tables differ from the declarations, and what the declarations smell of. */
export async function schemaReport(db: StudioDatabase): Promise<SchemaReport> {
  const { steps, contradictions } = await db.schema.plan();
  const lines = [
    ...contradictions.map(({ table, message }) => `! ${table}: ${message}`),
    ...steps.map((step) => `${step.class.padEnd(9)} ${step.id}\n          ${step.why}`),
  ];
  return {
    plan: lines.length === 0 ? 'The tables are as declared.' : lines.join('\n'),
    steps: steps.length + contradictions.length,
    findings: db.schema.lint().map((finding) => ({
      severity: finding.severity,
      code: finding.code,
      text: describeFinding(finding),
    })),
    script: schemaScript(db.schema.tables),
  };
}
