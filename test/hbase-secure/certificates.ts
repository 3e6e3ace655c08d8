import { join } from 'node:path';
import { run } from '../hbase/server/class-path.js';

export const PASSWORD = 'of the tests';

async function keytool(...args: readonly string[]): Promise<void> {
  const { code, output } = await run('keytool', [...args, '-storepass', PASSWORD]);
  if (code !== 0) throw new Error(`keytool ${args[0]} failed: ${output}`);
}

/** Makes keys with certificates that they have signed themselves (`NAME.p12`, `NAME.pem`), and `trust.p12` that trusts them. */
export async function makeKeys(folder: string, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => makeKey(folder, name)));
  for (const name of names) {
    const store = ['-keystore', join(folder, 'trust.p12'), '-storetype', 'PKCS12', '-alias', name];
    await keytool('-importcert', '-noprompt', '-file', join(folder, `${name}.pem`), ...store);
  }
}

async function makeKey(folder: string, name: string): Promise<void> {
  const store = ['-keystore', join(folder, `${name}.p12`), '-storetype', 'PKCS12', '-alias', name];
  const subject = ['-dname', `CN=${name}`, '-ext', 'san=dns:localhost,ip:127.0.0.1'];
  await keytool('-genkeypair', '-keyalg', 'RSA', '-keysize', '2048', ...subject, ...store);
  await keytool('-exportcert', '-rfc', '-file', join(folder, `${name}.pem`), ...store);
}
