import { EMPTY_BYTES } from '../../bytes/index.js';
import { RowanError } from '../../errors.js';
import type { Cluster } from '../client/cluster.js';
import { callCoprocessor } from '../client/coprocessor.js';
import { META_TABLE } from '../region/region.js';
import type { DelegationToken } from '../security/delegation-token.js';
import { GetAuthenticationTokenResponse, WhoAmIResponse } from '../wire/messages-coprocessor.js';
import { decodeMessage } from '../wire/schema.js';

/** `TokenProvider`, the coprocessor that secured clusters have. */
const SERVICE = 'AuthenticationService';

/** Delegation tokens, and whom the cluster takes one for. */
export class TokenAdmin {
  constructor(private readonly cluster: Cluster) {}

  /** @throws RowanError `ERR_SECURITY` when the cluster gives none: to who came without Kerberos, and without TokenProvider. */
  async create(): Promise<DelegationToken> {
    const { token } = decodeMessage(
      GetAuthenticationTokenResponse,
      await this.call('GetAuthenticationToken'),
    );
    if (token?.identifier === undefined || token.password === undefined) {
      throw new RowanError('ERR_SECURITY', 'The cluster gave no delegation token. Connect with Kerberos.');
    }
    const { identifier, password } = token;
    const service = await this.cluster.registry.clusterId(this.cluster.settings.rpcTimeout);
    return { identifier, password, service };
  }

  async whoAmI(): Promise<{ readonly user: string; readonly method: string }> {
    const { username = '', authMethod = '' } = decodeMessage(WhoAmIResponse, await this.call('WhoAmI'));
    return { user: username, method: authMethod };
  }

  private async call(method: string): Promise<Uint8Array> {
    const call = { table: META_TABLE, service: SERVICE, method, request: EMPTY_BYTES, repeatable: true };
    return (await callCoprocessor(this.cluster, call, EMPTY_BYTES)).value;
  }
}
