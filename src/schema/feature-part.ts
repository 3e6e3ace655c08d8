/** A feature's part in compiling a schema: the interface by which the compiler asks the features of `feature-compilers.ts`. */

import type { IndexDeclaration } from '../../decorators/index.js';
import type { KeyLayout } from '../key/index.js';
import type { CollectedEntity } from './collect.js';
import type { CompiledColumns, FormerPlaceCompiler } from './columns.js';
import { backReferenceIndex, findBackReference, type LinkOwner, type UnindexedLink } from './links.js';
import type { Problems } from './problems.js';
import type { EntitySchema, IndexSchema, LinkSchema, UpgradeSchema } from './types.js';

/** Compiles and checks what a feature declares. Every member is optional. */
export interface FeatureCompiler {
  /** Compiles the indexes of an entity: those in `source`. One feature does; without it no entity has an index. */
  indexes?(
    source: CollectedEntity,
    key: KeyLayout,
    columns: CompiledColumns,
    problems: Problems,
  ): readonly IndexSchema[];
  /** Compiles the declarations of one entity; adds what is wrong with them to `problems`. */
  compile?(source: CollectedEntity, owner: FeatureOwner, problems: Problems): FeaturePart;
  /** Checks compiled entities against each other: adds what is wrong to `problems`. */
  check?(entities: readonly EntitySchema[], problems: Problems): void;
  /** The reader of rows of earlier declarations. One feature compiles it; without it every entity has version 1. */
  readonly earlierRows?: EarlierRowsCompiler;
}

/** Compiles what an entity declares about rows that were written under earlier declarations. */
interface EarlierRowsCompiler {
  /** The version of an entity, which the markers of its rows record. */
  version(source: CollectedEntity, problems: Problems): number;
  formerPlaces(source: CollectedEntity): FormerPlaceCompiler;
  /** The upgrades of an entity, in the order of their versions. */
  upgrades(
    source: CollectedEntity,
    columns: CompiledColumns,
    marker: EntitySchema['marker'],
    problems: Problems,
  ): readonly UpgradeSchema[];
}

/** The entity whose declarations are compiled. */
export interface FeatureOwner extends LinkOwner {
  /** The property of `@DeletedAt`. */
  readonly deletedProperty: string | undefined;
}

/** The part of a feature in the schema of one entity. */
export interface FeaturePart {
  /** The indexes that it needs beside those that are declared. */
  indexes(declared: readonly IndexSchema[]): readonly NeededIndex[];
  /** Its properties of the entity's schema. @param indexes all indexes of the entity. */
  schema(indexes: readonly IndexSchema[]): Partial<FeatureSchemas>;
}

/** An index that a feature adds to an entity. */
interface NeededIndex {
  readonly declaration: IndexDeclaration;
  /** Its purpose, for the message when a declared index has its name: "holds …". */
  readonly purpose: string;
}

/** The properties of an entity's schema that features compile. */
export type FeatureSchemas = Pick<
  EntitySchema,
  'copies' | 'references' | 'summaries' | 'mutual' | 'computed'
>;

/**
 * The part of a feature that consists of links. @param isFollowed whether rows are found by the key that they hold, which needs an index.
 */
export function linkPart<T extends LinkSchema>(
  owner: LinkOwner,
  links: readonly UnindexedLink<T>[],
  schema: (links: readonly T[]) => Partial<FeatureSchemas>,
  isFollowed: (link: UnindexedLink<T>) => boolean = () => true,
): FeaturePart {
  return {
    indexes: (declared) =>
      links
        .filter((link) => isFollowed(link) && findBackReference(owner, declared, link) === 'missing')
        .map((link) => ({
          declaration: backReferenceIndex(link),
          purpose: `finds the rows which name another by ${link.via.map(([, held]) => held).join(', ')}`,
        })),
    schema: (indexes) =>
      schema(
        Object.freeze(
          links.map((link) => {
            const found = findBackReference(owner, indexes, link);
            const index = found === 'missing' ? undefined : found.index;
            return Object.freeze({ ...link, index }) as unknown as T;
          }),
        ),
      ),
  };
}
