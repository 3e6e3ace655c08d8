import {
  DEFAULT_NAMESPACE,
  familyDescriptor,
  parseTableName,
  type TableDescriptor,
  tableDescriptor,
} from '../table/descriptor.js';
import { type GcRule, gcRuleOf, gcRuleText } from './gc-rules.js';
import { checkFamilyId, tableIdOf } from './names.js';

/**
 * Generates `cbt` commands and Terraform resources for tables. Options without a counterpart in Bigtable appear as
 * comments.
 */

/** A table to create. */
interface MadeTable {
  readonly descriptor: TableDescriptor;
  readonly splitKeys: readonly Uint8Array[];
}

/** Options that the service or Rowan's readers implement for every table, whatever its descriptor has. */
const KEPT_HERE = new Set(['name', 'families', 'versions', 'minVersions', 'ttl', 'metadata']);

/**
 * Generates a shell script of `cbt createtable` commands.
 * @throws InvalidArgumentError, SchemaError for a name that Bigtable does not allow.
 */
export function cbtScript(tables: readonly MadeTable[]): string {
  const lines = [...HEADER];
  for (const table of tables) {
    const { descriptor } = table;
    const families = descriptor.families.map((family) => {
      checkFamilyId(descriptor.name, family.name);
      return `${family.name}:${gcRuleText(gcRuleOf(family))}`;
    });
    const { given, comments } = splitsOf(table, (key) => PRINTABLE.test(key) && !key.includes(','));
    lines.push('', ...comments, ...omittedOptions(descriptor));
    const words = [
      'cbt',
      'createtable',
      tableIdOf(descriptor.name),
      quoted(`families=${families.join(',')}`),
    ];
    if (given.length > 0) words.push(quoted(`splits=${given.join(',')}`));
    lines.push(words.join(' '));
  }
  return `${lines.join('\n')}\n`;
}

/**
 * Generates resources of Terraform's provider `google`: a `google_bigtable_table` for each table and a
 * `google_bigtable_gc_policy` for each family with garbage collection. The instance is the variable
 * `bigtable_instance`.
 * @throws InvalidArgumentError, SchemaError for a name that Bigtable does not allow.
 */
export function terraformSource(tables: readonly MadeTable[]): string {
  const lines = [...HEADER, '', 'variable "bigtable_instance" {', '  type = string', '}'];
  for (const table of tables) {
    const { descriptor } = table;
    const id = tableIdOf(descriptor.name);
    const label = labelOf(id);
    const { given, comments } = splitsOf(table, (key) => PRINTABLE.test(key));
    lines.push('', ...comments, ...omittedOptions(descriptor));
    lines.push(`resource "google_bigtable_table" "${label}" {`);
    lines.push(`  name                = ${literal(id)}`, '  instance_name       = var.bigtable_instance');
    lines.push('  deletion_protection = "PROTECTED"');
    if (given.length > 0) lines.push(`  split_keys          = [${given.map(literal).join(', ')}]`);
    for (const { name } of descriptor.families) {
      checkFamilyId(descriptor.name, name);
      lines.push('', '  column_family {', `    family = ${literal(name)}`, '  }');
    }
    lines.push('}');
    for (const family of descriptor.families) {
      const rule = gcRuleOf(family);
      if (rule === undefined) continue;
      const rules = rule.union || rule.intersection ? ruleJson(rule) : { rules: [ruleJson(rule)] };
      lines.push('', `resource "google_bigtable_gc_policy" "${label}_${labelOf(family.name)}" {`);
      lines.push('  instance_name = var.bigtable_instance');
      lines.push(`  table         = google_bigtable_table.${label}.name`);
      lines.push(`  column_family = ${literal(family.name)}`);
      lines.push(`  gc_rules      = jsonencode(${JSON.stringify(rules)})`, '}');
    }
  }
  return `${lines.join('\n')}\n`;
}

const HEADER = [
  '# The metadata that Rowan keeps of entities (rowan_tables) is not included: rowan schema apply writes it.',
];

/** Strings that need no quoting as an argument or in Terraform. */
const PRINTABLE = /^[\x21-\x7e]+$/;

/** The split keys that can be expressed as text, and a comment about the others. */
function splitsOf(
  { splitKeys }: MadeTable,
  isDeclared: (key: string) => boolean,
): { readonly given: readonly string[]; readonly comments: readonly string[] } {
  const keys = splitKeys.map((key) => Buffer.from(key).toString('latin1'));
  const given = keys.filter(isDeclared);
  const missing = keys.length - given.length;
  if (missing === 0) return { given, comments: [] };
  const comment = `# ${missing} of ${keys.length} split keys cannot be written as text here: rowan schema apply creates the table with all of them.`;
  return { given, comments: [comment] };
}

/** Comments on the options of a descriptor without a counterpart in Bigtable. */
function omittedOptions(descriptor: TableDescriptor): string[] {
  const { name, families, ...options } = descriptor;
  const out: string[] = [];
  const { namespace } = parseTableName(name);
  if (namespace !== DEFAULT_NAMESPACE)
    out.push(`# The namespace ${namespace} is part of the name; rowan schema apply records it.`);
  const noteOmitted = (place: string, of: object, defaults: object): void => {
    const names = differing(of, defaults);
    if (names.length > 0) out.push(`# Omitted, not supported by Bigtable: ${place}${names.join(', ')}.`);
  };
  noteOmitted('', options, tableDescriptor(name, { f: {} }));
  for (const family of families) noteOmitted(`${family.name} `, family, familyDescriptor(family.name));
  return out;
}

function differing(of: object, defaults: object): string[] {
  const other = defaults as Readonly<Record<string, unknown>>;
  return Object.entries(of)
    .filter(([name, value]) => !KEPT_HERE.has(name) && JSON.stringify(value) !== JSON.stringify(other[name]))
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
}

/** A garbage-collection rule for Terraform's provider. */
function ruleJson(rule: GcRule): object {
  if (rule.maxNumVersions) return { max_version: rule.maxNumVersions };
  if (rule.maxAge) return { max_age: `${rule.maxAge.seconds}s` };
  const [mode, rules] = rule.union ? ['union', rule.union.rules] : ['intersection', rule.intersection?.rules];
  return { mode, rules: (rules ?? []).map(ruleJson) };
}

/** A quoted word for a POSIX shell. */
function quoted(text: string): string {
  return /^[\w=:.,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A Terraform string, in which `${` and `%{` begin templates. */
function literal(text: string): string {
  return JSON.stringify(text).replace(/[$%](?=\{)/g, '$&$&');
}

/** A resource name. Two tables whose names differ only in characters that resource names lack would share it. */
function labelOf(id: string): string {
  return id.replace(/\W/g, (sign) => (sign === '-' ? '-' : '_')).replace(/^(?=\d)/, '_');
}
