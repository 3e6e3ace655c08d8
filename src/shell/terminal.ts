/** An interactive shell: lines with history and completion, and statements of several lines. */

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { makeFolder } from '../folders.js';
import { ShellExit } from './ruby/index.js';
import { OpenStatement, type ShellOutcome, type ShellSession } from './session.js';

const HISTORY_LINES = 1000;

export interface TerminalOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Whether the input is a terminal: then prompts are printed and lines can be edited. */
  readonly isTerminal: boolean;
  /** The file for the history; undefined: none. */
  readonly history?: string | undefined;
}

/** The lines of an input, one at a time, shared by statements and questions of commands. */
export class Terminal {
  private lines: string[] = [];
  /** Index of the next line. Removing lines from the array would move all others each time. */
  private given = 0;
  private readonly waiting: ((line: string | undefined) => void)[] = [];
  private reader: Interface | undefined;
  private ended = false;
  private completer: (word: string) => string[] = () => [];

  constructor(private readonly options: TerminalOptions) {}

  /** Reads a line, without its end; undefined at the end of the input. */
  ask = (prompt = ''): Promise<string | undefined> => {
    const reader = this.open();
    const line = this.take();
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

  private take(): string | undefined {
    const line = this.lines[this.given];
    if (line === undefined) return undefined;
    this.given++;
    if (2 * this.given >= this.lines.length) {
      this.lines = this.lines.slice(this.given);
      this.given = 0;
    }
    return line;
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
    // Ctrl-C discards the line, but does not end the shell.
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

/** Runs statements until the input ends or `exit` is called. */
export async function runTyped(
  session: ShellSession,
  terminal: Terminal,
  write: (text: string) => void,
  isTerminal: boolean,
): Promise<ShellOutcome> {
  terminal.complete((word) => session.completions(word));
  if (isTerminal) write('Rowan, with the commands of the HBase shell. help lists them, exit ends.\n');
  const statement = new OpenStatement();
  for (let line = 1; ; line++) {
    session.at(line);
    const typed = await terminal.ask(session.prompt(statement.text !== ''));
    if (typed === undefined) {
      if (!statement.isBlank) session.incomplete(statement);
      return session.outcome();
    }
    if (typed === '\x03') {
      statement.clear();
      continue;
    }
    statement.add(typed, line);
    try {
      await session.runWhole(statement);
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
    // No history has been written yet.
    return [];
  }
}

function writeHistory(path: string, lines: readonly string[]): void {
  try {
    makeFolder(dirname(path));
    writeFileSync(path, `${lines.slice(0, HISTORY_LINES).join('\n')}\n`, { mode: 0o600 });
  } catch {
    // Failing to store the history must not stop the user.
  }
}
