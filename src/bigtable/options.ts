import { InvalidArgumentError } from '../errors.js';
import { checkPositiveInteger, describe } from '../table/checks.js';

/** The options of a connection to Bigtable: the instance, credentials and timeouts. */

/** Options of a connection to an instance of Google Cloud Bigtable. */
export interface BigtableOptions {
  /** The Google Cloud project. */
  readonly projectId: string;
  readonly instanceId: string;
  /** The app profile whose routing is used; default: the instance's default profile. Checks need single-cluster routing. */
  readonly appProfileId?: string | undefined;
  /**
   * "host:port" of an emulator, without TLS and credentials. Default: the environment's `BIGTABLE_EMULATOR_HOST`, as
   * for Google's own clients.
   */
  readonly emulatorHost?: string | undefined;
  /** Passed to Google's client unchanged: `credentials`, `keyFilename`, `apiEndpoint`, `universeDomain`, `grpc.…`. */
  readonly clientOptions?: Readonly<Record<string, unknown>> | undefined;
  /** Milliseconds for a call, retries included; default 60,000. */
  readonly operationTimeout?: number | undefined;
  /** Milliseconds for one attempt of a call that concerns single rows; default 20,000. */
  readonly rpcTimeout?: number | undefined;
  /** Milliseconds for a call that creates or changes a table; default 180,000. */
  readonly adminTimeout?: number | undefined;
  /** Milliseconds before the first retry of a call; later ones wait longer. Default 50. */
  readonly pause?: number | undefined;
  /**
   * Milliseconds for which a table's descriptor (families, VERSIONS, TTL) is cached; default 60,000. Changes by other processes
   * are seen after it.
   */
  readonly descriptorLifetime?: number | undefined;
}

export const BIGTABLE_OPTIONS: Readonly<Record<keyof BigtableOptions, true>> = {
  projectId: true,
  instanceId: true,
  appProfileId: true,
  emulatorHost: true,
  clientOptions: true,
  operationTimeout: true,
  rpcTimeout: true,
  adminTimeout: true,
  pause: true,
  descriptorLifetime: true,
};

export interface BigtableSettings {
  readonly projectId: string;
  readonly instanceId: string;
  readonly appProfileId: string;
  readonly emulator: { readonly host: string; readonly port: number } | undefined;
  readonly clientOptions: Readonly<Record<string, unknown>>;
  readonly operationTimeout: number;
  readonly rpcTimeout: number;
  readonly adminTimeout: number;
  readonly pause: number;
  readonly descriptorLifetime: number;
}

/** Fills in defaults. @throws InvalidArgumentError naming the invalid option. */
export function resolveSettings(options: BigtableOptions): BigtableSettings {
  const { projectId, instanceId, appProfileId = '', clientOptions = {} } = options;
  for (const [name, value] of Object.entries({ projectId, instanceId })) {
    if (typeof value === 'string' && /^[\w.:-]+$/.test(value)) continue;
    throw new InvalidArgumentError(
      `connectBigtable needs ${name}, as the Google Cloud console shows it, not ${describe(value)}.`,
    );
  }
  if (typeof appProfileId !== 'string') {
    throw new InvalidArgumentError(
      `appProfileId is the name of an app profile, not ${describe(appProfileId)}.`,
    );
  }
  const milliseconds = (name: keyof BigtableOptions, otherwise: number): number =>
    checkPositiveInteger((options[name] as number | undefined) ?? otherwise, name);
  return {
    projectId,
    instanceId,
    appProfileId,
    emulator: emulatorOf(options.emulatorHost ?? process.env['BIGTABLE_EMULATOR_HOST']),
    clientOptions,
    operationTimeout: milliseconds('operationTimeout', 60_000),
    rpcTimeout: milliseconds('rpcTimeout', 20_000),
    adminTimeout: milliseconds('adminTimeout', 180_000),
    pause: milliseconds('pause', 50),
    descriptorLifetime: milliseconds('descriptorLifetime', 60_000),
  };
}

function emulatorOf(text: string | undefined): BigtableSettings['emulator'] {
  if (text === undefined || text === '') return undefined;
  const found = /^(.+):(\d{1,5})$/.exec(String(text));
  if (found === null) {
    throw new InvalidArgumentError(`The host of an emulator is "host:port", not ${describe(text)}.`);
  }
  return { host: found[1]!, port: Number(found[2]) };
}
