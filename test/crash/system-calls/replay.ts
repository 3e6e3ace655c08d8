/** Plays what the shim has recorded on a disk in memory, which can lose power after each of the calls. */

import { readFileSync } from 'node:fs';
import { toLatin1 } from '../../../src/bytes/index.js';
import type { FileHandle } from '../../../src/store/fs/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

interface Recorded {
  readonly kind: string;
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly path: string;
  readonly to: string;
}

export function readRecords(log: string): Recorded[] {
  const bytes = readFileSync(log);
  const records: Recorded[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at);
    const [, kind, number, length, path, to] = /^(\w) (\d+) (\d+) ([^\t]*)\t?(.*)$/.exec(
      bytes.toString('utf8', at, end),
    )!;
    const from = end + 1;
    at = from + Number(length);
    records.push({
      kind: kind!,
      number: Number(number),
      bytes: bytes.subarray(from, at),
      path: path!,
      to: to!,
    });
  }
  return records;
}

export class Replay {
  /** What the writer had noted as acknowledged. */
  readonly acknowledged: string[] = [];
  readonly disk: MemoryFileSystem;
  private readonly handles = new Map<string, FileHandle>();
  /** Syncs under way, by number: what lets each end. */
  private readonly syncs = new Map<number, () => Promise<void>>();
  private gate: Promise<void> = Promise.resolve();

  constructor(root: string) {
    this.disk = new MemoryFileSystem({ syncDelay: () => this.gate });
    this.disk.mkdir(root);
    for (let path = root; path.length > 1; path = path.slice(0, path.lastIndexOf('/')))
      this.disk.syncDirectory(path.slice(0, path.lastIndexOf('/')) || '/');
  }

  /** False for what is no change of the store's. */
  async play({ kind, number, bytes, path, to }: Recorded): Promise<boolean> {
    if (path.endsWith('/acks')) {
      if (kind === 'W') this.acknowledged.push(toLatin1(bytes).trimEnd());
      return false;
    }
    const { disk } = this;
    if (kind === 'C') this.handles.set(path, disk.create(path));
    else if (kind === 'W') this.handle(path).write(bytes, 0, bytes.length);
    else if (kind === 'P') disk.writeAt(path, bytes, number);
    else if (kind === 'B') this.beginSync(path, number);
    else if (kind === 'E') await this.syncs.get(number)!();
    else if (kind === 'T') this.handle(path).truncate(number);
    else if (kind === 'D') disk.syncDirectory(path);
    else if (kind === 'M') disk.mkdir(path);
    else if (kind === 'L') disk.link(path, to);
    else if (kind === 'R') this.rename(path, to);
    // Sockets and the like are not made by calls that are recorded.
    else if (kind === 'U' && disk.exists(path)) this.remove(path);
    return true;
  }

  private handle(path: string): FileHandle {
    let handle = this.handles.get(path);
    if (handle === undefined) {
      handle = this.disk.openAppend(path);
      this.handles.set(path, handle);
    }
    return handle;
  }

  /** It takes what was written before it, and is done when its end was recorded. */
  private beginSync(path: string, number: number): void {
    let open = (): void => {};
    this.gate = new Promise((resolve) => {
      open = resolve;
    });
    const done = this.handle(path).syncAsync();
    this.syncs.set(number, () => {
      open();
      return done;
    });
  }

  private rename(from: string, to: string): void {
    this.disk.rename(from, to);
    const handle = this.handles.get(from);
    this.handles.delete(from);
    this.handles.delete(to);
    if (handle !== undefined) this.handles.set(to, handle);
  }

  private remove(path: string): void {
    this.handles.delete(path);
    if (this.disk.isDirectory(path)) this.disk.rmdir(path);
    else this.disk.unlink(path);
  }
}
