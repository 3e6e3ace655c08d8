/**
 * Decides whether values of one schema can be read by another (Avro specification, "Schema Resolution"), and reports
 * every problem at once.
 */

import type {
  EnumNode,
  FieldNode,
  FixedNode,
  LogicalMark,
  PrimitiveName,
  PrimitiveNode,
  RecordNode,
  SchemaNode,
  UnionNode,
} from './schema.js';
import { type AvroSchema, parseAvroSchema } from './schema.js';

/** One reason why the reader cannot read values of the writer. */
export interface Incompatibility {
  /** The place in the reader's schema, e.g. "Order.lines[].price". */
  readonly path: string;
  readonly message: string;
}

/**
 * Every reason why `reader` cannot read values of `writer`; empty if it can. In one case it is stricter than Avro's
 * rules: decimals of another precision or scale would be read as other numbers.
 * @throws SchemaError when one of the schemas is invalid.
 */
export function incompatibilities(reader: AvroSchema, writer: AvroSchema): Incompatibility[] {
  const comparison = new Comparison();
  const root = parseAvroSchema(reader);
  comparison.compare(root, parseAvroSchema(writer), 'name' in root ? simpleName(root.name) : 'schema');
  return comparison.problems;
}

/** The primitive types that a reader accepts besides its own. */
const PROMOTIONS: Readonly<Partial<Record<PrimitiveName, readonly PrimitiveName[]>>> = {
  long: ['int'],
  float: ['int', 'long'],
  double: ['int', 'long', 'float'],
  string: ['bytes'],
  bytes: ['string'],
};

class Comparison {
  readonly problems: Incompatibility[] = [];
  /** Pairs of records under comparison; needed for recursive records. */
  private readonly open = new Map<RecordNode, Set<RecordNode>>();

  /** Treats the pairs of another comparison as already compared. */
  assume(pairs: ReadonlyMap<RecordNode, ReadonlySet<RecordNode>>): void {
    for (const [reader, writers] of pairs) this.open.set(reader, new Set(writers));
  }

  compare(reader: SchemaNode, writer: SchemaNode, path: string): void {
    if (writer.kind === 'union') {
      for (const branch of writer.branches) this.compare(reader, branch, path);
    } else if (reader.kind === 'union') {
      this.compareWithUnion(reader, writer, path);
    } else if (reader.kind !== writer.kind) {
      this.fail(path, `${describe(writer)} was written, but the reader has ${describe(reader)}`);
    } else {
      this.compareAlike(reader, writer, path);
    }
  }

  /** If only one branch can be meant, its own problems are more helpful than "no branch matches". */
  private compareWithUnion(reader: UnionNode, writer: SchemaNode, path: string): void {
    if (reader.branches.some((branch) => reads(branch, writer, this.open))) return;
    const alike = reader.branches.filter((branch) => branch.kind === writer.kind);
    if (alike.length === 1 && writer.kind !== 'primitive') {
      this.compare(alike[0]!, writer, path);
    } else {
      const branches = reader.branches.map(describe).join(', ');
      this.fail(path, `${describe(writer)} was written, but the reader has only ${branches}`);
    }
  }

  private compareAlike(reader: SchemaNode, writer: SchemaNode, path: string): void {
    switch (reader.kind) {
      case 'primitive':
        this.comparePrimitives(reader, writer as PrimitiveNode, path);
        break;
      case 'array':
        this.compare(reader.items, (writer as typeof reader).items, `${path}[]`);
        break;
      case 'map':
        this.compare(reader.values, (writer as typeof reader).values, `${path}{}`);
        break;
      case 'enum':
        this.compareEnums(reader, writer as EnumNode, path);
        break;
      case 'fixed':
        this.compareFixed(reader, writer as FixedNode, path);
        break;
      case 'record':
        this.compareRecords(reader, writer as RecordNode, path);
        break;
    }
  }

  private comparePrimitives(reader: PrimitiveNode, writer: PrimitiveNode, path: string): void {
    if (reader.type !== writer.type && !PROMOTIONS[reader.type]?.includes(writer.type)) {
      this.fail(path, `${describe(writer)} was written, but the reader has ${describe(reader)}`);
    } else {
      this.compareDecimals(reader, writer, path);
    }
  }

  private compareDecimals(reader: LogicalMark, writer: LogicalMark, path: string): void {
    if (reader.logicalType !== 'decimal' || writer.logicalType !== 'decimal') return;
    if (reader.scale !== writer.scale || (reader.precision ?? 0) < (writer.precision ?? 0)) {
      const decimalName = ({ precision, scale }: LogicalMark) => `decimal(${precision}, ${scale})`;
      this.fail(
        path,
        `${decimalName(writer)} was written, which ${decimalName(reader)} would read as another number or not at all`,
      );
    }
  }

  private compareEnums(reader: EnumNode, writer: EnumNode, path: string): void {
    this.compareNames(reader, writer, path);
    const unknown = writer.symbols.filter((symbol) => !reader.symbols.includes(symbol));
    if (unknown.length > 0 && !reader.hasDefault) {
      this.fail(
        path,
        `the symbols ${unknown.join(', ')} were written, but the reader has neither these nor a default`,
      );
    }
  }

  private compareFixed(reader: FixedNode, writer: FixedNode, path: string): void {
    this.compareNames(reader, writer, path);
    if (reader.size !== writer.size) {
      this.fail(path, `${writer.size} bytes were written, but the reader has ${reader.size}`);
    }
    this.compareDecimals(reader, writer, path);
  }

  private compareRecords(reader: RecordNode, writer: RecordNode, path: string): void {
    this.compareNames(reader, writer, path);
    const compared = this.open.get(reader) ?? new Set();
    if (compared.has(writer)) return;
    this.open.set(reader, compared.add(writer));
    for (const field of reader.fields) {
      const written = matchingField(field, writer);
      if (written !== undefined) this.compare(field.type, written.type, `${path}.${field.name}`);
      else if (!field.hasDefault) {
        this.fail(`${path}.${field.name}`, 'it was not written, but the reader has no default for it');
      }
    }
  }

  private compareNames(reader: Named, writer: Named, path: string): void {
    if (!namesMatch(reader, writer)) {
      this.fail(path, `"${writer.name}" was written, but the reader has "${reader.name}" without that alias`);
    }
  }

  private fail(path: string, message: string): void {
    if (!this.problems.some((one) => one.path === path && one.message === message)) {
      this.problems.push(Object.freeze({ path, message }));
    }
  }
}

/** Whether a branch can read the writer. Tried in a separate comparison, whose problems are dropped. */
function reads(
  branch: SchemaNode,
  writer: SchemaNode,
  open: ReadonlyMap<RecordNode, ReadonlySet<RecordNode>>,
): boolean {
  if (branch.kind === 'record' && writer.kind === 'record' && open.get(branch)?.has(writer)) return true;
  const trial = new Comparison();
  trial.assume(open);
  trial.compare(branch, writer, '');
  return trial.problems.length === 0;
}

interface Named {
  readonly name: string;
  readonly aliases: readonly string[];
}

function simpleName(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** Avro compares names without their namespaces, including the reader's aliases. */
function namesMatch(reader: Named, writer: Named): boolean {
  return simpleName(reader.name) === simpleName(writer.name) || reader.aliases.includes(writer.name);
}

function matchingField(field: FieldNode, writer: RecordNode): FieldNode | undefined {
  return writer.fields.find(({ name }) => name === field.name || field.aliases.includes(name));
}

function describe(node: SchemaNode): string {
  switch (node.kind) {
    case 'primitive':
      return node.logicalType === undefined ? node.type : `${node.logicalType} (${node.type})`;
    case 'union':
      return `a union of ${node.branches.map(describe).join(', ')}`;
    case 'array':
    case 'map':
      return `a ${node.kind}`;
    default:
      return `the ${node.kind} ${node.name}`;
  }
}
