/** What HBase's `AccessController` says of a missing right. */
export interface Denial {
  /** As the server names the user: with the realm, in most messages. */
  readonly user: string;
  /** READ, WRITE, CREATE, ADMIN or EXEC. */
  readonly action: string;
  readonly namespace?: string;
  readonly table?: string;
  readonly family?: string;
  /** The text of the column's qualifier. Undefined: the whole family, or bytes that are no text. */
  readonly qualifier?: string;
}

/** `AuthResult.toContextString`, and the messages of reads and of rights in the whole cluster. */
const WITH_CONTEXT = /^Insufficient permissions \(user=([^,]*), scope=([^,]*), .*action=(\w+)\)/s;
const IN_SHORT =
  /^Insufficient permissions for user '([^']*)' \((?:table=([^,]*)|global), .*?action=(\w+)\)/s;
const COLUMN = /, family=([^:]*):(.*?)[,|]/s;
const CLUSTER = 'GLOBAL';
const DEFAULT = /^default:/;

/** Reads the message of an `AccessDeniedException`; undefined when it names no user and right. */
export function denialOf(message: string): Denial | undefined {
  const short = IN_SHORT.exec(message);
  if (short !== null) {
    const [, user = '', table, action = ''] = short;
    return { user, action, ...(table === undefined ? {} : { table: table.replace(DEFAULT, '') }) };
  }
  const [, user, scope, action] = WITH_CONTEXT.exec(message) ?? [];
  if (user === undefined || scope === undefined || action === undefined) return undefined;
  if (scope === CLUSTER) return { user, action };
  if (message.includes(`params=[namespace=${scope},`)) return { user, action, namespace: scope };
  const [, family, qualifier = ''] = COLUMN.exec(message) ?? [];
  return {
    user,
    action,
    table: scope.replace(DEFAULT, ''),
    ...(family === undefined ? {} : { family }),
    ...(qualifier === '' || qualifier.includes('\ufffd') ? {} : { qualifier }),
  };
}

/** Who lacks which right where, and the call that grants it. */
export function describeDenial(denial: Denial): string {
  const { user, action, namespace, table, family } = denial;
  const where =
    table !== undefined
      ? `table ${table}${family === undefined ? '' : `, family ${family}`}`
      : namespace !== undefined
        ? `namespace ${namespace}`
        : 'the cluster';
  // Rights are granted to short names.
  const scope = [`user: '${user.replace(/[@/].*$/s, '')}'`];
  if (namespace !== undefined) scope.push(`namespace: '${namespace}'`);
  if (table !== undefined) scope.push(`table: '${table}'`);
  if (family !== undefined) scope.push(`family: '${family}'`);
  const call = `admin.grant({ ${scope.join(', ')}, actions: ['${action}'] }, true)`;
  return `The user ${user} lacks the right ${action} on ${where}. An administrator grants it: ${call}.`;
}
