/** What an error of an engine is called by the HBase shell. */

import { RowanError } from '../errors.js';
import { parseTableName, type Table } from '../table/index.js';
import type { ShellContext } from './context.js';
import { tableText } from './describe.js';
import { type RubyValue, toS, toText } from './ruby/index.js';

/** The text behind `ERROR: `, for a command that was given these arguments. */
export async function messageOf(
  error: unknown,
  args: readonly RubyValue[],
  shell: ShellContext,
): Promise<string> {
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
      return 'org.apache.hadoop.hbase.DoNotRetryIOException: region is read only';
    default:
      return remoteMessage(error) ?? ownMessage(error);
  }
}

/** What HBase's servers say to what the embedded engine refuses too. */
function ownMessage({ message }: RowanError): string {
  const bytes = /^Cannot increment .* its value has (\d+) bytes/.exec(message)?.[1];
  if (bytes === undefined) return message;
  return `org.apache.hadoop.hbase.DoNotRetryIOException: Field is not a long, it's ${bytes} bytes wide`;
}

/** An exception of a server is named as the server names it. */
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
