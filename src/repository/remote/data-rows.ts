/** Rows with their shadow: the cell beside the marker that says which change their entries are of. */

import { equalBytes } from '../../bytes/index.js';
import { SHADOW_QUALIFIER } from '../../indexes/index.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  Delete,
  Get,
  type OperationOptions,
  Put,
  Result,
  type RowMutation,
  type Table,
} from '../../table/index.js';
import type { Expectation } from '../change.js';
import { MARK_QUALIFIER } from '../changes/log-rows.js';

/** A row, and apart from it its shadow and its mark. */
export interface LoadedRow {
  readonly stored: Result;
  readonly shadow: Uint8Array | undefined;
  /** The mark of its last change, where changes are told. */
  readonly changeMark: Uint8Array | undefined;
}

export class DataRows {
  readonly family: string;
  /** The family of marks. */
  private readonly marks: string | undefined;

  constructor(
    readonly table: Table,
    schema: EntitySchema,
  ) {
    this.family = schema.marker!.family;
    this.marks = schema.changeMarks;
  }

  async load(row: Uint8Array, options: OperationOptions | undefined): Promise<LoadedRow> {
    return this.split(await this.table.get(new Get(row), options));
  }

  async loadAll(rows: readonly Uint8Array[], options: OperationOptions | undefined): Promise<LoadedRow[]> {
    if (rows.length === 1) return [await this.load(rows[0]!, options)];
    const found = await this.table.getAll(
      rows.map((row) => new Get(row)),
      options,
    );
    return found.map((result) => this.split(result));
  }

  private split(result: Result): LoadedRow {
    const { marks } = this;
    const shadow = result.getValue(this.family, SHADOW_QUALIFIER);
    const changeMark = marks === undefined ? undefined : result.getValue(marks, MARK_QUALIFIER);
    if (shadow === undefined && changeMark === undefined) return { stored: result, shadow, changeMark };
    const cells = result.cells.filter(
      ({ family, qualifier }) =>
        family !== marks && (family !== this.family || !equalBytes(qualifier, SHADOW_QUALIFIER)),
    );
    const stored = cells.length === 0 ? Result.EMPTY : new Result(result.row, cells);
    return { stored, shadow, changeMark };
  }

  /** What must hold for a row's entries to be of the change that they were when it was read. */
  unchanged(
    { stored, shadow }: Omit<LoadedRow, 'changeMark'>,
    others: readonly Expectation[],
  ): Expectation[] {
    const cell = { family: this.family, qualifier: SHADOW_QUALIFIER };
    if (shadow !== undefined) return [...others, { ...cell, kind: 'equal', value: shadow }];
    const expects: Expectation[] = [...others, { ...cell, kind: 'absent' }];
    // Of a row without a shadow absence says nothing: it may be gone.
    const first = stored.cells[0];
    if (first !== undefined && others.every(({ kind }) => kind === 'absent')) {
      expects.push({ kind: 'present', family: first.family, qualifier: first.qualifier });
    }
    return expects;
  }

  shadowPut(row: Uint8Array, token: Uint8Array, ttl: number | undefined): Put {
    return new Put(row).addColumn(this.family, SHADOW_QUALIFIER, token).setTtl(ttl);
  }

  shadowDelete(row: Uint8Array): RowMutation {
    return new Delete(row).addColumns(this.family, SHADOW_QUALIFIER);
  }
}
