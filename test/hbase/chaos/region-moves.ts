import { setTimeout as delay } from 'node:timers/promises';
import type { Admin, RegionInfo } from '../../../src/table/index.js';
import { bytesField, MasterConnection, varintField } from '../server/master-connection.js';

const REGION_NAME = 1n;
const ENCODED_REGION_NAME = 2n;
/** How often the master is asked for one change that its file system has failed at. */
const ATTEMPTS = 10;

/** Milliseconds between two moves of {@link RegionMover.keepMoving}. */
const BETWEEN_MOVES = 400;

/** Moves and merges regions by the master's own rpc, which the table interface has no words for. */
export class RegionMover {
  constructor(private readonly master: string) {}

  /** Moves the region to another server of the master's choice; returns when it is open there. */
  async move(region: RegionInfo): Promise<void> {
    await this.ask((connection) => connection.call('MoveRegion', bytesField(1, specifier(region))));
  }

  /** Closes the region, and opens it nowhere until {@link assign}; returns when it is closed. */
  async unassign(region: RegionInfo): Promise<void> {
    await this.ask((connection) => connection.call('UnassignRegion', bytesField(1, fullName(region))));
  }

  /** Opens a region that is open nowhere. */
  async assign(region: RegionInfo): Promise<void> {
    await this.ask((connection) => connection.call('AssignRegion', bytesField(1, fullName(region))));
  }

  /** Moves the regions of these tables, one after the other, until that is ended; then says how often one was moved. */
  keepMoving(admin: Admin, tables: readonly string[]): () => Promise<number> {
    let ended = false;
    let moves = 0;
    const moving = (async () => {
      while (!ended) {
        for (const table of tables) {
          // Tables are emptied, disabled and opened anew meanwhile.
          const regions = await admin.getRegions(table).catch(() => []);
          for (const region of regions) {
            if (ended) return;
            const moved = await this.move(region).then(
              () => true,
              () => false,
            );
            if (moved) moves++;
            // Scans get nowhere where a region moves before they have come to its first rows, again and again.
            await delay(BETWEEN_MOVES);
          }
        }
        await delay(BETWEEN_MOVES);
      }
    })();
    return async () => {
      ended = true;
      await moving;
      return moves;
    };
  }

  /** Merges neighbours. */
  async merge(regions: readonly RegionInfo[]): Promise<void> {
    const request = [...regions.map((region) => bytesField(1, specifier(region))), varintField(3, 1n)];
    await this.ask((connection) => connection.procedure('MergeTableRegions', Buffer.concat(request)));
  }

  private async ask(question: (connection: MasterConnection) => Promise<unknown>): Promise<void> {
    const [host = '', port = ''] = this.master.split(':');
    const connection = await MasterConnection.open(host, Number(port), 60_000);
    try {
      for (let attempts = 1; ; attempts++) {
        try {
          await question(connection);
          return;
        } catch (error) {
          // Hadoop asks `ls` about files that it has listed, and a flush or compaction beside it takes them away.
          if (attempts === ATTEMPTS || !String(error).includes('to get file permissions')) throw error;
        }
      }
    } finally {
      connection.close();
    }
  }
}

/** `RegionSpecifier` by the whole name, which has no bytes to be escaped. */
function fullName(region: RegionInfo): Buffer {
  return Buffer.concat([varintField(1, REGION_NAME), bytesField(2, Buffer.from(region.name))]);
}

/** `RegionSpecifier` by the 32 hex digits at the end of a region's name. */
function specifier(region: RegionInfo): Buffer {
  const encoded = /\.([0-9a-f]{32})\.?$/.exec(region.name)?.[1];
  if (encoded === undefined) throw new Error(`"${region.name}" is not the name of a region.`);
  return Buffer.concat([varintField(1, ENCODED_REGION_NAME), bytesField(2, Buffer.from(encoded))]);
}
