import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { InstanceLayout } from './layout.js';

/** What HBase needs opened on Java 17 (`bin/hbase`, add_jdk11_jvm_flags). */
export const MODULE_FLAGS: readonly string[] = [
  '-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true',
  '--add-modules=jdk.unsupported',
  ...[
    'java.base/java.io',
    'java.base/java.nio',
    'java.base/java.net',
    'java.base/sun.nio.ch',
    'java.base/java.lang',
    'java.base/jdk.internal.ref',
    'java.base/java.lang.reflect',
    'java.base/java.util',
    'java.base/java.util.concurrent',
  ].map((module) => `--add-opens=${module}=ALL-UNNAMED`),
  ...[
    'java.base/jdk.internal.misc',
    'java.security.jgss/sun.security.krb5',
    'java.base/sun.net.dns',
    'java.base/sun.net.util',
  ].map((module) => `--add-exports=${module}=ALL-UNNAMED`),
];

/** Milliseconds after which a tool or a shell that does not end is ended: before the test is that waits for it. */
export const TOOL_PATIENCE = 800_000;

interface JvmOptions {
  readonly layout: InstanceLayout;
  /** Names the log file and the entry in the state file. */
  readonly name: string;
  readonly mainClass: string;
  readonly args: readonly string[];
  readonly classPath: string;
  readonly heap: string;
  readonly jit: 'quick' | 'full';
  readonly systemProperties?: Readonly<Record<string, string>>;
  readonly detached: boolean;
}

/** One Java process of an HBase. Its output goes to `log/<name>.log`. */
export class Jvm {
  private readonly child: ChildProcess;
  private reaper: ChildProcess | undefined;
  readonly exited: Promise<void>;

  private constructor(
    readonly name: string,
    readonly logFile: string,
    child: ChildProcess,
    detached: boolean,
  ) {
    this.child = child;
    this.exited = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    if (detached) child.unref();
    else this.startReaper();
  }

  static start(options: JvmOptions): Jvm {
    const logFile = join(options.layout.log, `${options.name}.log`);
    const log = openSync(logFile, 'a');
    const child = spawn('java', commandLine(options), {
      cwd: options.layout.root,
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    return new Jvm(options.name, logFile, child, options.detached);
  }

  get pid(): number {
    if (this.child.pid === undefined)
      throw new Error(`${this.name} could not be started: is java on the PATH?`);
    return this.child.pid;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null && this.child.pid !== undefined;
  }

  /** `kill -9`: a crash. */
  async kill(): Promise<void> {
    if (this.running) process.kill(this.pid, 'SIGKILL');
    await this.exited;
    this.dismissReaper();
  }

  /** Asks it to end, and kills it when it has not within `milliseconds`. */
  async stop(milliseconds = 4000): Promise<void> {
    if (this.running) {
      process.kill(this.pid, 'SIGCONT');
      process.kill(this.pid, 'SIGTERM');
      const timer = new AbortController();
      await Promise.race([
        this.exited,
        delay(milliseconds, undefined, { signal: timer.signal }).catch(() => undefined),
      ]);
      timer.abort();
    }
    await this.kill();
  }

  /** Stops it in its tracks, sockets left open: a server that hangs. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** The last lines that it wrote. */
  logTail(lines = 40): string {
    return readFileSync(this.logFile, 'utf8').split('\n').slice(-lines).join('\n');
  }

  /**
   * However this process ends, even by kill -9, the pipe to the reaper closes, and the reaper kills the JVM: a test run
   * that is broken off leaves no server behind.
   */
  private startReaper(): void {
    const script = 'cat > /dev/null; kill -9 "$1" 2> /dev/null';
    this.reaper = spawn('sh', ['-c', script, 'hbase-reaper', String(this.pid)], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.reaper.unref();
    (this.reaper.stdin as unknown as { unref?: () => void } | null)?.unref?.();
  }

  private dismissReaper(): void {
    // Killed before its pipe closes: the process id it guards may belong to somebody else by then.
    this.reaper?.kill('SIGKILL');
    this.reaper = undefined;
  }
}

function commandLine(options: JvmOptions): string[] {
  const { layout, jit } = options;
  const properties = {
    'java.net.preferIPv4Stack': 'true',
    'java.awt.headless': 'true',
    'java.io.tmpdir': layout.tmp,
    'hbase.log.dir': layout.log,
    'hbase.home.dir': layout.root,
    ...options.systemProperties,
  };
  return [
    ...MODULE_FLAGS,
    '-Xms256m',
    `-Xmx${options.heap}`,
    ...(jit === 'quick' ? ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'] : ['-XX:+UseG1GC']),
    '-XX:+ExitOnOutOfMemoryError',
    ...Object.entries(properties).map(([name, value]) => `-D${name}=${value}`),
    '-cp',
    `${layout.conf}${delimiter}${options.classPath}`,
    options.mainClass,
    ...options.args,
  ];
}
