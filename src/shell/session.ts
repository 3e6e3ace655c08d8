/** A shell on an engine: reads statements and prints what they answer, as HBase's does. */

import type { Engine } from '../table/index.js';
import { checkCount, type ShellCommand } from './command.js';
import { COMMANDS } from './commands/index.js';
import { CONSTANTS } from './constants.js';
import { ShellContext, type ShellIo } from './context.js';
import type { EntityView } from './entities.js';
import { Formatter } from './formatter.js';
import { describeCommand, overview } from './help.js';
import { messageOf } from './messages.js';
import { OpenStatement } from './open-statement.js';
import {
  IncompleteError,
  Interpreter,
  inspect,
  type Place,
  parseRuby,
  RubyError,
  RubyRaised,
  type RubyValue,
  ShellExit,
  toS,
  toText,
} from './ruby/index.js';
import { TableReference } from './table-reference.js';

export interface ShellOptions {
  readonly engine: Engine;
  readonly io: ShellIo;
  /** Printed by `version`. */
  readonly version: string;
  readonly entities?: EntityView | undefined;
  /** End at the first error, as `hbase shell -n` does. Default false: the error is printed, and the next statement runs. */
  readonly stopAtError?: boolean;
}

/** How a script ended. */
export interface ShellOutcome {
  /** The code of `exit`; 1 when a statement failed and that ends the script; else 0. */
  readonly code: number;
}

/** Leaves a statement whose command failed, where that ends everything. */
class Stopped extends Error {}

export class ShellSession {
  private readonly interpreter: Interpreter;
  private readonly context: ShellContext;
  private readonly commands = new Map<string, ShellCommand>();
  private line = 1;
  /** Whether a statement failed that ends everything. */
  private stopped = false;

  constructor(private readonly options: ShellOptions) {
    for (const command of COMMANDS) {
      for (const name of [command.name, ...(command.aliases ?? [])]) this.commands.set(name, command);
    }
    const { engine, io, version, entities } = options;
    this.context = new ShellContext(engine, io, new Formatter(io.write, io.width), {
      entities,
      version,
      reference: (name) => new TableReference(name, (command, args) => this.command(command, args)),
    });
    this.interpreter = new Interpreter({
      isCommand: (name) => name === 'help' || this.commands.has(name),
      command: (name, args) => this.command(name, args),
      constant: (name) => CONSTANTS.get(name),
      write: io.write,
    });
  }

  /** Names that a word can be completed to: commands, constants, variables. */
  completions(word: string): string[] {
    const names = [
      ...this.commands.keys(),
      'help',
      'exit',
      ...CONSTANTS.keys(),
      ...this.interpreter.variableNames(),
    ];
    return [...new Set(names)].filter((name) => name.startsWith(word)).sort();
  }

  /** What stands before the next line: its number, and how many statements are open. */
  prompt(open: boolean): string {
    return `hbase:${String(this.line).padStart(3, '0')}:${open ? '1*' : '0>'} `;
  }

  /**
   * Runs a text if it is whole; false when it ends within a statement: then it is to be given again with further lines.
   */
  private async run(text: string, place: Place): Promise<boolean> {
    let program: ReturnType<typeof parseRuby>;
    try {
      program = parseRuby(text, place);
    } catch (error) {
      if (error instanceof IncompleteError) return false;
      this.syntaxError(error);
      return true;
    }
    try {
      const value = await this.interpreter.run(program);
      if (value !== null) this.context.print(`=> ${inspect(value)}`);
    } catch (error) {
      if (error instanceof ShellExit) throw error;
      if (!(error instanceof Stopped)) this.syntaxError(error);
    }
    return true;
  }

  private syntaxError(error: unknown): void {
    if (!(error instanceof RubyError)) throw error;
    const name = error instanceof RubyRaised ? error.rubyClass : 'SyntaxError';
    const text =
      error instanceof RubyRaised ? error.text : error.message.slice(error.message.indexOf(': ') + 2);
    this.context.print(`Traceback (most recent call last):\n${name} (${text})`);
    this.context.print(`\tat line ${error.place.line}, column ${error.place.column}`);
    if (this.options.stopAtError === true) this.stopped = true;
  }

  /** Runs the lines of a script; each is printed behind its prompt, as in HBase's shell. */
  async script(text: string): Promise<ShellOutcome> {
    const lines = text.replace(/\n$/, '').split('\n');
    const statement = new OpenStatement();
    try {
      for (const [index, each] of lines.entries()) {
        this.line = index + 1;
        this.options.io.write(`${this.prompt(statement.text !== '')}${each}\n`);
        statement.add(each, this.line);
        await this.runWhole(statement);
        if (this.stopped) return this.outcome();
      }
      if (!statement.isBlank) this.incomplete(statement);
      return this.outcome();
    } catch (error) {
      if (error instanceof ShellExit) return { code: error.code };
      throw error;
    }
  }

  /** Runs a statement, and begins the next, if it is whole. */
  async runWhole(statement: OpenStatement): Promise<void> {
    if (!statement.isOpen && (await this.run(statement.text, statement.place))) statement.clear();
  }

  /** The text ends within a statement. */
  incomplete({ text, place }: OpenStatement): void {
    try {
      parseRuby(text, place);
    } catch (error) {
      this.syntaxError(error);
    }
  }

  /** The number of the line that comes next. */
  at(line: number): void {
    this.line = line;
  }

  outcome(): ShellOutcome {
    return { code: this.stopped ? 1 : 0 };
  }

  private async command(name: string, args: readonly RubyValue[]): Promise<RubyValue> {
    if (name === 'help') return this.help(args);
    const command = this.commands.get(name)!;
    const began = performance.now();
    let answer: RubyValue = null;
    let failed = false;
    try {
      checkCount(command, args.length);
      answer = await command.run(this.context, args);
    } catch (error) {
      if (error instanceof ShellExit || error instanceof RubyError) throw error;
      failed = true;
      const message = await messageOf(error, args, this.context).catch(() => (error as Error).message);
      this.context.print(`\nERROR: ${message}\n\nFor usage try 'help "${command.name}"'\n`);
    }
    this.context.print(`Took ${((performance.now() - began) / 1000).toFixed(4)} seconds`);
    if (failed && this.options.stopAtError === true) {
      this.stopped = true;
      throw new Stopped();
    }
    return answer;
  }

  private help(args: readonly RubyValue[]): null {
    const wanted = args.length === 0 ? undefined : toText(toS(args[0]!));
    const ofGroup = COMMANDS.filter(({ group }) => group === wanted);
    const command = wanted === undefined ? undefined : this.commands.get(wanted);
    if (command !== undefined) this.context.print(describeCommand(command));
    else if (ofGroup.length > 0) for (const each of ofGroup) this.context.print(describeCommand(each));
    else {
      if (wanted !== undefined)
        this.context.print(`ERROR: Invalid command or command group name: ${wanted}\n`);
      this.context.print(overview(COMMANDS));
    }
    return null;
  }
}
