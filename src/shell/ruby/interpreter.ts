import { callMethod, operate } from './methods.js';
import type { CallNode, Node } from './syntax.js';
import {
  fromText,
  inspect,
  type Place,
  RubyError,
  RubyHash,
  RubyProc,
  RubyRaised,
  RubyRange,
  type RubyValue,
  toS,
  toText,
  truthy,
} from './values.js';

/** The environment of the interpreter: the commands and constants of the shell. */
interface RubyHost {
  isCommand(name: string): boolean;
  command(name: string, args: RubyValue[], place: Place): Promise<RubyValue>;
  /** Undefined for an unknown one. */
  constant(name: string): RubyValue | undefined;
  write(text: string): void;
}

/** `exit` was called. */
export class ShellExit extends Error {
  constructor(readonly code: number) {
    super(`exit ${code}`);
  }
}

const MAX_RANGE = 10_000_000n;

/** Runs statements in order; variables live as long as the interpreter. */
export class Interpreter {
  private readonly variables = new Map<string, RubyValue>();

  constructor(private readonly host: RubyHost) {}

  variableNames(): string[] {
    return [...this.variables.keys()];
  }

  async run(node: Node): Promise<RubyValue> {
    switch (node.kind) {
      case 'literal':
        return node.value;
      case 'text':
        return this.text(node.parts);
      case 'array':
        return this.all(node.items);
      case 'hash': {
        const hash = new RubyHash();
        for (const [key, value] of node.pairs) hash.set(await this.run(key), await this.run(value));
        return hash;
      }
      case 'constant':
        return this.constant(node.name, node.place);
      case 'call':
        return this.call(node);
      case 'assign': {
        const value = await this.run(node.value);
        this.variables.set(node.name, value);
        return value;
      }
      case 'assignIndex': {
        const [target, index, value] = await this.all([node.target, node.index, node.value]);
        return callMethod(target!, '[]=', [index!, value!], undefined, node.place);
      }
      case 'binary':
        return this.binary(node.operator, node.left, node.right, node.place);
      case 'not':
        return !truthy(await this.run(node.value));
      case 'range':
        return this.range(node);
      case 'if': {
        const branch = truthy(await this.run(node.test)) ? node.yes : node.no;
        return branch === undefined ? null : this.run(branch);
      }
      case 'while':
        if (node.bodyFirst) await this.run(node.body);
        while (truthy(await this.run(node.test)) !== node.until) await this.run(node.body);
        return null;
      case 'for':
        return this.loop(node);
      case 'begin':
        return this.begin(node);
      case 'sequence': {
        let last: RubyValue = null;
        for (const statement of node.statements) last = await this.run(statement);
        return last;
      }
    }
  }

  private async all(nodes: readonly Node[]): Promise<RubyValue[]> {
    const values: RubyValue[] = [];
    for (const node of nodes) values.push(await this.run(node));
    return values;
  }

  private async text(parts: readonly (string | Node)[]): Promise<string> {
    let text = '';
    for (const part of parts) text += typeof part === 'string' ? part : toS(await this.run(part));
    return text;
  }

  private constant(name: string, place: Place): RubyValue {
    const value = this.host.constant(name);
    if (value !== undefined) return value;
    throw new RubyRaised('NameError', `uninitialized constant HBaseReceiver::${name}`, place);
  }

  private async binary(operator: string, left: Node, right: Node, place: Place): Promise<RubyValue> {
    const first = await this.run(left);
    if (operator === '&&') return truthy(first) ? this.run(right) : first;
    if (operator === '||') return truthy(first) ? first : this.run(right);
    return operate(operator, first, await this.run(right), place);
  }

  private async range(node: Node & { readonly kind: 'range' }): Promise<RubyValue> {
    const [first, last] = await this.all([node.first, node.last]);
    if (typeof first === 'string' && typeof last === 'string')
      return letters(first, last, node.exclusive, node.place);
    if (typeof first !== 'bigint' || typeof last !== 'bigint') {
      throw new RubyRaised('ArgumentError', 'bad value for range', node.place);
    }
    if (last - first > MAX_RANGE)
      throw new RubyError(`A range may have at most ${MAX_RANGE} members in this shell.`, node.place);
    return new RubyRange(first, node.exclusive ? last - 1n : last);
  }

  private async loop(node: Node & { readonly kind: 'for' }): Promise<RubyValue> {
    const over = await this.run(node.over);
    const proc = new RubyProc(async (args) => {
      this.bind(node.names, args);
      return this.run(node.body);
    });
    return callMethod(over, 'each', [], proc, node.place);
  }

  private async begin(node: Node & { readonly kind: 'begin' }): Promise<RubyValue> {
    try {
      return await this.run(node.body);
    } catch (error) {
      if (node.rescue === undefined || error instanceof ShellExit) throw error;
      const message = error instanceof RubyRaised ? error.text : (error as Error).message;
      if (node.rescue.name !== undefined) this.variables.set(node.rescue.name, fromText(message));
      return await this.run(node.rescue.body);
    } finally {
      if (node.ensure !== undefined) await this.run(node.ensure);
    }
  }

  private bind(names: readonly string[], args: readonly RubyValue[]): void {
    const only = args[0];
    const values = names.length > 1 && args.length === 1 && Array.isArray(only) ? only : args;
    names.forEach((name, index) => this.variables.set(name, values[index] ?? null));
  }

  private async call(node: CallNode): Promise<RubyValue> {
    const { name, place, receiver } = node;
    if (receiver === undefined && node.bare && this.variables.has(name)) return this.variables.get(name)!;
    const block = node.block;
    const proc =
      block &&
      new RubyProc(async (args) => {
        // A block's parameters shadow outer variables, which are restored afterwards.
        const hidden = block.names.map((each) => [each, this.variables.get(each)] as const);
        this.bind(block.names, args);
        try {
          return await this.run(block.body);
        } finally {
          for (const [each, value] of hidden) {
            if (value === undefined) this.variables.delete(each);
            else this.variables.set(each, value);
          }
        }
      });
    if (receiver !== undefined) return this.method(node, receiver, proc);
    const args = await this.all(node.args);
    if (this.host.isCommand(name)) return this.host.command(name, args, place);
    return this.kernel(name, args, proc, place);
  }

  private async method(node: CallNode, receiver: Node, proc: RubyProc | undefined): Promise<RubyValue> {
    const { name, place } = node;
    if (receiver.kind === 'constant' && this.host.constant(receiver.name) === undefined) {
      if (receiver.name === 'Time' && name === 'now') return BigInt(Date.now()) / 1000n;
      if (receiver.name === 'Object' && name === 'constants') return [];
    }
    const value = await this.run(receiver);
    return callMethod(value, name, await this.all(node.args), proc, place);
  }

  /** Ruby's built-in functions. */
  private async kernel(
    name: string,
    args: RubyValue[],
    proc: RubyProc | undefined,
    place: Place,
  ): Promise<RubyValue> {
    switch (name) {
      case 'puts':
        this.puts(args.length === 0 ? [''] : args);
        return null;
      case 'print':
        this.host.write(toText(args.map(toS).join('')));
        return null;
      case 'p':
        for (const arg of args) this.host.write(`${inspect(arg)}\n`);
        return args[0] ?? null;
      case 'sleep':
        await new Promise((resolve) => setTimeout(resolve, Number(args[0] ?? 0n) * 1000));
        return args[0] ?? null;
      case 'format':
      case 'sprintf':
        return operate('%', args[0] ?? '', args.slice(1), place);
      case 'loop':
        if (proc !== undefined) for (;;) await proc.run([]);
        break;
      case 'raise':
        throw new RubyRaised('RuntimeError', toText(toS(args[0] ?? 'unhandled exception')), place);
      case 'exit':
      case 'quit': {
        const code = args[0] ?? 0n;
        throw new ShellExit(typeof code === 'bigint' ? Number(code) : truthy(code) ? 0 : 1);
      }
    }
    const what = args.length === 0 ? 'undefined local variable or method' : 'undefined method';
    throw new RubyRaised(
      args.length === 0 ? 'NameError' : 'NoMethodError',
      `${what} \`${name}' for the shell`,
      place,
    );
  }

  private puts(values: readonly RubyValue[]): void {
    for (const value of values) {
      if (Array.isArray(value)) this.puts(value);
      else {
        const text = toText(toS(value));
        this.host.write(text.endsWith('\n') ? text : `${text}\n`);
      }
    }
  }
}

/** `'a'..'e'`, of one character each. */
function letters(first: string, last: string, exclusive: boolean, place: Place): RubyValue {
  if (first.length !== 1 || last.length !== 1) {
    throw new RubyError('In this shell, ranges of strings must have one character each.', place);
  }
  const found: RubyValue[] = [];
  const end = last.charCodeAt(0) - (exclusive ? 1 : 0);
  for (let code = first.charCodeAt(0); code <= end; code++) found.push(String.fromCharCode(code));
  return found;
}
