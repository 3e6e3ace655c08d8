import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * Google's emulator of Bigtable, built from its Go module: in memory, one process, no credentials. Programs that tests
 * compare with are built the same way.
 */

/** A program of a Go module. */
interface GoProgram {
  readonly module: string;
  readonly version: string;
}

const EMULATOR: GoProgram = { module: 'cloud.google.com/go/bigtable/cmd/emulator', version: 'v1.58.0' };
/** Google's command line for Bigtable, in the last version that is part of the module of its client. */
export const CBT: GoProgram = { module: 'cloud.google.com/go/bigtable/cmd/cbt', version: 'v1.13.0' };
/** Decodes HCL, the language of Terraform. */
export const HCLDEC: GoProgram = { module: 'github.com/hashicorp/hcl/v2/cmd/hcldec', version: 'v2.25.0' };

/** What is built and written by running emulators; ignored by git. */
export const BIGTABLE_HOME = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '.bigtable');
/** A build in another process is waited for so long, ms; the first one takes a minute and a half. */
const LONGEST_BUILD = 900_000;
const LONGEST_START = 30_000;

/** The path of a program, which is built if it is not there. @throws Error when Go is not installed. */
export async function builtProgram({ module, version }: GoProgram): Promise<string> {
  const name = basename(module);
  const binary = join(BIGTABLE_HOME, `${name}-${version}`);
  await mkdir(BIGTABLE_HOME, { recursive: true });
  const lock = `${binary}.building`;
  for (const end = Date.now() + LONGEST_BUILD; !existsSync(binary); ) {
    const mine = await open(lock, 'wx').catch(() => undefined);
    if (mine === undefined) {
      if (Date.now() > end) throw new Error(`Another process builds ${name} for too long. Remove ${lock}.`);
      await delay(500);
      continue;
    }
    try {
      const folder = `${binary}.new`;
      await promisify(execFile)('go', ['install', `${module}@${version}`], {
        env: { ...process.env, GOBIN: folder, GOFLAGS: '-p=2' },
      });
      await rename(join(folder, name), binary);
      await rm(folder, { recursive: true });
    } catch (cause) {
      throw new Error(`${name} could not be built. Install Go 1.25 or newer.`, { cause });
    } finally {
      await mine.close();
      await rm(lock);
    }
  }
  return binary;
}

/** A running emulator. What is in it is lost when it ends. */
export class Emulator {
  private constructor(
    /** "host:port". */
    readonly host: string,
    readonly process: ChildProcess,
  ) {}

  /** `port` 0: one that is free. `detached`: it goes on when this process ends. */
  static async start(port = 0, detached = false): Promise<Emulator> {
    const program = await builtProgram(EMULATOR);
    const log = detached ? await open(join(BIGTABLE_HOME, 'emulator.log'), 'w') : undefined;
    const child = spawn(program, ['-host', '127.0.0.1', '-port', String(port)], {
      detached,
      stdio: ['ignore', 'pipe', log?.fd ?? 'ignore'],
    });
    const host = await new Promise<string>((resolve, reject) => {
      let text = '';
      const timer = setTimeout(
        () => reject(new Error(`The emulator has not started: ${text}`)),
        LONGEST_START,
      );
      child.once('exit', (code) => reject(new Error(`The emulator has ended (${code}): ${text}`)));
      child.stdout!.on('data', (data: Buffer) => {
        text += data.toString();
        const found = /running on (\S+:\d+)/.exec(text);
        if (found === null) return;
        clearTimeout(timer);
        resolve(found[1]!);
      });
    });
    child.removeAllListeners('exit');
    if (detached) {
      child.stdout!.destroy();
      child.unref();
      await log!.close();
    }
    return new Emulator(host, child);
  }

  /** Ends it at once, as a machine does that fails. */
  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGKILL');
    await ended;
  }
}
