/** Admin features that only some engines have. */

import type { Admin } from '../table/index.js';
import { CommandError } from './options.js';

export interface SnapshotFacts {
  readonly name: string;
  readonly table: string;
  /** Milliseconds since 1970. */
  readonly creationTime: number;
}

interface ServerFacts {
  readonly host: string;
  readonly port: number;
  readonly startCode: number;
  readonly regions: number;
}

interface SnapshotAdmin extends Admin {
  snapshot(name: string, table: string, type?: 'FLUSH' | 'SKIPFLUSH'): Promise<void>;
  listSnapshots(): Promise<SnapshotFacts[]>;
  deleteSnapshot(name: string): Promise<void>;
  cloneSnapshot(name: string, newTable: string): Promise<void>;
  restoreSnapshot(name: string): Promise<void>;
}

interface MergingAdmin extends Admin {
  mergeRegions(regions: readonly string[], force?: boolean): Promise<void>;
}

export interface ClusterAdmin extends SnapshotAdmin, MergingAdmin {
  moveRegion(region: string, server?: string): Promise<void>;
  assignRegion(region: string): Promise<void>;
  unassignRegion(region: string): Promise<void>;
  isBalancerEnabled(): Promise<boolean>;
  setBalancerRunning(on: boolean): Promise<boolean>;
  getServers(): Promise<ServerFacts[]>;
  getMaster(): Promise<string>;
}

export function isCluster(admin: Admin): admin is ClusterAdmin {
  return 'listSnapshots' in admin && 'getServers' in admin;
}

/**
 * The admin as one with snapshots.
 * @throws CommandError on an engine without snapshots.
 */
export function snapshotsOf(admin: Admin, command: string): SnapshotAdmin {
  if ('listSnapshots' in admin) return admin as SnapshotAdmin;
  throw new CommandError(`${command} is not supported: this engine has no snapshots.`);
}

/**
 * The admin as one that merges regions.
 * @throws CommandError on an engine that cannot.
 */
export function mergingOf(admin: Admin, command: string): MergingAdmin {
  if ('mergeRegions' in admin) return admin as MergingAdmin;
  throw new CommandError(`${command} is not supported: this engine cannot merge regions.`);
}

/**
 * The admin as one of a cluster.
 * @throws CommandError on an engine that is a single process.
 */
export function clusterOf(admin: Admin, command: string): ClusterAdmin {
  if (isCluster(admin)) return admin;
  throw new CommandError(`${command} requires an HBase cluster; the embedded store is a single process.`);
}
