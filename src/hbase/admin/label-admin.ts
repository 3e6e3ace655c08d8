import { EMPTY_BYTES } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { describe } from '../../table/checks.js';
import type { Cluster } from '../client/cluster.js';
import { callCoprocessor } from '../client/coprocessor.js';
import { remoteError } from '../rpc/exception-table.js';
import {
  GetAuthsRequest,
  GetAuthsResponse,
  ListLabelsRequest,
  ListLabelsResponse,
  SetAuthsRequest,
  VisibilityLabelsRequest,
  VisibilityLabelsResponse,
} from '../wire/messages-visibility.js';
import { decodeMessage, encodeMessage, type MessageCodec } from '../wire/schema.js';

const LABELS_TABLE = 'hbase:labels';
const SERVICE = 'VisibilityLabelsService';

/**
 * Visibility labels (`VisibilityClient`): which there are, and who may see cells that ask for them. Servers learn of a change
 * some moments after it was answered.
 *
 * @throws RowanError `ERR_TABLE_NOT_FOUND` on a cluster without `VisibilityController`, `ERR_SECURITY` to who may not.
 */
export class LabelAdmin {
  constructor(private readonly cluster: Cluster) {}

  /** @throws RemoteError for the first that is refused (`LabelAlreadyExistsException`, …); the others are there. */
  async add(labels: readonly string[]): Promise<void> {
    const visLabel = checkLabels('add', labels).map((label) => ({ label: bytesOf(label) }));
    await this.change('addLabels', VisibilityLabelsRequest, { visLabel }, labels);
  }

  /** Every label, or those that a Java pattern matches as a whole; in their order. */
  async list(pattern?: string): Promise<string[]> {
    const request = encodeMessage(ListLabelsRequest, { regex: pattern });
    const { label = [] } = decodeMessage(ListLabelsResponse, await this.call('listLabels', request));
    return label.map(textOf).sort();
  }

  /** Lets a user, or a group as "@group", see what asks for these labels, beside those that it has. */
  async setAuths(user: string, labels: readonly string[]): Promise<void> {
    const auth = checkLabels('setAuths', labels).map(bytesOf);
    await this.change('setAuths', SetAuthsRequest, { user: userBytes(user), auth }, labels);
  }

  /** The labels of a user or group, in their order. */
  async getAuths(user: string): Promise<string[]> {
    const request = encodeMessage(GetAuthsRequest, { user: userBytes(user) });
    const { auth = [] } = decodeMessage(GetAuthsResponse, await this.call('getAuths', request));
    return auth.map(textOf).sort();
  }

  /** Takes labels from a user or group. */
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

  /** A label that is there twice, or taken away twice, is refused, and nothing is lost: a lost answer may be asked for again. */
  private async call(method: string, request: Uint8Array): Promise<Uint8Array> {
    const call = { table: LABELS_TABLE, service: SERVICE, method, request, repeatable: true };
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
