/** A shell that is typed into: lines with history and completion, statements of several lines. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { ShellExit } from './ruby/index.js';
import type { ShellOutcome, ShellSession } from './session.js';

const HISTORY_LINES = 1000;

export interface TerminalOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Whether a person sits there: prompts are printed, and lines can be edited. */
  readonly isTerminal: boolean;
  /** The file in which typed lines are remembered; undefined: none. */
  readonly history?: string | undefined;
}

/** The lines of an input, one at a time; questions of commands and statements share them. */
export class Terminal {
  private readonly lines: string[] = [];
  private readonly waiting: ((line: string | undefined) => void)[] = [];
  private reader: Interface | undefined;
  private ended = false;
  private completer: (word: string) => string[] = () => [];

  constructor(private readonly options: TerminalOptions) {}

  /** A line without its end; undefined when there is none any more. */
  ask = (prompt = ''): Promise<string | undefined> => {
    const reader = this.open();
    const line = this.lines.shift();
    if (line !== undefined || this.ended) return Promise.resolve(line);
    if (this.options.isTerminal) {
      reader.setPrompt(prompt);
      reader.prompt();
    }
    return new Promise((resolve) => this.waiting.push(resolve));
  };

  complete(completer: (word: string) => string[]): void {
    this.completer = completer;
  }

  close(): void {
    this.reader?.close();
  }

  private open(): Interface {
    if (this.reader !== undefined) return this.reader;
    const { input, output, isTerminal, history } = this.options;
    const reader = createInterface({
      input,
      ...(isTerminal ? { output } : {}),
      terminal: isTerminal,
      historySize: HISTORY_LINES,
      history: history === undefined ? [] : readHistory(history),
      completer: (line: string): [string[], string] => {
        const word = /[A-Za-z_]\w*$/.exec(line)?.[0] ?? '';
        return [this.completer(word), word];
      },
    });
    reader.on('line', (line) => {
      const resolve = this.waiting.shift();
      if (resolve === undefined) this.lines.push(line);
      else resolve(line);
    });
    reader.on('history', (lines: string[]) => history !== undefined && writeHistory(history, lines));
    // Ctrl-C gives the line up, and not the shell.
    reader.on('SIGINT', () => {
      output.write('\n');
      reader.write(null, { ctrl: true, name: 'u' });
      this.waiting.shift()?.('\x03');
    });
    reader.on('close', () => {
      this.ended = true;
      for (const resolve of this.waiting.splice(0)) resolve(undefined);
    });
    this.reader = reader;
    return reader;
  }
}

/** Runs statements until the input ends or `exit` is said. */
export async function runTyped(
  session: ShellSession,
  terminal: Terminal,
  write: (text: string) => void,
  isTerminal: boolean,
): Promise<ShellOutcome> {
  terminal.complete((word) => session.completions(word));
  if (isTerminal) write('Rowan, with the commands of the HBase shell. help lists them, exit ends.\n');
  let open = '';
  for (let line = 1, first = 1; ; line++) {
    session.at(line);
    const typed = await terminal.ask(session.prompt(open !== ''));
    if (typed === undefined) {
      if (open.trim() !== '') session.incomplete(open, first);
      return session.outcome();
    }
    if (typed === '\x03') {
      open = '';
      continue;
    }
    if (open === '') first = line;
    open += `${typed}\n`;
    try {
      if (await session.run(open, { line: first, column: 1 })) open = '';
    } catch (error) {
      if (error instanceof ShellExit) return { code: error.code };
      throw error;
    }
    if (session.outcome().code !== 0) return session.outcome();
  }
}

function readHistory(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    // None was written yet.
    return [];
  }
}

function writeHistory(path: string, lines: readonly string[]): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${lines.slice(0, HISTORY_LINES).join('\n')}\n`, { mode: 0o600 });
  } catch {
    // A history that cannot be kept keeps nobody from work.
  }
}
