import type { ShellCommand } from '../command.js';
import { DDL } from './ddl.js';
import { GENERAL } from './general.js';
import { NAMESPACES } from './namespaces.js';
import { READS } from './reads.js';
import { SNAPSHOTS } from './snapshots.js';
import { TABLES } from './tables.js';
import { TOOLS } from './tools.js';
import { WRITES } from './writes.js';

/** Every command of the shell. */
export const COMMANDS: readonly ShellCommand[] = [
  ...GENERAL,
  ...TABLES,
  ...DDL,
  ...NAMESPACES,
  ...READS,
  ...WRITES,
  ...TOOLS,
  ...SNAPSHOTS,
];
