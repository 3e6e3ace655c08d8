/** Compiles `@Denormalized` declarations: which columns copy which properties of which source. */

import type { CopyDeclaration } from '../../../decorators/index.js';
import type { CollectedEntity } from '../../schema/collect.js';
import { type FeatureCompiler, type FeaturePart, linkPart } from '../../schema/feature-part.js';
import { checkLink, compileVia, isKeyed, type LinkOwner, type UnindexedLink } from '../../schema/links.js';
import type { Problems } from '../../schema/problems.js';
import type { CopiedField, CopySchema, EntityClass, EntitySchema } from '../../schema/types.js';
import { describe } from '../../table/checks.js';
import { FOREVER } from '../../table/index.js';

const DEFAULT_FAN_OUT = 100;
/** The fan-out limit: a step is one turn of the event loop. */
const MAX_FAN_OUT = 10_000;
const OPTIONS: Readonly<Record<keyof CopyDeclaration['options'], true>> = {
  via: true,
  fields: true,
  fanOut: true,
};

type UnindexedCopy = UnindexedLink<CopySchema>;

/** The copies' part of schema compilation. */
export const copyCompiler: FeatureCompiler = { compile: compileCopies, check: checkCopies };

/** Compiles the copies that one entity declares. `checkCopies` then checks them against their sources. */
function compileCopies(source: CollectedEntity, owner: LinkOwner, problems: Problems): FeaturePart {
  const copied = new Set<string>();
  const found: UnindexedCopy[] = [];
  for (const declaration of source.copies) {
    const copy = compileCopy(source, owner, declaration, copied, problems);
    if (copy !== undefined) found.push(copy);
  }
  return linkPart<CopySchema>(owner, found, (copies) => ({ copies }));
}

function compileCopy(
  { name, required }: CollectedEntity,
  owner: LinkOwner,
  declaration: CopyDeclaration,
  copied: Set<string>,
  problems: Problems,
): UnindexedCopy | undefined {
  const before = problems.count;
  const add = (rule: string, remedy: string, property?: string): void =>
    problems.add(name, property, rule, remedy);
  const given = declaration.options as unknown;
  if (typeof declaration.source !== 'function' || typeof given !== 'object' || given === null) {
    add(
      '@Denormalized takes a source and options.',
      "Write @Denormalized(() => Source, { via: 'sourceId', fields: { own: 'property' } }).",
    );
    return undefined;
  }
  problems.checkOptions(name, undefined, '@Denormalized', given, OPTIONS);
  const { via, fields, fanOut = DEFAULT_FAN_OUT } = given as Readonly<Record<string, unknown>>;
  const link = compileVia(
    owner,
    { decorator: 'Denormalized', property: undefined, via, takesMap: true },
    problems,
  );
  const maps = owner.columns.filter((one) => isKeyed(one) && link?.some(([, held]) => held === one.property));
  const [map] = maps;
  if (maps.length > 1) {
    add(
      `It finds its sources by the keys of ${maps.map(({ property }) => property).join(' and ')}.`,
      'Name one Map: each of its entries holds the copy of one source.',
    );
  }
  if (!Number.isSafeInteger(fanOut) || (fanOut as number) < 0 || (fanOut as number) > MAX_FAN_OUT) {
    add(`The fanOut of its copies is ${describe(fanOut)}.`, `Give a whole number from 0 to ${MAX_FAN_OUT}.`);
  }
  const pairs = typeof fields === 'object' && fields !== null ? Object.entries(fields) : [];
  if (pairs.length === 0)
    add('@Denormalized names no fields.', "List the copied properties: { own: 'property' }.");
  if (map !== undefined && pairs.some(([own]) => own !== map.property)) {
    add(
      `It finds its sources by the keys of the Map "${map.property}", and copies to ${pairs.map(([own]) => own).join(', ')}.`,
      `The values of that Map are the copies: fields: { ${map.property}: 'property' }.`,
    );
  }
  const columns: CopiedField[] = [];
  for (const [own, from] of pairs as readonly (readonly [string, unknown])[]) {
    const column = owner.columns.find(({ property }) => property === own);
    if (column === undefined || (column.kind !== 'column' && column !== map)) {
      add(
        'It is declared as a copy, and is not a single-valued column.',
        "Declare it with @Column. For copies in the entries of a Map, via names that Map: { via: 'children', fields: { children: 'name' } }.",
        own,
      );
    } else if (required.has(own) || column.required) {
      add(
        'It is required, but a copy is absent when there is no source.',
        'Declare it optional, without @Required.',
        own,
      );
    } else if (copied.has(own) || (column !== map && link?.some(([, held]) => held === own))) {
      add('It is copied twice, or is the link to the source.', 'Copy to a column of its own.', own);
    } else if (typeof from !== 'string') {
      add(
        `Its source property is ${describe(from)}.`,
        "Name a property of the source as text: { own: 'property' }.",
        own,
      );
    } else columns.push({ column, source: from });
    copied.add(own);
  }
  if (problems.count > before || link === undefined) return undefined;
  const target = declaration.source as () => EntityClass;
  return { target, via: link, map, fields: Object.freeze(columns), fanOut: fanOut as number };
}

/** Checks the copies of entities against their sources, which must be in the schema. */
function checkCopies(entities: readonly EntitySchema[], problems: Problems): void {
  const byTarget = new Map<EntityClass, EntitySchema>(entities.map((entity) => [entity.target, entity]));
  for (const entity of entities) {
    for (const copy of entity.copies) {
      const target: unknown = copy.target();
      const other = byTarget.get(target as EntityClass);
      if (other === undefined) {
        problems.add(
          entity.name,
          undefined,
          `It copies from ${describe(target)}, which is not among the entities.`,
          'Pass the source too: a change of it changes the copies.',
        );
      } else checkCopy(entity, copy, other, problems);
    }
  }
}

function checkCopy(entity: EntitySchema, copy: CopySchema, other: EntitySchema, problems: Problems): void {
  checkLink(entity, copy, { decorator: 'Denormalized', property: undefined }, other, problems);
  const add = (own: string, rule: string, remedy: string): void =>
    problems.add(entity.name, own, rule, remedy);
  const ends = new Set(
    entity.table.descriptor.families.filter(({ ttl }) => ttl !== FOREVER).map(({ name }) => name),
  );
  for (const { column, source } of copy.fields) {
    const from = other.columnsByProperty.get(source);
    if (from === undefined || from.kind !== 'column') {
      add(
        column.property,
        `It copies ${other.name}.${source}, which is not a single-valued column.`,
        'Copy a @Column.',
      );
    } else if (other.copies.some(({ fields }) => fields.some((field) => field.column === from))) {
      add(
        column.property,
        `It copies ${other.name}.${source}, which is a copy itself.`,
        'Copy it from the original property.',
      );
    } else if (from.upgraded) {
      add(
        column.property,
        `It copies ${other.name}.${source}, which an @Upgrade sets: existing copies have the value of before the upgrade.`,
        'Upgrade the rows first (rowan schema apply) and remove the @Upgrade. Then declare the copy and backfill it.',
      );
    } else if (from.codec.name !== column.codec.name) {
      add(
        column.property,
        `Its codec is ${column.codec.name}, that of ${other.name}.${source} is ${from.codec.name}.`,
        'Give both the same.',
      );
    }
    if (ends.has(column.family) && !entity.timeToLive.lifelong) {
      add(
        column.property,
        `Its family "${column.family}" has a ttl: a copy that is rewritten would outlive its row.`,
        'Declare the time to live of the entity, @Entity({ ttl }), or store the copies in another family.',
      );
    }
  }
}
