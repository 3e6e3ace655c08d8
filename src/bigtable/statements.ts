import {
  DEFAULT_NAMESPACE,
  familyDescriptor,
  parseTableName,
  type TableDescriptor,
  tableDescriptor,
} from '../table/descriptor.js';
import { type GcRule, gcRuleOf, gcRuleText } from './gc-rules.js';
import { checkFamilyId, tableIdOf } from './names.js';

/** Tables as commands of `cbt` and as resources of Terraform. What Bigtable has no place for stands in them as comments. */

/** A table as it is to be made. */
export interface MadeTable {
  readonly descriptor: TableDescriptor;
  readonly splitKeys: readonly Uint8Array[];
}

/** Decided by the service, or by Rowan's readers, whatever a descriptor says. */
const KEPT_HERE = new Set(['name', 'families', 'versions', 'minVersions', 'ttl', 'metadata']);

/**
 * A script of `cbt createtable` commands for a shell.
 * @throws InvalidArgumentError, SchemaError for a name that Bigtable cannot have.
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
    lines.push('', ...comments, ...leftOut(descriptor));
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
 * Resources of Terraform's provider `google`: a `google_bigtable_table` for each table and a `google_bigtable_gc_policy` for each family
 * that is collected. The instance is the variable `bigtable_instance`.
 * @throws InvalidArgumentError, SchemaError for a name that Bigtable cannot have.
 */
export function terraformSource(tables: readonly MadeTable[]): string {
  const lines = [...HEADER, '', 'variable "bigtable_instance" {', '  type = string', '}'];
  for (const table of tables) {
    const { descriptor } = table;
    const id = tableIdOf(descriptor.name);
    const label = labelOf(id);
    const { given, comments } = splitsOf(table, (key) => PRINTABLE.test(key));
    lines.push('', ...comments, ...leftOut(descriptor));
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
  '# What Rowan keeps of entities beside a table (rowan_tables) is not in here: rowan schema apply writes it.',
];

/** Texts that stand in a row of arguments, and in Terraform, as they are. */
const PRINTABLE = /^[\x21-\x7e]+$/;

/** The split keys that can be written down, and what is said of the others. */
function splitsOf(
  { splitKeys }: MadeTable,
  isGiven: (key: string) => boolean,
): { readonly given: readonly string[]; readonly comments: readonly string[] } {
  const keys = splitKeys.map((key) => Buffer.from(key).toString('latin1'));
  const given = keys.filter(isGiven);
  const missing = keys.length - given.length;
  if (missing === 0) return { given, comments: [] };
  const comment = `# ${missing} of ${keys.length} split keys cannot be written as text here: rowan schema apply makes the table with all of them.`;
  return { given, comments: [comment] };
}

/** What the descriptor says and Bigtable has no place for, a comment for each part. */
function leftOut(descriptor: TableDescriptor): string[] {
  const { name, families, ...options } = descriptor;
  const out: string[] = [];
  const { namespace } = parseTableName(name);
  if (namespace !== DEFAULT_NAMESPACE)
    out.push(`# The namespace ${namespace} is part of the name; rowan schema apply notes it.`);
  const told = (place: string, of: object, defaults: object): void => {
    const names = differing(of, defaults);
    if (names.length > 0)
      out.push(`# Left out, for Bigtable has no place for it: ${place}${names.join(', ')}.`);
  };
  told('', options, tableDescriptor(name, { f: {} }));
  for (const family of families) told(`${family.name} `, family, familyDescriptor(family.name));
  return out;
}

function differing(of: object, defaults: object): string[] {
  const other = defaults as Readonly<Record<string, unknown>>;
  return Object.entries(of)
    .filter(([name, value]) => !KEPT_HERE.has(name) && JSON.stringify(value) !== JSON.stringify(other[name]))
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
}

/** A rule in the words of Terraform's provider. */
function ruleJson(rule: GcRule): object {
  if (rule.maxNumVersions) return { max_version: rule.maxNumVersions };
  if (rule.maxAge) return { max_age: `${rule.maxAge.seconds}s` };
  const [mode, rules] = rule.union ? ['union', rule.union.rules] : ['intersection', rule.intersection?.rules];
  return { mode, rules: (rules ?? []).map(ruleJson) };
}

/** A word of a POSIX shell. */
function quoted(text: string): string {
  return /^[\w=:.,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A string of Terraform, in which `${` and `%{` begin templates. */
function literal(text: string): string {
  return JSON.stringify(text).replace(/[$%](?=\{)/g, '$&$&');
}

/** A name of a resource. Two tables of one name but for the signs that resources cannot have would share it. */
function labelOf(id: string): string {
  return id.replace(/\W/g, (sign) => (sign === '-' ? '-' : '_')).replace(/^(?=\d)/, '_');
}
