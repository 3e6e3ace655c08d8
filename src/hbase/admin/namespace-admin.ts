import { configurationOf, pairsOf } from './attributes.js';
import type { MasterClient } from './master-client.js';
import { master } from './rpcs.js';

type Properties = Readonly<Record<string, string>>;

/** Namespaces, and the properties that are kept with them. */
export class NamespaceAdmin {
  constructor(
    private readonly masters: MasterClient,
    private readonly nonces: () => { nonceGroup: bigint; nonce: bigint },
  ) {}

  async create(namespace: string, properties: Properties): Promise<void> {
    const request = { namespaceDescriptor: messageOf(namespace, properties), ...this.nonces() };
    await this.masters.procedure(master.createNamespace, request, `createNamespace ${namespace}`);
  }

  async properties(namespace: string): Promise<Properties> {
    const request = { namespaceName: namespace };
    const { namespaceDescriptor } = await this.masters.call(master.getNamespaceDescriptor, request);
    return configurationOf(namespaceDescriptor.configuration ?? []);
  }

  async modify(namespace: string, properties: Properties): Promise<void> {
    const request = { namespaceDescriptor: messageOf(namespace, properties), ...this.nonces() };
    await this.masters.procedure(master.modifyNamespace, request, `modifyNamespace ${namespace}`);
  }

  async delete(namespace: string): Promise<void> {
    const request = { namespaceName: namespace, ...this.nonces() };
    await this.masters.procedure(master.deleteNamespace, request, `deleteNamespace ${namespace}`);
  }

  async list(): Promise<string[]> {
    const { namespaceName = [] } = await this.masters.call(master.listNamespaces, {});
    return [...namespaceName].sort();
  }
}

function messageOf(
  namespace: string,
  properties: Properties,
): { name: Uint8Array; configuration: { name: string; value: string }[] } {
  return { name: Buffer.from(namespace, 'utf8'), configuration: pairsOf(properties) };
}
