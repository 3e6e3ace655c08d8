import type { RubyObject, RubyValue } from './ruby/index.js';

/** Commands that can be called on a table: `t.put 'row', 'f:q', 'v'`. */
const METHODS = new Set(
  (
    'put get scan count delete deleteall get_counter incr append get_splits ' +
    'enable disable flush drop describe desc snapshot'
  ).split(' '),
);

/** What `create` and `get_table` answer. */
export class TableReference implements RubyObject {
  readonly rubyClass = 'Hbase::Table';

  constructor(
    readonly name: string,
    private readonly command: (name: string, args: RubyValue[]) => Promise<RubyValue>,
  ) {}

  inspect(): string {
    return `Hbase::Table - ${this.name}`;
  }

  async call(method: string, args: RubyValue[]): Promise<RubyValue | undefined> {
    if (METHODS.has(method)) return this.command(method, [this.name, ...args]);
    if (method === 'name' && args.length === 0) return this.name;
    if (method === 'to_s' || method === 'inspect') return this.inspect();
    if (method === 'close') return null;
    if (method === 'help') return this.command('help', args.length === 0 ? ['table_help'] : args);
    return undefined;
  }
}
