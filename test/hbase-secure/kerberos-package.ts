import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { KerberosModule } from '../../src/hbase/security/kerberos.js';
import { run } from '../hbase/server/class-path.js';
import { HBASE_HOME } from '../hbase/server/layout.js';

const VERSION = '7.0.0';

/**
 * The npm package `kerberos`, which Rowan's users install themselves: fetched and compiled under `.hbase/` the first time.
 * For that the headers of MIT Kerberos have to be there; where they are not, Debian's packages of them are unpacked.
 * With `mended` its `wrap` keeps to what it is given when no `user` is: as it is published it always answers "no layer", and
 * no connection can be signed or sealed with it.
 * @throws Error saying what is missing.
 */
export async function loadKerberosPackage(mended: boolean): Promise<KerberosModule> {
  const folder = join(HBASE_HOME, mended ? 'kerberos-mended' : 'kerberos');
  const installed = join(folder, 'node_modules', 'kerberos');
  if (!existsSync(join(installed, 'build', 'Release', 'kerberos.node'))) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder];
    await must('npm', [...install, `kerberos@${VERSION}`, 'node-gyp@11']);
    if (mended) await mend(join(installed, 'src', 'unix', 'kerberos_unix.cc'));
    const gyp = join(folder, 'node_modules', 'node-gyp', 'bin', 'node-gyp.js');
    // The headers of the Node that runs this, if they came with it; else node-gyp fetches them.
    const own = join(process.execPath, '..', '..');
    const headers = existsSync(join(own, 'include', 'node', 'node_api.h')) ? [`--nodedir=${own}`] : [];
    const env = { ...process.env, CPLUS_INCLUDE_PATH: await kerberosHeaders(folder) };
    await must(process.execPath, [gyp, 'rebuild', '-C', installed, ...headers], env);
  }
  return createRequire(join(folder, 'index.js'))('kerberos') as KerberosModule;
}

async function mend(file: string): Promise<void> {
  const source = await readFile(file, 'utf8');
  const call = 'challenge.c_str(), user.c_str(), protect';
  if (!source.includes(call)) throw new Error(`${file} is not what it was: is the fault mended?`);
  await writeFile(
    file,
    source.replace(call, 'challenge.c_str(), user.empty() ? NULL : user.c_str(), protect'),
  );
}

async function must(command: string, args: readonly string[], env = process.env): Promise<void> {
  const { code, output } = await run(command, args, env);
  if (code === 0) return;
  throw new Error(
    'The package kerberos cannot be built. It needs the library and the headers of MIT Kerberos (Debian: apt-get ' +
      `install libgssapi-krb5-2 libkrb5-dev), Python and a C++ compiler:\n${output.slice(-3000)}`,
  );
}

/** Where headers lie that are not the system's own; empty when those are there, or Debian's cannot be had. */
async function kerberosHeaders(folder: string): Promise<string> {
  if (existsSync('/usr/include/gssapi/gssapi.h')) return '';
  const unpacked = join(folder, 'headers');
  const found = join(unpacked, 'usr', 'include', 'mit-krb5');
  if (!existsSync(found)) {
    await mkdir(unpacked, { recursive: true });
    const packages = 'libkrb5-dev krb5-multidev comerr-dev';
    await run('sh', ['-c', `cd '${unpacked}' && apt-get download ${packages}`]);
    const archives = (await readdir(unpacked)).filter((name) => name.endsWith('.deb'));
    for (const name of archives) await run('dpkg', ['-x', join(unpacked, name), unpacked]);
  }
  return `${found}:${join(unpacked, 'usr', 'include')}`;
}
