/**
 * Migrations: plans as files in the repository, each made from the declarations of the migration before it
 * (docs/migrations.md). A migration is a folder `20261126091500_add_orders` with
 *
 * - `plan.json`: the steps, what is allowed of them, and the checksum of the migration before;
 * - `plan.txt`: the same for reviewers;
 * - `schema.json`: the snapshot of the declarations after it.
 */

import {
  type Dirent,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { InvalidArgumentError, RowanError, SchemaError } from '../../errors.js';
import { makeFolder } from '../../folders.js';
import type { Schema } from '../../schema/index.js';
import { describe } from '../../table/checks.js';
import { checkSnapshot, type OwnTables, snapshotOf } from '../plan/check-snapshot.js';
import { canonicalJson, shortHash } from '../plan/plan.js';
import { allowanceOf, describeChange, describeSteps } from '../plan/shell-script.js';
import { describeSnapshotDifferences } from '../plan/snapshot-entities.js';
import { type Allowance, admit, type SchemaStep } from '../plan/types.js';

/** FROZEN: the format of `plan.json`. */
const FORMAT = 1;
const PLAN = 'plan.json';
const TEXT = 'plan.txt';
const SNAPSHOT = 'schema.json';
const NAME = /^\d{14}_[a-z0-9_]+$/;
/** The snapshot before the first migration. */
export const NO_TABLES = '{"format":2,"tables":[],"schemas":{}}';

/** A migration as it stands in its files. */
export interface Migration {
  /** The name of its folder: the time in UTC, and what it is about. */
  readonly name: string;
  /** The checksum of the migration before it; undefined for the first. */
  readonly previous?: string;
  /** The steps from the declarations before to those after it, and steps that earlier migrations held back. */
  readonly steps: readonly SchemaStep[];
  /** The costly steps that reviewers have allowed. All others of their classes are held back. */
  readonly allow: readonly Allowance[];
  /** The text of `schema.json`. */
  readonly snapshot: string;
  /** Covers all of the above but the name. */
  readonly checksum: string;
}

type Content = Pick<Migration, 'previous' | 'steps' | 'allow' | 'snapshot'>;

function checksumOf({ previous, steps, allow, snapshot }: Content): string {
  const essential = steps.map(({ why, ...step }) => step);
  return shortHash(canonicalJson({ previous, steps: essential, allow, snapshot: JSON.parse(snapshot) }));
}

/**
 * The migrations of a folder, oldest first; empty if the folder does not exist.
 * @throws InvalidArgumentError on a file that is no plan; SchemaError when a migration was not made after the one that
 * stands before it; RowanError `ERR_IO` when the folder cannot be read.
 */
export function readMigrations(folder: string): Migration[] {
  if (typeof folder !== 'string' || folder === '')
    throw new InvalidArgumentError(`The folder of migrations is ${describe(folder)}. Give its path.`);
  if (!existsSync(folder)) return [];
  const names = entriesOf(folder)
    .filter((entry) => entry.isDirectory() && NAME.test(entry.name))
    .map((entry) => entry.name)
    .sort();
  const migrations = names.map((name) => readMigration(folder, name));
  for (const [at, { name, previous }] of migrations.entries()) {
    const before = migrations[at - 1];
    if (previous === before?.checksum) continue;
    const stands = before === undefined ? 'it is the first of the folder' : `${before.name} stands before it`;
    throw new SchemaError(
      `${join(folder, name)} was made after ${previous === undefined ? 'no other migration' : `a migration with the checksum ${previous}`}, but ${stands}${before === undefined ? '' : ` with the checksum ${before.checksum}`}. ` +
        'Restore what was changed or removed. If two branches were merged: remove the migration that no database has applied, and make it again with rowan migrate dev.',
      [`${name}: the migration before it is another one`],
    );
  }
  return migrations;
}

/**
 * The migrations of a folder that must exist: nothing was deployed from another one.
 * @throws InvalidArgumentError when the folder does not exist, and as {@link readMigrations}.
 */
export function readExistingMigrations(folder: string): Migration[] {
  const migrations = readMigrations(folder);
  if (existsSync(folder)) return migrations;
  throw new InvalidArgumentError(
    `The folder of migrations ${resolve(folder)} does not exist. Give the folder of your migrations (--dir), or make the first one with rowan migrate dev.`,
  );
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (cause) {
    throw new RowanError(
      'ERR_IO',
      `The migrations in ${folder} cannot be read: ${(cause as Error).message}. Give a folder that you may read.`,
      { cause },
    );
  }
}

function readMigration(folder: string, name: string): Migration {
  const file = join(folder, name, PLAN);
  try {
    const read = JSON.parse(readFileSync(file, 'utf8')) as Content & { readonly format: number };
    if (read.format !== FORMAT)
      throw new Error(`its format is ${String(read.format)}, but this version of Rowan reads only ${FORMAT}`);
    if (!Array.isArray(read.steps) || !Array.isArray(read.allow))
      throw new Error('"steps" and "allow" must be arrays');
    const { previous, steps, allow } = read;
    const content = {
      ...(previous !== undefined && { previous }),
      steps,
      allow,
      snapshot: readFileSync(join(folder, name, SNAPSHOT), 'utf8'),
    };
    return { name, ...content, checksum: checksumOf(content) };
  } catch (cause) {
    throw new InvalidArgumentError(
      `The migration ${join(folder, name)} cannot be read: ${(cause as Error).message}. Restore it from the repository.`,
      { cause },
    );
  }
}

/** The input of a new migration. */
export interface MigrationRequest {
  readonly declared: Schema;
  /** The tables that a schema needs beside those of its declarations. */
  readonly own: OwnTables;
  /** Its subject, in a few words. Default: the first step. */
  readonly title?: string;
  /** Costly steps that are allowed: of this migration, and of earlier ones that held them back. */
  readonly allow?: readonly Allowance[];
  /** The time, in ms since 1970. */
  readonly now: number;
}

/**
 * Makes the migration from the last one of the folder to the declarations, and writes its files. A crash leaves no
 * part of it. Undefined: the declarations are those of the last migration, and nothing that was held back is allowed.
 * @throws SchemaError on contradictions, for which there are no steps; InvalidArgumentError on an allowance that no
 * step needs; RowanError `ERR_IO` when the files cannot be written.
 */
export async function makeMigration(
  folder: string,
  { declared, own, title, allow = [], now }: MigrationRequest,
): Promise<Migration | undefined> {
  const migrations = readMigrations(folder);
  const last = migrations.at(-1);
  const found = await checkSnapshot(declared, own, last?.snapshot ?? NO_TABLES);
  if (found.contradictions.length > 0) {
    const lines = found.contradictions.map(({ table, message }) => `Table "${table}": ${message}`);
    throw new SchemaError(`No migration was made:\n${lines.join('\n')}`, lines);
  }
  const ids = new Set(found.steps.map(({ id }) => id));
  const carried = heldSteps(migrations).filter((step) => !ids.has(step.id) && isAllowed(step, allow));
  if (found.same && carried.length === 0) return undefined;
  const steps = [...carried, ...found.steps];
  admit({ steps }, allow);
  const content: Content = {
    ...(last !== undefined && { previous: last.checksum }),
    steps,
    allow,
    snapshot: snapshotOf(declared, own, last?.snapshot),
  };
  const name = nameOf(title ?? steps[0]?.id ?? 'declarations', last?.name, now);
  const plan = { ...found, steps, checksum: checksumOf(content) };
  const undeclared = found.undeclared.map(
    (table) => `Table "${table}" is no longer declared. No step removes it.\n`,
  );
  write(folder, name, {
    [PLAN]: `${JSON.stringify({ format: FORMAT, previous: last?.checksum, allow, steps }, null, 2)}\n`,
    [TEXT]: `${describeSteps(plan, allow, 'No step changes the tables.')}${describeSnapshotDifferences(found.differences)}${undeclared.join('')}${describeBackOuts(steps)}`,
    [SNAPSHOT]: content.snapshot,
  });
  return { name, ...content, checksum: plan.checksum };
}

/** The steps that no migration allows, by the last migration that has each. */
function heldSteps(migrations: readonly Migration[]): SchemaStep[] {
  const held = new Map<string, SchemaStep>();
  for (const { steps, allow } of migrations) {
    for (const step of steps) held.delete(step.id);
    for (const step of steps.filter((each) => !isAllowed(each, allow))) held.set(step.id, step);
  }
  return [...held.values()];
}

export function isAllowed(step: SchemaStep, allow: readonly Allowance[]): boolean {
  const fitting = allow.filter((each) => each === allowanceOf(step));
  return admit({ steps: [step] }, fitting).held.length === 0;
}

/** The time never stands before that of the last migration, whatever the clock says: the order of the names is that of the files. */
function nameOf(title: string, last: string | undefined, now: number): string {
  const words = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 60);
  const time = Number(new Date(now).toISOString().replace(/\D/g, '').slice(0, 14));
  const after = last === undefined ? 0 : Number(last.slice(0, 14)) + 1;
  return `${String(Math.max(time, after)).padStart(14, '0')}_${words === '' ? 'migration' : words}`;
}

function write(folder: string, name: string, files: Readonly<Record<string, string>>): void {
  const unfinished = join(folder, `.${name}.tmp`);
  try {
    makeFolder(unfinished);
    for (const [file, text] of Object.entries(files)) writeFileSync(join(unfinished, file), text);
    renameSync(unfinished, join(folder, name));
  } catch (cause) {
    // What could not be made cannot always be removed either.
    if (existsSync(unfinished)) rmSync(unfinished, { recursive: true, force: true });
    const why =
      cause instanceof RowanError
        ? cause.message
        : `${(cause as Error).message}. Check the path, and that you may write there.`;
    throw new RowanError('ERR_IO', `The migration ${join(folder, name)} cannot be written: ${why}`, {
      cause,
    });
  }
}

/** How each step is undone, or why it is not. */
export type BackOut =
  | {
      readonly step: SchemaStep;
      readonly kind: 'set' | 'drop-family' | 'drop-index';
    }
  | { readonly step: SchemaStep; readonly kind: 'none'; readonly why: string };

const NO_BACK_OUT: Readonly<Partial<Record<SchemaStep['kind'], string>>> = {
  'create-namespace': 'the namespace stays; it does no harm',
  'create-table': 'the table stays, with its rows; drop it in the shell if nothing uses it',
  stamp: 'the stamp stays; programs of the release before read it',
  'register-schema': 'the schema stays registered',
  split: 'the regions stay; merge them in the shell',
  compact: 'files are rewritten as the options say',
  'drop-family': 'its cells are lost; restore a backup',
  'drop-column': 'its cells are lost; restore a backup',
  retire: 'its rows are lost; restore a backup',
  'move-columns': 'the values stay at their new places; move them back by a migration with `was`',
  'upgrade-rows': 'rows keep their version',
  'drop-index': 'declare the index again: the next migration builds it',
};

/** The back-outs of steps, in the order in which they are run: the last step first. */
export function backOutsOf(steps: readonly SchemaStep[]): BackOut[] {
  return steps.toReversed().map((step): BackOut => {
    if (step.kind === 'set') return { step, kind: 'set' };
    if (step.kind === 'add-family') return { step, kind: 'drop-family' };
    if (step.kind === 'build-index') return { step, kind: 'drop-index' };
    return { step, kind: 'none', why: NO_BACK_OUT[step.kind] ?? 'it has none' };
  });
}

function describeBackOuts(steps: readonly SchemaStep[]): string {
  if (steps.length === 0) return '';
  const lines = backOutsOf(steps).map(({ step, ...out }) => {
    if (out.kind === 'none') return `    ${step.id}: none, ${out.why}`;
    if (out.kind === 'set') {
      const { from: to, to: from, ...set } = step;
      return `    ${step.id}: ${describeChange({ ...set, from, to })}`;
    }
    return `    ${step.id}: ${out.kind}`;
  });
  return `Back-outs (rowan migrate undo):\n${lines.join('\n')}\n`;
}
