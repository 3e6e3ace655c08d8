import { readFileSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { InvalidArgumentError } from '../../errors.js';
import type { ServeOptions } from '../../server/options.js';
import type { ServedUsers } from '../../server/security/users.js';
import { type CliContext, packageVersion } from '../context.js';
import { requireStore } from '../databases.js';
import { signalled } from '../signals.js';

interface ServeFlags {
  readonly listen: string;
  readonly zookeeper?: string | true;
  readonly announce?: string;
  readonly create?: boolean;
  readonly readOnly?: boolean;
  readonly insecure?: boolean;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsCa?: string;
  readonly users?: string;
}

const ZOOKEEPER = '127.0.0.1:2181';

/** `rowan serve <folder>`: a store behind HBase's own protocol, until SIGTERM or SIGINT (docs/server.md). */
export function addServeCommand(program: Command, context: CliContext): void {
  program
    .command('serve')
    .summary("serve an embedded store by HBase's own protocol")
    .description(
      "Answers HBase's clients (Java, HBase's shell, other languages, and connect of this package) from an embedded store, " +
        'as registry, master and region server in one process. It ends at SIGTERM and SIGINT: calls under way are answered, and the ' +
        'store is closed.',
    )
    .argument('<folder>', 'the folder of an embedded store')
    .option('--listen <address>', 'host:port; port 0 takes a free one', '127.0.0.1:16020')
    .option('--zookeeper [address]', `answer what clients ask ZooKeeper, at ${ZOOKEEPER} or another address`)
    .option('--announce <address>', 'host or host:port by which clients are told to come')
    .option('--create', 'make the store when it is not there')
    .option('--read-only', 'refuse every write')
    .option('--tls-cert <file>', 'speak TLS with this certificate (PEM), and --tls-key')
    .option('--tls-key <file>', 'the key of the certificate (PEM)')
    .option('--tls-ca <file>', 'clients show certificates that one of these has signed (PEM)')
    .option('--users <file>', 'who may come and what they may do, as JSON (docs/server.md)')
    .option('--insecure', 'listen where other machines reach it, with nobody asked who they are')
    .action((folder: string, flags: ServeFlags) => run(folder, flags, context));
}

async function run(folder: string, flags: ServeFlags, context: CliContext): Promise<void> {
  if (flags.create !== true) requireStore(folder);
  const [{ openEmbedded }, { serve }] = await Promise.all([
    import('../../store/engine.js'),
    import('../../server/server.js'),
  ]);
  // A signal that comes while the store is opened ends it as well.
  const signal = signalled();
  const store = await openEmbedded(folder, { createIfMissing: flags.create === true });
  try {
    const server = await serve(store, optionsOf(flags));
    try {
      context.write(`rowan ${packageVersion()} serves ${folder} at ${server.endpoint}\n`);
      if (server.zookeeperEndpoint !== undefined)
        context.write(`ZooKeeper's questions are answered at ${server.zookeeperEndpoint}\n`);
      const name = await signal.came;
      context.write(`${name}: the server ends\n`);
    } finally {
      await server.close();
    }
  } finally {
    signal.forget();
    await store.close();
  }
}

function optionsOf(flags: ServeFlags): ServeOptions {
  const { zookeeper, listen, announce, readOnly, insecure, tlsCert, tlsKey, tlsCa, users } = flags;
  if ((tlsCert === undefined) !== (tlsKey === undefined) || (tlsCa !== undefined && tlsCert === undefined)) {
    throw new InvalidArgumentError('--tls-cert and --tls-key go together, and --tls-ca with them.');
  }
  return {
    ...(tlsCert !== undefined &&
      tlsKey !== undefined && {
        tls: {
          cert: contentOf(tlsCert),
          key: contentOf(tlsKey),
          ...(tlsCa !== undefined && { ca: contentOf(tlsCa) }),
        },
      }),
    ...(users !== undefined && { users: usersOf(users) }),
    listen,
    ...(zookeeper === undefined ? {} : { zookeeper: zookeeper === true ? ZOOKEEPER : zookeeper }),
    ...(announce === undefined ? {} : { announce }),
    readOnly: readOnly === true,
    insecure: insecure === true,
  };
}

function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new InvalidArgumentError(`"${file}" cannot be read: ${(cause as Error).message}.`, { cause });
  }
}

/** @throws InvalidArgumentError for a file of secrets that others may read, or that is no JSON. */
function usersOf(file: string): ServedUsers {
  const text = contentOf(file).toString();
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
    throw new InvalidArgumentError(`"${file}" has secrets, and others may read it: chmod 600 ${file}.`);
  }
  try {
    return JSON.parse(text) as ServedUsers;
  } catch (cause) {
    throw new InvalidArgumentError(`"${file}" is no JSON: ${(cause as Error).message}.`, { cause });
  }
}
