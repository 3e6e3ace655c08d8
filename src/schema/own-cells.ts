import { equalBytes, startsWithBytes } from '../bytes/index.js';
import type { EntitySchema } from './types.js';
import { LIST_QUALIFIER, SHADOW_QUALIFIER } from './types.js';

/** Whether a cell is the shadow beside the marker. */
export function isShadow(marker: EntitySchema['marker'], { family, qualifier }: Place): boolean {
  return family === marker?.family && equalBytes(qualifier, SHADOW_QUALIFIER);
}

/** Whether a row has nothing but its shadow, in several versions perhaps: changes of a missing row leave it. */
export function hasOnlyShadow(marker: EntitySchema['marker'], cells: readonly Place[]): boolean {
  return cells.every((cell) => isShadow(marker, cell));
}

interface Place {
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/**
 * Tells which cells of a row belong to an entity's declaration: its columns at present and former places, the columns
 * that its upgrades read, the marker, and the cells that the repository stores beside it. All others are unknown.
 */
export class OwnCells {
  private readonly places: readonly Place[];
  /** The marker, and the cells beside it. */
  private readonly noted: readonly Place[];
  /** Prefixes of the qualifiers of Maps. */
  private readonly prefixes: readonly Place[];
  private readonly marks: string | undefined;

  constructor({ columns, upgrades, marker, changeMarks }: EntitySchema) {
    const declared = [...columns, ...upgrades.flatMap(({ old }) => old)];
    const placesOf = (isMap: boolean): Place[] =>
      declared
        .filter(({ kind }) => (kind === 'columns') === isMap)
        .flatMap((column) => [column, ...column.was]);
    const beside = [SHADOW_QUALIFIER, LIST_QUALIFIER];
    this.noted =
      marker === undefined
        ? []
        : [marker, ...beside.map((qualifier) => ({ family: marker.family, qualifier }))];
    this.places = placesOf(false);
    this.prefixes = placesOf(true);
    this.marks = changeMarks;
  }

  has(family: string, qualifier: Uint8Array): boolean {
    return (
      family === this.marks || this.hasValue(family, qualifier) || isAmong(this.noted, family, qualifier)
    );
  }

  /** Whether the cell is of a column or of an entry of a Map. */
  hasValue(family: string, qualifier: Uint8Array): boolean {
    return this.isOfMap(family, qualifier) || isAmong(this.places, family, qualifier);
  }

  private isOfMap(family: string, qualifier: Uint8Array): boolean {
    return this.prefixes.some(
      (place) => place.family === family && startsWithBytes(qualifier, place.qualifier),
    );
  }
}

function isAmong(places: readonly Place[], family: string, qualifier: Uint8Array): boolean {
  return places.some((place) => place.family === family && equalBytes(place.qualifier, qualifier));
}
