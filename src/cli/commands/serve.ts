import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { InvalidArgumentError } from '../../errors.js';
import type { ServeOptions } from '../../server/options.js';
import type { ServedUsers } from '../../server/security/users.js';
import { type CliContext, packageVersion, signalled, textOf } from '../context.js';
import { requireStoreAt } from '../databases.js';
import { encryptionFromEnvironment } from '../encryption.js';

interface ServeFlags {
  readonly listen: string;
  readonly zookeeper?: string | true;
  readonly announce?: string;
  readonly create?: boolean;
  readonly readOnly?: boolean;
  readonly bulkLoad?: string;
  readonly insecure?: boolean;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsCa?: string;
  readonly users?: string;
}

const ZOOKEEPER = '127.0.0.1:2181';

/** `rowan serve <folder>`: serves a store by HBase's protocol until SIGTERM or SIGINT (docs/server.md). */
export function addServeCommand(program: Command, context: CliContext): void {
  program
    .command('serve')
    .summary("Serves an embedded store by HBase's own protocol.")
    .description(
      "Serves HBase clients (Java, HBase's shell, other languages, and connect of this package) from an embedded store, " +
        'as registry, master and region server in one process. At SIGTERM or SIGINT it answers the calls in progress and closes the ' +
        'store.',
    )
    .argument('<folder>', 'the folder of an embedded store')
    .option(
      '--listen <address>',
      'address to listen at, host:port; port 0 chooses a free one',
      '127.0.0.1:16020',
    )
    .option(
      '--zookeeper [address]',
      `also answer clients' ZooKeeper requests, at ${ZOOKEEPER} or another address`,
    )
    .option('--announce <address>', 'host or host:port that clients are told to connect to')
    .option('--create', 'create the store if it is missing')
    .option('--read-only', 'refuse every write')
    .option('--bulk-load <folder>', 'let clients load the HFiles in this folder')
    .option('--tls-cert <file>', 'use TLS with this certificate (PEM); requires --tls-key')
    .option('--tls-key <file>', 'the key of the certificate (PEM)')
    .option('--tls-ca <file>', 'require client certificates signed by one of these (PEM)')
    .option('--users <file>', 'the users and their permissions, as JSON (docs/server.md)')
    .option('--insecure', 'allow to listen at an address that other machines reach, without authentication')
    .action((folder: string, flags: ServeFlags) => run(folder, flags, context));
}

async function run(folder: string, flags: ServeFlags, context: CliContext): Promise<void> {
  if (flags.create !== true)
    await requireStoreAt(folder, 'Check the path, or begin a new store with --create.');
  const options = optionsOf(flags);
  const [{ openEmbedded }, { serve }] = await Promise.all([
    import('../../store/engine.js'),
    import('../../server/server.js'),
  ]);
  // Registered first, so that a signal during opening is not lost.
  const signal = signalled();
  try {
    const store = await openEmbedded(folder, {
      ...encryptionFromEnvironment(),
      createIfMissing: flags.create === true,
    });
    try {
      const server = await serve(store, options);
      try {
        context.write(`rowan ${packageVersion()} serves ${folder} at ${server.endpoint}\n`);
        if (server.zookeeperEndpoint !== undefined)
          context.write(`ZooKeeper requests are answered at ${server.zookeeperEndpoint}\n`);
        const name = await signal.came;
        context.write(`${name}: the server is stopping\n`);
      } finally {
        await server.close();
      }
    } finally {
      await store.close();
    }
  } finally {
    signal.forget();
  }
}

function optionsOf(flags: ServeFlags): ServeOptions {
  const { zookeeper, listen, announce, bulkLoad, readOnly, insecure, tlsCert, tlsKey, tlsCa, users } = flags;
  if ((tlsCert === undefined) !== (tlsKey === undefined) || (tlsCa !== undefined && tlsCert === undefined)) {
    throw new InvalidArgumentError(
      '--tls-cert and --tls-key require each other, and --tls-ca requires both.',
    );
  }
  return {
    ...(tlsCert !== undefined &&
      tlsKey !== undefined && {
        tls: {
          cert: textOf(tlsCert),
          key: textOf(tlsKey),
          ...(tlsCa !== undefined && { ca: textOf(tlsCa) }),
        },
      }),
    ...(users !== undefined && { users: usersOf(users) }),
    listen,
    ...(zookeeper === undefined ? {} : { zookeeper: zookeeper === true ? ZOOKEEPER : zookeeper }),
    ...(announce === undefined ? {} : { announce }),
    ...(bulkLoad === undefined ? {} : { bulkLoad }),
    readOnly: readOnly === true,
    insecure: insecure === true,
  };
}

/**
 * Reads the users file.
 * @throws InvalidArgumentError when other users can read its secrets, or it is not JSON.
 */
function usersOf(file: string): ServedUsers {
  const text = textOf(file);
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
    throw new InvalidArgumentError(
      `"${file}" contains secrets, but other users can read it. Run: chmod 600 ${file}`,
    );
  }
  try {
    return JSON.parse(text) as ServedUsers;
  } catch (cause) {
    throw new InvalidArgumentError(`"${file}" is not JSON: ${(cause as Error).message}.`, { cause });
  }
}
