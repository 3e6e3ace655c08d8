import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import type { PermissionMessage } from '../wire/messages-access.js';
import type { MasterClient } from './master-client.js';
import { master } from './rpcs.js';
import { tableNameMessage, tableNameText } from './table-codec.js';

/** What somebody may do. */
export const PERMITTED_ACTIONS = ['READ', 'WRITE', 'EXEC', 'CREATE', 'ADMIN'] as const;
export type PermittedAction = (typeof PERMITTED_ACTIONS)[number];

/** Where: in a namespace, in a table, in a family or a column of it; nowhere named: in all of the cluster. */
export interface PermissionScope {
  readonly namespace?: string;
  readonly table?: string;
  readonly family?: string;
  readonly qualifier?: Uint8Array;
}

export interface UserPermission extends PermissionScope {
  /** A user, or a group as "@group". */
  readonly user: string;
  readonly actions: readonly PermittedAction[];
}

const GLOBAL = 1;
const NAMESPACE = 2;
const TABLE = 3;

/** Rights of users (`AccessController`). */
export class AccessAdmin {
  constructor(private readonly masters: MasterClient) {}

  async grant(permission: UserPermission, merge: boolean): Promise<void> {
    const { user, actions } = permission;
    if (actions.length === 0)
      throw new InvalidArgumentError('grant takes at least one action. Take rights back with revoke.');
    const userPermission = {
      user: Buffer.from(checkUser(user), 'utf8'),
      permission: toMessage(permission, actions),
    };
    await this.masters.call(master.grant, { userPermission, mergeExistingPermissions: merge });
  }

  async revoke(user: string, scope: PermissionScope, actions: readonly PermittedAction[]): Promise<void> {
    const userPermission = {
      user: Buffer.from(checkUser(user), 'utf8'),
      permission: toMessage(scope, actions),
    };
    await this.masters.call(master.revoke, { userPermission });
  }

  async list(scope: Pick<PermissionScope, 'namespace' | 'table'>): Promise<UserPermission[]> {
    const { namespace, table } = checkScope(scope);
    const { userPermission = [] } = await this.masters.call(master.getUserPermissions, {
      type: table !== undefined ? TABLE : namespace !== undefined ? NAMESPACE : GLOBAL,
      tableName: table === undefined ? undefined : tableNameMessage(table),
      namespaceName: namespace === undefined ? undefined : Buffer.from(namespace, 'utf8'),
    });
    return userPermission.map(({ user, permission }) => ({
      user: Buffer.from(user).toString('utf8'),
      ...fromMessage(permission),
    }));
  }
}

function checkUser(user: string): string {
  if (typeof user === 'string' && user !== '') return user;
  throw new InvalidArgumentError(`A user is a name, or a group as "@group", not ${describe(user)}.`);
}

function checkScope(scope: PermissionScope): PermissionScope {
  const { namespace, table, family, qualifier } = scope;
  const isSound =
    (namespace === undefined || table === undefined) &&
    (family === undefined || table !== undefined) &&
    (qualifier === undefined || family !== undefined);
  if (isSound && namespace !== '' && table !== '') return scope;
  throw new InvalidArgumentError(
    'Rights are of the cluster, of a namespace, or of a table: { table, family?, qualifier? }, each within the one before.',
  );
}

function toMessage(scope: PermissionScope, actions: readonly PermittedAction[]): PermissionMessage {
  const { namespace, table, family, qualifier } = checkScope(scope);
  const action = actions.map((name) => {
    const code = PERMITTED_ACTIONS.indexOf(name);
    if (code >= 0) return code;
    throw new InvalidArgumentError(
      `An action is one of ${PERMITTED_ACTIONS.join(', ')}, not ${describe(name)}.`,
    );
  });
  if (table !== undefined) {
    const familyName = family === undefined ? undefined : Buffer.from(family, 'utf8');
    const tablePermission = { tableName: tableNameMessage(table), family: familyName, qualifier, action };
    return { type: TABLE, tablePermission };
  }
  if (namespace === undefined) return { type: GLOBAL, globalPermission: { action } };
  return { type: NAMESPACE, namespacePermission: { namespaceName: Buffer.from(namespace, 'utf8'), action } };
}

function fromMessage(permission: PermissionMessage): PermissionScope & Pick<UserPermission, 'actions'> {
  const { globalPermission, namespacePermission, tablePermission } = permission;
  const codes = (globalPermission ?? namespacePermission ?? tablePermission)?.action ?? [];
  const actions = codes.flatMap((code) => PERMITTED_ACTIONS[code] ?? []);
  const text = (name: Uint8Array): string => Buffer.from(name).toString('utf8');
  if (namespacePermission?.namespaceName !== undefined) {
    return { namespace: text(namespacePermission.namespaceName), actions };
  }
  if (tablePermission?.tableName === undefined) return { actions };
  const { tableName, family, qualifier } = tablePermission;
  return {
    table: tableNameText(tableName),
    ...(family === undefined ? {} : { family: text(family) }),
    ...(qualifier === undefined ? {} : { qualifier }),
    actions,
  };
}
