import { equalBytes, startsWithBytes } from '../bytes/index.js';
import type { EntitySchema } from './types.js';
import { SHADOW_QUALIFIER } from './types.js';

interface Place {
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/**
 * Which cells of an entity's rows its declaration speaks of: those of its columns, at the places where they stand and stood before,
 * those that its upgrades read, the marker, and what the repository notes beside it. All others are unknown to it.
 */
export class OwnCells {
  private readonly places: readonly Place[];
  /** Each is what the qualifiers of a Map begin with. */
  private readonly prefixes: readonly Place[];
  private readonly marks: string | undefined;

  constructor({ columns, upgrades, marker, changeMarks }: EntitySchema) {
    const declared = [...columns, ...upgrades.flatMap(({ old }) => old)];
    const placesOf = (isMap: boolean): Place[] =>
      declared
        .filter(({ kind }) => (kind === 'columns') === isMap)
        .flatMap((column) => [column, ...column.was]);
    const noted =
      marker === undefined ? [] : [marker, { family: marker.family, qualifier: SHADOW_QUALIFIER }];
    this.places = [...placesOf(false), ...noted];
    this.prefixes = placesOf(true);
    this.marks = changeMarks;
  }

  has(family: string, qualifier: Uint8Array): boolean {
    return (
      this.hasAllBehind(family, qualifier) ||
      this.places.some((place) => place.family === family && equalBytes(place.qualifier, qualifier))
    );
  }

  /** Whether every cell whose qualifier begins so is one of the entity's. */
  hasAllBehind(family: string, prefix: Uint8Array): boolean {
    return (
      family === this.marks ||
      this.prefixes.some((place) => place.family === family && startsWithBytes(prefix, place.qualifier))
    );
  }
}
