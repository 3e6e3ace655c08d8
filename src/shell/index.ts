export type { EntityView, RowInterval, ShellIo } from './command.js';
export { type ShellOptions, type ShellOutcome, ShellSession } from './session.js';
export { runTyped, Terminal, type TerminalOptions } from './terminal.js';
