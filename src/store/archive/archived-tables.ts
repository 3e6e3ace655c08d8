/** The tables and namespaces in a log archive: which edits of the MANIFEST it needs, and what those say. */

import type { NamespaceProperties } from '../../table/index.js';
import {
  type Edit,
  type FileEntry,
  namesFile,
  snapshotEdits,
  type TableEntry,
  type VersionState,
} from '../manifest/index.js';
import { isUserTable } from '../table-state.js';
import type { ArchivedEdits } from './log-archive.js';

/** The tables and namespaces of a store, as lines of an INDEX say. */
export class ArchivedTables {
  readonly tables = new Map<number, TableEntry>();
  /** Of tables that were added after the archive began. */
  readonly regions = new Map<number, Extract<Edit, { type: 'regionAdd' }>[]>();
  readonly namespaces = new Set<string>();
  readonly properties = new Map<string, NamespaceProperties>();
  /** Files that did not pass through the log, with their table. */
  readonly files: { readonly table: number; readonly family: number; readonly file: FileEntry }[] = [];

  apply({ whole, edits }: Pick<ArchivedEdits, 'whole' | 'edits'>): void {
    if (whole) for (const map of [this.tables, this.namespaces, this.properties]) map.clear();
    const tableOf = new Map<number, number>();
    const added = new Set<number>();
    for (const edit of edits) {
      if (edit.type === 'tableAdd') {
        const { id, descriptor, familyNumbers, enabled } = edit;
        this.tables.set(id, { id, descriptor, familyNumbers, enabled });
        added.add(id);
      } else if (edit.type === 'tableDrop') this.tables.delete(edit.id);
      else if (edit.type === 'namespaceAdd') this.namespaces.add(edit.name);
      else if (edit.type === 'namespaceAlter') this.properties.set(edit.name, edit.properties);
      else if (edit.type === 'namespaceRemove') {
        this.namespaces.delete(edit.name);
        this.properties.delete(edit.name);
      } else if (edit.type === 'regionAdd') {
        // Those of the same line. An earlier line may have listed this region, too.
        const others = this.regions.get(edit.table)?.filter((region) => tableOf.has(region.id)) ?? [];
        tableOf.set(edit.id, edit.table);
        if (added.has(edit.table)) this.regions.set(edit.table, [...others, edit]);
      } else if (edit.type === 'fileAdd') {
        const table = tableOf.get(edit.region);
        if (table !== undefined) this.files.push({ table, family: edit.family, file: edit.file });
      }
    }
  }
}

/** The edits that an archive needs: changes of tables, and files that did not pass through the log, with their regions. */
export function archivedOf(edits: readonly Edit[], state: VersionState): Edit[] {
  const hidden = new Set<number>();
  const regions = new Set<number>();
  const wanted: Edit[] = [];
  for (const edit of edits) {
    switch (edit.type) {
      case 'namespaceAdd':
      case 'namespaceRemove':
      case 'namespaceAlter':
        wanted.push(edit);
        break;
      case 'tableAdd':
        if (isUserTable(edit.descriptor.name)) wanted.push(edit);
        else hidden.add(edit.id);
        break;
      case 'tableAlter': {
        const known = state.tables.get(edit.id);
        if (known === undefined || !isUserTable(known.descriptor.name)) break;
        const { id, descriptor, familyNumbers, enabled } = edit;
        // A flush or compaction has only added to its history, of which a restored table has one of its own.
        if (descriptor === undefined && familyNumbers === undefined && enabled === undefined) break;
        wanted.push({
          type: 'tableAdd',
          id,
          descriptor: descriptor ?? known.descriptor,
          familyNumbers: familyNumbers ?? known.familyNumbers,
          enabled: enabled ?? known.enabled,
        });
        break;
      }
      case 'tableDrop':
        wanted.push(edit);
        break;
      case 'regionAdd':
        if (
          hidden.has(edit.table) ||
          !wanted.some((other) => other.type === 'tableAdd' && other.id === edit.table)
        )
          break;
        wanted.push(edit);
        regions.add(edit.id);
        break;
      case 'fileAdd':
        if (regions.has(edit.region)) wanted.push(edit);
        else if (edit.file.bulkSeq !== undefined && !namesFile(state, edit.file.number)) {
          const region = state.regions.get(edit.region);
          if (region === undefined) break;
          const { id, table, startKey, endKey } = region;
          wanted.push({ type: 'regionAdd', id, table, startKey, endKey }, edit);
        }
        break;
    }
  }
  return wanted;
}

/** The edits that make the tables and namespaces of a state, without files. */
export function presentTables(state: VersionState): Edit[] {
  const hidden = new Set(
    [...state.tables.values()].flatMap(({ id, descriptor }) => (isUserTable(descriptor.name) ? [] : [id])),
  );
  return snapshotEdits(state).filter((edit) => {
    if (edit.type === 'tableAdd') return !hidden.has(edit.id);
    if (edit.type === 'regionAdd') return !hidden.has(edit.table);
    return edit.type === 'namespaceAdd' || edit.type === 'namespaceAlter';
  });
}

/** Whether the archive says of tables and namespaces what `edits` do. */
export function isSame(archived: ArchivedTables, edits: readonly Edit[]): boolean {
  const present = new ArchivedTables();
  present.apply({ whole: true, edits });
  return textOf(archived) === textOf(present);
}

function textOf({ tables, namespaces, properties }: ArchivedTables): string {
  const sorted = [...tables.values()].sort((a, b) => a.id - b.id);
  return JSON.stringify([
    sorted.map(({ familyNumbers, ...table }) => ({ ...table, familyNumbers: [...familyNumbers].sort() })),
    [...namespaces].sort(),
    [...properties].sort(([a], [b]) => (a < b ? -1 : 1)),
  ]);
}
