import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectHBase } from '../../src/hbase/engine.js';
import { resolveSettings } from '../../src/hbase/options.js';
import { optionsOf, parseSite, withSite } from '../../src/hbase/site.js';
import { FakePeer } from './fake-peer.js';

const property = (name: string, value: string, more = ''): string =>
  `<property><name>${name}</name><value>${value}</value>${more}</property>`;
const configuration = (...properties: string[]): string =>
  `<?xml version="1.0"?>\n<?xml-stylesheet href="configuration.xsl"?>\n<!-- <property> of nobody -->\n` +
  `<configuration>\n${properties.join('\n')}\n</configuration>\n`;

const reference = (name: string): string => `$\{${name}}`;

describe('an hbase-site.xml', () => {
  it('is read with its comments, marked sections, entities, references and final values', () => {
    vi.stubEnv('ROWAN_TEST_HOST', 'zk9');
    const site = parseSite(
      configuration(
        property('a', ' one &amp; two &#x41; '),
        property('b', '<![CDATA[<x>]]>'),
        property('c', `${reference('a')}/${reference('env.ROWAN_TEST_HOST')}/${reference('unknown')}`),
        property('d', 'first', '<final>true</final>'),
        property('d', 'second'),
        property('e', 'first', '<source>x</source><description>what it <b>is</b></description>'),
        property('e', 'second'),
        '<property><name>f</name><value/></property>',
        property('g', `${reference('g')}x`),
      ),
      'site.xml',
    );
    vi.unstubAllEnvs();
    expect(Object.fromEntries(site)).toMatchObject({
      a: 'one & two A',
      b: '<x>',
      c: `one & two A/zk9/${reference('unknown')}`,
      d: 'first',
      e: 'second',
    });
    expect(site.get('g')?.length).toBeLessThan(100);
  });

  it.each([
    '<configuration><property></configuration>',
    '<configuration>',
    '<a',
    'x < y',
    '<configuration><xi:include href="x"/></configuration>',
  ])('is refused when it is broken: %s', (text) => {
    expect(() => parseSite(text, 'site.xml')).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT', message: expect.stringContaining('site.xml') }),
    );
  });

  it('says where the cluster is, in ZooKeeper or by its masters, and how patient a client is', () => {
    const quorum = property('hbase.zookeeper.quorum', 'zk1,zk2:2182 , zk3');
    const inZooKeeper = resolveSettings(
      optionsOf(
        parseSite(
          configuration(
            quorum,
            property('hbase.zookeeper.property.clientPort', '2185'),
            property('zookeeper.znode.parent', '/hbase-secure'),
            property('hbase.rpc.timeout', '1234'),
          ),
          'x',
        ),
      ),
    );
    expect(inZooKeeper).toMatchObject({
      masters: [],
      zookeeper: {
        quorum: [
          { host: 'zk1', port: 2185 },
          { host: 'zk2', port: 2182 },
          { host: 'zk3', port: 2185 },
        ],
        parent: '/hbase-secure',
      },
      rpcTimeout: 1234,
    });
    const masters = property('hbase.masters', 'm1:16000,m2');
    const rpc = property(
      'hbase.client.registry.impl',
      'org.apache.hadoop.hbase.client.RpcConnectionRegistry',
    );
    expect(optionsOf(parseSite(configuration(quorum, masters, rpc), 'x'))).toEqual({
      masters: 'm1:16000,m2',
    });
    const zk = property('hbase.client.registry.impl', 'org.apache.hadoop.hbase.client.ZKConnectionRegistry');
    expect(optionsOf(parseSite(configuration(quorum, masters, zk), 'x'))).toHaveProperty('zookeeper');
    const secure = configuration(
      property('hbase.security.authentication', 'kerberos'),
      property('hbase.regionserver.kerberos.principal', 'hb/_HOST@REALM'),
      property('hbase.client.netty.tls.enabled', 'true'),
    );
    expect(optionsOf(parseSite(secure, 'x'))).toMatchObject({ authenticator: { code: 0x51 }, tls: {} });
    expect(() => optionsOf(parseSite(configuration(property('hbase.rpc.timeout', 'soon')), 'x'))).toThrow(
      'hbase.rpc.timeout',
    );
  });

  describe('in a folder', () => {
    let folder: string;
    let peer: FakePeer;

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rowan-site-'));
      peer = await FakePeer.start();
      await writeFile(join(folder, 'hbase-site.xml'), configuration(property('hbase.masters', peer.address)));
    });
    afterEach(async () => {
      vi.unstubAllEnvs();
      await peer.stop();
      await rm(folder, { recursive: true });
    });

    it('leads to its cluster: by the option, or by HBASE_CONF_DIR when nothing else is said', async () => {
      const named = await connectHBase({ configuration: folder });
      expect(named.clusterId).toBe('fake');
      await named.close();
      vi.stubEnv('HBASE_CONF_DIR', folder);
      const unnamed = await connectHBase({});
      expect(unnamed.clusterId).toBe('fake');
      await unnamed.close();
      expect(await withSite({ masters: ['other:1'] })).toEqual({ masters: ['other:1'] });
      expect(await withSite({ configuration: folder, masters: ['other:1'], pause: 7 })).toEqual({
        configuration: folder,
        masters: ['other:1'],
        zookeeper: undefined,
        pause: 7,
      });
    });

    it('that is not there is named in the error', async () => {
      await expect(connectHBase({ configuration: join(folder, 'none') })).rejects.toMatchObject({
        code: 'ERR_INVALID_ARGUMENT',
        message: expect.stringContaining(join(folder, 'none')),
      });
    });
  });
});

describe('what cannot be an address', () => {
  it.each([
    [undefined],
    [{}],
    [{ masters: [] }],
    [{ masters: 7 }],
    [{ masters: [7] }],
    [{ masters: 'a b' }],
    [{ zookeeper: { quorum: [] } }],
    [{ zookeeper: { quorum: 7 } }],
    [{ zookeeper: { quorum: 'zk1:99999' } }],
    [{ zookeeper: { quorum: 'zk1', clientPort: 0 } }],
    [{ zookeeper: { quorum: 'zk1', parent: 'hbase' } }],
  ])('is refused in words: %j', async (options) => {
    vi.stubEnv('HBASE_CONF_DIR', '');
    await expect(connectHBase(options as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    vi.unstubAllEnvs();
  });
});
