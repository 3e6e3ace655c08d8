export type { ShellIo } from './context.js';
export type { EntityView, RowInterval } from './entities.js';
export { type ShellOptions, type ShellOutcome, ShellSession } from './session.js';
export { runTyped, Terminal, type TerminalOptions } from './terminal.js';
