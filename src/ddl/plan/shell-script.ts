import { fromHex } from '../../bytes/index.js';
import { type FamilyDescriptor, FOREVER, type TableDescriptor } from '../../table/index.js';
import {
  createTableStatement,
  familyClause,
  rubyBytes,
  rubyString,
  rubyValue,
  SHELL_FAMILY_OPTIONS,
  SHELL_TABLE_OPTIONS,
} from '../create-table.js';
import { type Admission, type Allowance, admit, type SchemaPlan, type SchemaStep } from './types.js';

// — Formats plans for people.

/** Formats the plan as `rowan schema plan` prints it: for each step one line, and one with the reason. */
export function describePlan(plan: SchemaPlan, allow: readonly Allowance[] = []): string {
  return describeSteps(plan, allow, 'Tables match the declarations.');
}

/** The same, with a line of the caller for a plan without steps: what it was compared with. */
export function describeSteps(plan: SchemaPlan, allow: readonly Allowance[], none: string): string {
  const { steps, unmanaged, contradictions, checksum } = plan;
  const held = new Set(admit(plan, allow).held);
  const lines: string[] = [];
  if (steps.length === 0 && contradictions.length === 0) lines.push(none);
  for (const step of steps) {
    lines.push(`${held.has(step) ? '-' : '+'} ${step.id}  [${step.class}]`);
    const change = describeChange(step);
    if (change !== '') lines.push(`    ${change}`);
    lines.push(`    ${step.why}`);
    if (held.has(step) && step.class !== 'manual') lines.push(`    Waits for --allow ${allowanceOf(step)}`);
  }
  for (const { table, message } of contradictions) lines.push(`! ${table}: ${message}`);
  if (unmanaged.length > 0) lines.push('Not declared, and left as it is:');
  for (const { table, family, name, value } of unmanaged) {
    lines.push(`    ${table}${family === undefined ? '' : `/${family}`} ${name} ${value}`.trimEnd());
  }
  if (steps.length > 0 || contradictions.length > 0) lines.push(`plan ${checksum}`);
  return `${lines.join('\n')}\n`;
}

/** The allowance that lets a step be applied. */
export function allowanceOf(step: SchemaStep): string {
  return step.class === 'data-loss' ? `data-loss:${step.id}` : step.class;
}

/** Returns e.g. "3 -> 5" for options; empty for steps whose id says it. */
export function describeChange({ kind, option, from, to }: SchemaStep): string {
  return kind === 'set' ? `${printed(option, from)} -> ${printed(option, to)}` : '';
}

function printed(option: string | undefined, value: unknown): string {
  if (value === undefined) return '(not set)';
  return String(option === 'ttl' ? shownTtl(value) : value);
}

/** A time to live as HBase's shell prints it: a family without one has the greatest number. */
export function shownTtl(value: unknown): unknown {
  return value === FOREVER ? 'FOREVER' : value;
}

/**
 * Translates the admitted steps of a plan into HBase shell statements, with regard to the pitfalls of `alter`
 * (hbase-shell `admin.rb`, `alter`). Other steps are comments.
 */
export function planScript(plan: SchemaPlan, allow: readonly Allowance[] = []): string {
  const { admitted, held }: Admission = admit(plan, allow);
  const lines = [`# Plan ${plan.checksum} of rowan schema.`];
  for (const { table, message } of plan.contradictions) lines.push(comment(`${table}: ${message}`));
  const altered = new Set<string>();
  for (const step of admitted) {
    const { kind, table } = step;
    if (isAlter(step)) {
      if (altered.has(table)) continue;
      altered.add(table);
      lines.push(
        ...alterStatements(
          table,
          admitted.filter((each) => isAlter(each) && each.table === table),
        ),
      );
    } else if (kind === 'create-namespace') lines.push(`create_namespace ${rubyString(table)}`);
    else if (kind === 'create-table') lines.push(createStatement(step));
    else if (kind === 'split') lines.push(splitStatement(step));
    else if (kind === 'compact')
      lines.push(`major_compact ${rubyString(table)}, ${rubyString(step.family!)}`);
    else if (kind === 'move-columns')
      lines.push(comment(`${step.id}: done by rowan schema apply, or database.schema.moveColumns()`));
    else if (kind === 'upgrade-rows')
      lines.push(comment(`${step.id}: done by rowan schema apply, or database.schema.upgradeRows()`));
    else if (kind === 'retire' || kind === 'drop-column')
      lines.push(comment(`${step.id}: done by rowan schema apply`));
    else if (kind === 'build-index' || kind === 'drop-index')
      lines.push(comment(`${step.id}: done by rowan schema apply, or rowan index`));
    else lines.push(comment(`${step.id}: done by programs when they open the database`));
  }
  for (const step of held) {
    const change = describeChange(step);
    lines.push(
      comment(`Held back: ${step.id}${change === '' ? '' : ` (${change})`} [${step.class}] ${step.why}`),
      ...(step.class === 'manual' ? [] : [comment(`  Included by --allow ${allowanceOf(step)}`)]),
    );
  }
  return `${lines.join('\n')}\n`;
}

function comment(text: string): string {
  return `# ${text.replace(/\p{Cc}+/gu, ' ')}`;
}

function isAlter({ kind }: SchemaStep): boolean {
  return kind === 'add-family' || kind === 'drop-family' || kind === 'set' || kind === 'stamp';
}

function createStatement({ to }: SchemaStep): string {
  const { descriptor, splitKeys } = to as { descriptor: TableDescriptor; splitKeys: string[] };
  return createTableStatement({ descriptor, splitKeys: splitKeys.map(fromHex) });
}

/** How many seconds to wait for a region that is being split, or must be compacted before it can be split again. */
const SPLIT_PATIENCE = 600;

/** The master refuses a split while another one is running, and `split` does not wait for it. */
function splitStatement({ table, to }: SchemaStep): string {
  const split = `split ${rubyString(table)}, ${rubyBytes(fromHex(to as string))}`;
  return `tries = 0; begin; ${split}; rescue Exception; raise if (tries += 1) > ${SPLIT_PATIENCE}; sleep 1; retry; end`;
}

/**
 * One `alter` with a clause for each family and one for the table, since each statement reopens every region; plus
 * statements that must precede or follow it.
 */
function alterStatements(table: string, steps: readonly SchemaStep[]): string[] {
  const name = rubyString(table);
  const before: string[] = [];
  const clauses: string[] = [];
  const offline = steps.some((step) => step.class === 'offline');
  for (const step of steps) {
    if (step.kind === 'add-family') clauses.push(familyClause(step.to as FamilyDescriptor));
    else if (step.kind === 'drop-family')
      clauses.push(`{NAME => ${rubyString(step.family!)}, METHOD => 'delete'}`);
  }
  for (const [family, sets] of byFamily(steps)) {
    const minimum = sets.find(
      ({ option, from, to }) => option === 'minVersions' && (to as number) < (from as number),
    );
    const fewer = sets.some(
      ({ option, from, to }) => option === 'versions' && (to as number) < (from as number),
    );
    // The shell sets VERSIONS before MIN_VERSIONS, and refuses a value below it.
    const first = minimum !== undefined && fewer ? minimum : undefined;
    if (first !== undefined) before.push(`alter ${name}, ${familySetClause(family, [first])}`);
    const rest = sets.filter((set) => set !== first);
    if (rest.length > 0) clauses.push(familySetClause(family, rest));
  }
  const own = steps.filter(
    ({ kind, family }) => kind === 'stamp' || (kind === 'set' && family === undefined),
  );
  const given = own.filter(({ to }) => to !== undefined);
  if (given.length > 0) clauses.push(`{${settingsOf(given, tableOption).join(', ')}}`);
  for (const step of own.filter(({ to }) => to === undefined)) clauses.push(unsetClause(step));
  const alter = clauses.length === 0 ? [] : [`alter ${[name, ...clauses].join(',\n  ')}`];
  return offline ? [`disable ${name}`, ...before, ...alter, `enable ${name}`] : [...before, ...alter];
}

function byFamily(steps: readonly SchemaStep[]): Map<string, SchemaStep[]> {
  const families = new Map<string, SchemaStep[]>();
  for (const step of steps) {
    if (step.kind !== 'set' || step.family === undefined) continue;
    families.set(step.family, [...(families.get(step.family) ?? []), step]);
  }
  return families;
}

function familySetClause(family: string, sets: readonly SchemaStep[]): string {
  return `{${[`NAME => ${rubyString(family)}`, ...settingsOf(sets, familyOption)].join(', ')}}`;
}

/** Returns `OPTION => value` for each step, with the entries of CONFIGURATION and METADATA grouped; nil removes one. */
function settingsOf(sets: readonly SchemaStep[], one: (step: SchemaStep) => string): string[] {
  const texts: string[] = [];
  const gathered = new Map<string, string[]>();
  for (const step of sets) {
    const option = step.kind === 'stamp' ? `metadata.${step.option}` : step.option!;
    const [kind, ...rest] = option.split('.');
    if (rest.length === 0) {
      texts.push(one(step));
      continue;
    }
    const value = step.to === undefined ? 'nil' : rubyString(String(step.to));
    const entries = gathered.get(kind!) ?? [];
    gathered.set(kind!, [...entries, `${rubyString(rest.join('.'))} => ${value}`]);
  }
  for (const [kind, entries] of gathered) texts.push(`${kind.toUpperCase()} => {${entries.join(', ')}}`);
  return texts;
}

function familyOption({ option, to }: SchemaStep): string {
  const name = SHELL_FAMILY_OPTIONS[option as keyof typeof SHELL_FAMILY_OPTIONS];
  const value = option === 'ttl' && to === FOREVER ? 'FOREVER' : (to as string | number | boolean);
  return `${name} => ${rubyValue(value)}`;
}

/** Numbers are quoted, as in `create`. */
function tableOption({ option, to }: SchemaStep): string {
  const name = SHELL_TABLE_OPTIONS[option as keyof typeof SHELL_TABLE_OPTIONS];
  return `${name} => ${typeof to === 'number' ? `'${to}'` : rubyValue(to as string | boolean)}`;
}

function unsetClause({ option }: SchemaStep): string {
  const [kind, ...rest] = option!.split('.');
  if (kind === 'configuration') {
    return `{METHOD => 'table_conf_unset', NAME => ${rubyString(rest.join('.'))}}`;
  }
  const name =
    kind === 'metadata' ? rest.join('.') : SHELL_TABLE_OPTIONS[option as keyof typeof SHELL_TABLE_OPTIONS];
  return `{METHOD => 'table_att_unset', NAME => ${rubyString(name)}}`;
}
