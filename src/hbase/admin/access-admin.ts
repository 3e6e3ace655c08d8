import { EMPTY_BYTES } from '../../bytes/index.js';
import { InvalidArgumentError, RowanError } from '../../errors.js';
import { checkOptions, describe, isList, isNamed } from '../../table/checks.js';
import type { Cluster } from '../client/cluster.js';
import { callCoprocessor } from '../client/region-call.js';
import { META_TABLE } from '../region/region.js';
import { remoteError } from '../rpc/errors.js';
import type { DelegationToken } from '../security/delegation-token.js';
import {
  GetAuthenticationTokenResponse,
  GetAuthsRequest,
  GetAuthsResponse,
  ListLabelsRequest,
  ListLabelsResponse,
  type PermissionMessage,
  SetAuthsRequest,
  VisibilityLabelsRequest,
  VisibilityLabelsResponse,
  WhoAmIResponse,
} from '../wire/messages-security.js';
import { decodeMessage, encodeMessage, type MessageCodec } from '../wire/schema.js';
import { type MasterClient, master } from './master-client.js';
import { tableNameMessage, tableNameText } from './table-codec.js';

/** Actions that can be permitted. */
const PERMITTED_ACTIONS = ['READ', 'WRITE', 'EXEC', 'CREATE', 'ADMIN'] as const;
export type PermittedAction = (typeof PERMITTED_ACTIONS)[number];

/** The scope of a permission: a namespace, a table, or a family or column of it; empty: the whole cluster. */
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

/** Rights to take back: of a grant, and without `actions` all that the user has in the scope. */
export interface Revocation extends PermissionScope {
  /** A user, or a group as "@group". */
  readonly user: string;
  readonly actions?: readonly PermittedAction[];
}

const GLOBAL = 1;
const NAMESPACE = 2;
const TABLE = 3;

/** Permissions of users and groups (`AccessController`). */
export class AccessAdmin {
  constructor(private readonly masters: MasterClient) {}

  async grant(permission: UserPermission, merge: boolean): Promise<void> {
    const { user, actions } = checkPermission('grant', permission);
    if (actions === undefined || actions.length === 0)
      throw new InvalidArgumentError('grant takes at least one action. Take rights back with revoke.');
    const userPermission = {
      user: Buffer.from(checkUser(user), 'utf8'),
      permission: toMessage(permission, actions),
    };
    await this.masters.call(master.grant, { userPermission, mergeExistingPermissions: merge });
  }

  async revoke(permission: Revocation): Promise<void> {
    const { user, actions = [] } = checkPermission('revoke', permission);
    const userPermission = {
      user: Buffer.from(checkUser(user), 'utf8'),
      permission: toMessage(permission, actions),
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

const PERMISSION = {
  user: true,
  namespace: true,
  table: true,
  family: true,
  qualifier: true,
  actions: true,
} as const;

/** @throws InvalidArgumentError on anything else than a permission. One with an unknown name might be for the whole cluster. */
function checkPermission<P extends Revocation>(doing: string, permission: P): P {
  if (!isNamed(permission)) {
    throw new InvalidArgumentError(
      `${doing} takes one object, { user, table, actions } or another scope, not ${describe(permission)}.`,
    );
  }
  checkOptions(doing, permission, PERMISSION);
  const { actions } = permission;
  if (actions === undefined || isList(actions)) return permission;
  throw new InvalidArgumentError(`${doing}: the actions are ${describe(actions)}. Give a list: ['READ'].`);
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
    'A permission is for the cluster, a namespace, or a table: { table, family?, qualifier? }. A qualifier needs a family, and a family a table.',
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

const LABELS_TABLE = 'hbase:labels';
const LABEL_SERVICE = 'VisibilityLabelsService';

/**
 * Visibility labels and the users who have them (`VisibilityClient`). Servers apply a change shortly after it was answered.
 *
 * @throws RowanError `ERR_TABLE_NOT_FOUND` on a cluster without `VisibilityController`; `ERR_SECURITY` without permission.
 */
export class LabelAdmin {
  constructor(private readonly cluster: Cluster) {}

  /** @throws RemoteError for the first label that is refused (`LabelAlreadyExistsException`, …). The others are added. */
  async add(labels: readonly string[]): Promise<void> {
    const visLabel = checkLabels('add', labels).map((label) => ({ label: bytesOf(label) }));
    await this.change('addLabels', VisibilityLabelsRequest, { visLabel }, labels);
  }

  /** All labels, or those that a Java regular expression matches in full, sorted. */
  async list(pattern?: string): Promise<string[]> {
    const request = encodeMessage(ListLabelsRequest, { regex: pattern });
    const { label = [] } = decodeMessage(ListLabelsResponse, await this.call('listLabels', request));
    return label.map(textOf).sort();
  }

  /** Adds labels to those of a user, or of a group as "@group". */
  async setAuths(user: string, labels: readonly string[]): Promise<void> {
    const auth = checkLabels('setAuths', labels).map(bytesOf);
    await this.change('setAuths', SetAuthsRequest, { user: userBytes(user), auth }, labels);
  }

  /** The labels of a user or group, sorted. */
  async getAuths(user: string): Promise<string[]> {
    const request = encodeMessage(GetAuthsRequest, { user: userBytes(user) });
    const { auth = [] } = decodeMessage(GetAuthsResponse, await this.call('getAuths', request));
    return auth.map(textOf).sort();
  }

  /** Removes labels from a user or group. */
  async clearAuths(user: string, labels: readonly string[]): Promise<void> {
    const auth = checkLabels('clearAuths', labels).map(bytesOf);
    await this.change('clearAuths', SetAuthsRequest, { user: userBytes(user), auth }, labels);
  }

  private async change<Q>(
    method: string,
    codec: MessageCodec<Q>,
    request: Q,
    labels: readonly string[],
  ): Promise<void> {
    const answer = await this.call(method, encodeMessage(codec, request));
    const { result = [] } = decodeMessage(VisibilityLabelsResponse, answer);
    for (const [index, { exception }] of result.entries()) {
      if (exception === undefined) continue;
      throw remoteError(
        { className: exception.name, stackTrace: textOf(exception.value ?? EMPTY_BYTES), doNotRetry: true },
        LABELS_TABLE,
        `${method} of label ${describe(labels[index])}`,
      );
    }
  }

  /** Safe to retry when the answer was lost: adding or removing a label twice is refused without an effect. */
  private async call(method: string, request: Uint8Array): Promise<Uint8Array> {
    const call = { table: LABELS_TABLE, service: LABEL_SERVICE, method, request, repeatable: true };
    return (await callCoprocessor(this.cluster, call, EMPTY_BYTES)).value;
  }
}

function checkLabels(doing: string, labels: readonly string[]): readonly string[] {
  const isSound =
    Array.isArray(labels) &&
    labels.length > 0 &&
    labels.every((label) => typeof label === 'string' && label !== '');
  if (isSound) return labels;
  throw new InvalidArgumentError(`${doing} takes a list of labels, ["secret"], not ${describe(labels)}.`);
}

function userBytes(user: string): Uint8Array {
  if (typeof user === 'string' && user !== '') return bytesOf(user);
  throw new InvalidArgumentError(`A user is a name, or a group as "@group", not ${describe(user)}.`);
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}

/** The coprocessor `TokenProvider` of secured clusters. */
const TOKEN_SERVICE = 'AuthenticationService';

/** Delegation tokens, and the authenticated identity. */
export class TokenAdmin {
  constructor(private readonly cluster: Cluster) {}

  /** @throws RowanError `ERR_SECURITY` when the cluster issues none: without Kerberos, or without `TokenProvider`. */
  async create(): Promise<DelegationToken> {
    const { token } = decodeMessage(
      GetAuthenticationTokenResponse,
      await this.call('GetAuthenticationToken'),
    );
    if (token?.identifier === undefined || token.password === undefined) {
      throw new RowanError('ERR_SECURITY', 'The cluster gave no delegation token. Connect with Kerberos.');
    }
    const { identifier, password } = token;
    const service = (await this.cluster.registry.identity(this.cluster.settings.rpcTimeout)).id;
    return { identifier, password, service };
  }

  async whoAmI(): Promise<{ readonly user: string; readonly method: string }> {
    const { username = '', authMethod = '' } = decodeMessage(WhoAmIResponse, await this.call('WhoAmI'));
    return { user: username, method: authMethod };
  }

  private async call(method: string): Promise<Uint8Array> {
    const call = {
      table: META_TABLE,
      service: TOKEN_SERVICE,
      method,
      request: EMPTY_BYTES,
      repeatable: true,
    };
    return (await callCoprocessor(this.cluster, call, EMPTY_BYTES)).value;
  }
}
