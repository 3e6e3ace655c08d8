import { RowanError } from '../errors.js';
import { type Engine, parseTableName, type Table } from '../table/index.js';
import { checkCount, type EntityView, type ShellCommand, ShellContext, type ShellIo } from './command.js';
import { COMMANDS } from './commands/index.js';
import { describeCommand, overview, tableText } from './describe.js';
import { Formatter } from './formatter.js';
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
import { type Token, tokenize } from './ruby/lexer.js';
import { TableReference } from './table-reference.js';

// — The constants of the HBase shell. Most have their own name as value; some stand for another name.

const NAMES = (
  'ALLOW_PARTIAL_RESULTS ALL_METRICS ATTRIBUTES AUTHORIZATIONS BATCH BLOCKCACHE BLOCKSIZE BLOOMFILTER CACHE ' +
  'CACHE_BLOCKS CACHE_BLOOMS_ON_WRITE CACHE_DATA_IN_L1 CACHE_DATA_ON_WRITE CACHE_INDEX_ON_WRITE CLASSNAME CLUSTER_KEY ' +
  'COLUMN COLUMNS COMPACTION_ENABLED COMPRESSION COMPRESSION_COMPACT COMPRESSION_COMPACT_MAJOR ' +
  'COMPRESSION_COMPACT_MINOR COMPRESS_TAGS CONFIG CONFIGURATION CONSISTENCY COPROCESSOR DATA DATA_BLOCK_ENCODING ' +
  'DFS_REPLICATION DURABILITY ENCRYPTION ENCRYPTION_KEY ENDPOINT_CLASSNAME ERASURE_CODING_POLICY EVICT_BLOCKS_ON_CLOSE ' +
  'FILTER FLUSH_POLICY FORMATTER FORMATTER_CLASS INTERVAL IN_MEMORY IN_MEMORY_COMPACTION IS_META IS_MOB ISOLATION_LEVEL ' +
  'JAR_PATH KEEP_DELETED_CELLS LIMIT LOCALITY_THRESHOLD MAXLENGTH MAX_FILESIZE MAX_RESULT_SIZE MEMSTORE_FLUSHSIZE ' +
  'MERGE_ENABLED METADATA METHOD METRICS MIN_VERSIONS MOB_COMPACT_PARTITION_POLICY MOB_THRESHOLD NAME NAMESPACE ' +
  'NAMESPACES NEW_VERSION_BEHAVIOR NONE NORMALIZATION_ENABLED NORMALIZER_TARGET_REGION_COUNT ' +
  'NORMALIZER_TARGET_REGION_SIZE NORMALIZER_TARGET_REGION_SIZE_MB NUMREGIONS OWNER POLICY PREFETCH_BLOCKS_ON_OPEN ' +
  'PRIORITY PROPERTIES RAW READONLY READ_TYPE REGEX REGIONSERVER REGION_MEMSTORE_REPLICATION REGION_REPLICATION ' +
  'REGION_REPLICA_ID REOPEN_REGIONS REPLICATION_SCOPE RESTORE_ACL REVERSED ROWPREFIXFILTER SERIAL SERVER_NAME ' +
  'SKIP_FLUSH SPLITALGO SPLITS SPLITS_FILE SPLIT_ENABLED SPLIT_POLICY STARTROW STATE STOPROW STORAGE_POLICY TABLE ' +
  'TABLE_CFS TABLE_NAME TABLE_NAMES TIMERANGE TIMESTAMP TTL TYPE USER VALUE VERSIONS VISIBILITY FOREVER KEY'
).split(' ');

const OTHERS: Readonly<Record<string, string>> = {
  ENDKEY: 'STOPROW',
  ENDROW: 'STOPROW',
  STARTKEY: 'STARTROW',
};

/** Sorted by name. */
const CONSTANTS: ReadonlyMap<string, string> = new Map(
  [...NAMES.map((name) => [name, name] as const), ...Object.entries(OTHERS)].sort(([a], [b]) =>
    a < b ? -1 : 1,
  ),
);

// — Translates errors to the messages of the HBase shell.

/** The text after `ERROR: ` for a failed command with these arguments. */
async function messageOf(error: unknown, args: readonly RubyValue[], shell: ShellContext): Promise<string> {
  if (!(error instanceof RowanError)) return error instanceof Error ? error.message : String(error);
  const named = toText(toS(args[0] ?? ''));
  switch (error.code) {
    case 'ERR_TABLE_NOT_FOUND':
      return `Unknown table ${named}!`;
    case 'ERR_TABLE_EXISTS':
      return `Table already exists: ${tableOf(error) ?? named}!`;
    case 'ERR_TABLE_DISABLED':
      return `Table ${named} is disabled!`;
    case 'ERR_TABLE_ENABLED':
      return `Table ${tableOf(error) ?? named} should be disabled!`;
    case 'ERR_NAMESPACE_NOT_FOUND':
      return `Unknown namespace ${namespaceOf(named)}!`;
    case 'ERR_NAMESPACE_EXISTS':
      return `org.apache.hadoop.hbase.NamespaceExistException: Namespace ${named} already exists`;
    case 'ERR_NO_SUCH_FAMILY':
      return familyMessage(error, named, args, shell);
    case 'ERR_READONLY':
      // For a read-only table; a store or server that takes no writes has its own message.
      if (tableOf(error) === undefined) return remoteMessage(error) ?? error.message;
      return 'org.apache.hadoop.hbase.DoNotRetryIOException: region is read only';
    default:
      return remoteMessage(error) ?? ownMessage(error);
  }
}

/** The message of HBase's servers for errors that the embedded engine reports too. */
function ownMessage({ message }: RowanError): string {
  const bytes = /^Cannot increment .* its value has (\d+) bytes/.exec(message)?.[1];
  if (bytes === undefined) return message;
  return `org.apache.hadoop.hbase.DoNotRetryIOException: Field is not a long, it's ${bytes} bytes wide`;
}

/** The exception of a server, by its own name. */
function remoteMessage(error: RowanError): string | undefined {
  const { exceptionClass } = error.details ?? {};
  const message = 'remoteMessage' in error ? error.remoteMessage : undefined;
  if (typeof exceptionClass !== 'string' || typeof message !== 'string') return undefined;
  return `${exceptionClass}: ${message}`;
}

function tableOf(error: RowanError): string | undefined {
  const table = error.details?.['table'];
  return typeof table === 'string' ? table : undefined;
}

function namespaceOf(named: string): string {
  return named.includes(':') ? parseTableName(named).namespace : named;
}

async function familyMessage(
  error: RowanError,
  table: Table['name'],
  args: readonly RubyValue[],
  shell: ShellContext,
): Promise<string> {
  const remote = remoteMessage(error);
  if (remote !== undefined) return remote;
  const family = String(error.details?.['family'] ?? '');
  const descriptor = await shell.admin.getDescriptor(table);
  const region = await shell.regionOf(table, args[1] ?? null);
  return (
    'org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: ' +
    `Column family ${family} does not exist in region ${region} in table ${tableText(descriptor)}`
  );
}

const BLOCKS: ReadonlySet<string> = new Set(['if', 'unless', 'while', 'until', 'for', 'begin']);
/** Keywords that a following `do` belongs to. */
const LOOPS: ReadonlySet<string> = new Set(['while', 'until', 'for']);
const OPENING: ReadonlySet<string> = new Set(['(', '[', '{']);
const CLOSING: ReadonlySet<string> = new Set([')', ']', '}']);

/**
 * Collects the lines of a statement until it is complete. While it is certainly incomplete, the text need not be parsed
 * again with each line. Counts open brackets and blocks line by line. It ignores doubtful ones, so the count is never
 * too high.
 */
export class OpenStatement {
  /** The lines so far. */
  text = '';
  private firstLine = 1;
  private depth = 0;
  private sure = true;
  /** Whether the last line continues on the next one, after a `\`. */
  private goesOn = false;

  /** Where the statement begins. */
  get place(): Place {
    return { line: this.firstLine, column: 1 };
  }

  /** Adds the next line, with its number. */
  add(line: string, number: number): void {
    if (this.text === '') this.firstLine = number;
    this.text += `${line}\n`;
    if (!this.sure) return;
    try {
      const tokens = tokenize(`${line}\n`);
      // On a continuation line, a keyword at the beginning does not open a block.
      this.count(tokens, this.goesOn ? undefined : tokens[0]);
      const end = tokens.at(-1);
      this.goesOn = end?.kind === 'end' && end.goesOn;
    } catch {
      // A string that continues, or invalid Ruby: parsing will tell.
      this.sure = false;
    }
  }

  /** True if more lines are needed; false if that is unknown. */
  get isOpen(): boolean {
    return this.sure && (this.goesOn || this.depth > 0);
  }

  /** Whether there is only white space so far. */
  get isBlank(): boolean {
    return this.text.trim() === '';
  }

  /** Starts the next statement. */
  clear(): void {
    this.text = '';
    this.depth = 0;
    this.sure = true;
    this.goesOn = false;
  }

  private count(tokens: readonly Token[], first: Token | undefined): void {
    const begins = first?.kind === 'keyword' ? first.text : '';
    if (BLOCKS.has(begins)) this.depth++;
    for (const token of tokens) {
      if (token.kind === 'op' && OPENING.has(token.text)) this.depth++;
      else if (token.kind === 'op' && CLOSING.has(token.text)) this.depth--;
      else if (token.kind === 'keyword' && token.text === 'end') this.depth--;
      else if (token.kind === 'keyword' && token.text === 'do' && !LOOPS.has(begins)) this.depth++;
    }
  }
}

export interface ShellOptions {
  readonly engine: Engine;
  readonly io: ShellIo;
  /** The text that `version` prints. */
  readonly version: string;
  readonly entities?: EntityView | undefined;
  /**
   * Whether to stop at the first error, like `hbase shell -n`. Default false: the error is printed, and the next
   * statement runs.
   */
  readonly stopAtError?: boolean;
}

/** The result of a script. */
export interface ShellOutcome {
  /** The code of `exit`; 1 if a statement failed and that ended the script; else 0. */
  readonly code: number;
}

/** Aborts the script after a failed command. */
class Stopped extends Error {}

/** A shell on an engine: executes statements and prints results like HBase's shell. */
export class ShellSession {
  private readonly interpreter: Interpreter;
  private readonly context: ShellContext;
  private readonly commands = new Map<string, ShellCommand>();
  private line = 1;
  /** Whether a failed statement has ended the script. */
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

  /** The completions of a word: commands, constants, variables. */
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

  /** The prompt, with the line number and whether a statement is open. */
  prompt(open: boolean): string {
    return `hbase:${String(this.line).padStart(3, '0')}:${open ? '1*' : '0>'} `;
  }

  /** Runs a complete text. Returns false if it ends within a statement; then call it again with more lines. */
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

  /** Runs the lines of a script; each is printed after its prompt, like in HBase's shell. */
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

  /** If the statement is complete, runs it and starts the next. */
  async runWhole(statement: OpenStatement): Promise<void> {
    if (!statement.isOpen && (await this.run(statement.text, statement.place))) statement.clear();
  }

  /** Reports that the text ends within a statement. */
  incomplete({ text, place }: OpenStatement): void {
    try {
      parseRuby(text, place);
    } catch (error) {
      this.syntaxError(error);
    }
  }

  /** Sets the number of the next line. */
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
