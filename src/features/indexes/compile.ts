/** Compiles declared indexes: the layouts of their entries. */

import type { IndexDeclaration, IndexOptions } from '../../../decorators/index.js';
import { toHex } from '../../bytes/index.js';
import {
  bytes,
  compileKeyLayout,
  type KeyCodec,
  type KeyElement,
  type KeyLayout,
  literal,
  part,
} from '../../key/index.js';
import type { CollectedEntity } from '../../schema/collect.js';
import type { CompiledColumns } from '../../schema/columns.js';
import { digestOf, isList, NAME_PATTERN, partCodec, textOf, versionMark } from '../../schema/derived.js';
import type { FeatureCompiler } from '../../schema/feature-part.js';
import type { Problems } from '../../schema/problems.js';
import { type ColumnSchema, type IndexSchema, isSingleCell, ROW_PART } from '../../schema/types.js';
import { describe, isRecord } from '../../table/checks.js';

const OPTIONS: Readonly<Record<keyof IndexOptions, true>> = {
  unique: true,
  include: true,
  where: true,
  each: true,
  consistency: true,
};

/** Compiles `@Index`, and the indexes that other features need. */
export const indexCompiler: FeatureCompiler = { indexes: compileIndexes };

function compileIndexes(
  source: CollectedEntity,
  key: KeyLayout,
  columns: CompiledColumns,
  problems: Problems,
): readonly IndexSchema[] {
  const names = new Set<string>();
  const found: IndexSchema[] = [];
  for (const declaration of source.indexes) {
    const before = problems.count;
    const index = new IndexCompiler(source, key, columns, declaration, problems).compile(names);
    if (index !== undefined && problems.count === before) found.push(index);
  }
  return Object.freeze(found);
}

class IndexCompiler {
  private readonly options: IndexOptions;
  private readonly several = new Set<string>();

  constructor(
    private readonly source: CollectedEntity,
    private readonly key: KeyLayout,
    private readonly columns: CompiledColumns,
    private readonly declaration: IndexDeclaration,
    private readonly problems: Problems,
  ) {
    const { options } = declaration;
    this.options = typeof options === 'object' && options !== null ? options : {};
  }

  compile(names: Set<string>): IndexSchema | undefined {
    const { name } = this.declaration;
    if (typeof name !== 'string' || !NAME_PATTERN.test(name)) {
      this.problem(
        `Its name is ${describe(name)}.`,
        'Give it letters, digits and _, 64 at most, beginning with no digit.',
      );
      return undefined;
    }
    if (names.has(name)) this.problem('Two indexes of the entity have this name.', 'Give one another name.');
    names.add(name);
    this.checkOptions();
    this.checkElements();
    const included = this.included();
    const { unique = false, where, each = 'values' } = this.options;
    const eventual = this.options.consistency === 'eventual';
    // First without the id, which is a digest of the rest of the layout.
    const elements = this.declaration.elements;
    const own = this.layout([...elements, ...(unique ? [] : [part(ROW_PART, bytes)])]);
    if (own === undefined || included === undefined) return undefined;
    if (unique) this.checkUnique(own);
    if (eventual) this.checkEventual();
    const signature = JSON.stringify([
      this.source.name,
      name,
      own.signature,
      unique,
      included.map(({ family, qualifier, codec }) => `${family}:${toHex(qualifier)} ${codec.name}`),
      where === undefined ? null : textOf(where, { key: this.key, columns: this.columns.columns }),
      each,
      // Only where declared, so that earlier indexes keep their ids.
      ...(eventual ? ['eventual'] : []),
      ...versionMark(this.source),
    ]);
    const id = digestOf(signature);
    const layout = this.layout([literal(id), ...elements, ...(unique ? [] : [part(ROW_PART, bytes)])]);
    if (layout === undefined) return undefined;
    return Object.freeze({
      name,
      unique,
      eventual,
      id,
      signature,
      layout,
      parts: Object.freeze(layout.parts.map((one) => one.name).filter((one) => one !== ROW_PART)),
      included: Object.freeze(included),
      where: where && Object.freeze({ ...where }),
      several: [...this.several][0],
      each,
    });
  }

  private problem(rule: string, remedy: string): void {
    const { name } = this.declaration;
    this.problems.add(this.source.name, undefined, `The index ${describe(name)}: ${rule}`, remedy);
  }

  private layout(elements: readonly KeyElement[]): KeyLayout | undefined {
    const before = this.problems.count;
    const layout = this.problems.catching(this.source.name, `(index "${this.declaration.name}")`, () =>
      compileKeyLayout(elements, (name) => this.codecOf(name), undefined, {
        entity: `${this.source.name}.${this.declaration.name}`,
      }),
    );
    return this.problems.count === before ? layout : undefined;
  }

  private checkOptions(): void {
    const { name, options: given = {} } = this.declaration;
    this.problems.checkOptions(this.source.name, undefined, `The index ${describe(name)}`, given, OPTIONS);
    const { unique, each, where, include, consistency } = this.options as Readonly<Record<string, unknown>>;
    if (unique !== undefined && typeof unique !== 'boolean') {
      this.problem(`unique is ${describe(unique)}.`, 'Give true or false.');
    }
    if (consistency !== undefined && consistency !== 'strong' && consistency !== 'eventual') {
      this.problem(`consistency is ${describe(consistency)}.`, "Give 'strong' or 'eventual'.");
    }
    if (unique === true && consistency === 'eventual') {
      this.problem(
        'It is unique and eventual: when a row is written nobody would know who has its value.',
        "Leave out consistency: 'eventual', or unique.",
      );
    }
    if (each !== undefined && each !== 'keys' && each !== 'values') {
      this.problem(`each is ${describe(each)}.`, "Give 'keys' or 'values'.");
    }
    if (where !== undefined && !isRecord(where)) {
      this.problem(`where is ${describe(where)}.`, "Give an object of columns, { status: 'open' }.");
    }
    if (include !== undefined && !Array.isArray(include)) {
      this.problem(`include is ${describe(include)}.`, 'Give a list of the names of columns.');
    }
  }

  private checkElements(): void {
    for (const element of this.declaration.elements) {
      if (element.kind === 'recordType') {
        this.problem(
          'It has recordType().',
          'Leave it out: entries of indexes are told apart by themselves.',
        );
      } else if (element.kind === 'salt' && element.assign === 'random') {
        this.problem(
          'Its salt is drawn at random.',
          "Leave out assign: 'random': entries must be found again.",
        );
      } else if (element.kind === 'part' && element.transform?.kind === 'substitute') {
        this.problem('It has substitute().', 'Index the text itself, or a digest of it: hash(…).');
      }
      for (const name of element.parts) this.checkPart(name);
    }
    if (this.several.size > 1) {
      this.problem(
        `${[...this.several].join(' and ')} may each have several values.`,
        'Index one list or Map; the products of two would make too many entries.',
      );
    }
  }

  private checkPart(name: string): void {
    if (name === ROW_PART) {
      this.problem(`${ROW_PART} is no property.`, 'Give the property another name.');
      return;
    }
    if (this.key.substitutions.some(({ part: kept }) => kept === name)) {
      this.problem(
        `"${name}" is kept as an id of a dictionary.`,
        'Store it in a column too, and index that.',
      );
      return;
    }
    if (this.key.parts.some((own) => own.name === name && own.recoverable)) return;
    const column = this.columnOf(name);
    if (column === undefined) {
      const known = [
        ...this.key.parts.map((own) => own.name),
        ...this.columns.columns.map(({ property }) => property),
      ];
      this.problem(`The entity has no column "${name}".`, `Index one of ${known.join(', ')}.`);
      return;
    }
    if (column.kind === 'versions' || column.window !== undefined) {
      this.problem(
        `"${name}" holds ${column.kind === 'versions' ? 'the history of a column' : 'packed points'}, which no index follows.`,
        'Index a column of its own.',
      );
    }
    if (isList(column)) this.several.add(name);
  }

  /**
   * An eventual index with several entries per row is read by the first of them, which must not become visible after
   * the others.
   */
  private checkEventual(): void {
    if (this.several.size === 0) return;
    this.problem(
      `It is eventual, and ${[...this.several].join(' and ')} may have several values.`,
      "Leave out consistency: 'eventual': a query of several entries of a row must find all of them, or none.",
    );
  }

  private checkUnique(layout: KeyLayout): void {
    const lossy = layout.parts.filter(({ recoverable }) => !recoverable).map(({ name }) => name);
    if (lossy.length === 0) return;
    this.problem(
      `It is unique, and holds only a digest of ${lossy.join(', ')}, which different values may share.`,
      'Keep the value as well: hash(…, { keep: true }), or a part of its own.',
    );
  }

  private included(): ColumnSchema[] | undefined {
    const { include = [] } = this.options;
    if (!Array.isArray(include)) return undefined;
    const found: ColumnSchema[] = [];
    for (const name of include as readonly unknown[]) {
      const own = this.columns.columns.filter(
        ({ property }) => property === name || property.startsWith(`${String(name)}.`),
      );
      if (typeof name !== 'string' || own.length === 0) {
        this.problem(
          `It includes ${describe(name)}, which is no column.`,
          'Name columns; parts of the key are always there.',
        );
      }
      for (const column of own) {
        if (!isSingleCell(column)) {
          this.problem(
            `It includes "${column.property}", which is more than one cell.`,
            'Include columns of one cell.',
          );
        } else if (!found.includes(column)) found.push(column);
      }
    }
    return found;
  }

  private columnOf(name: string): ColumnSchema | undefined {
    return this.columns.columns.find(({ property }) => property === name);
  }

  private codecOf(name: string): KeyCodec<unknown> | undefined {
    const { target } = this.source;
    return partCodec({ target, key: this.key, columns: this.columns.columns }, name, this.options.each);
  }
}
