import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

/** The checkout that these files are part of. */
export const PROJECT_ROOT = join(here, '..', '..', '..');

/** Everything that is fetched, generated or written by a server; ignored by git. */
export const HBASE_HOME = join(PROJECT_ROOT, '.hbase');

export const POMS = join(here, 'poms');

/** The folders of one running HBase: its configuration, data, logs and process ids. */
export class InstanceLayout {
  readonly root: string;
  readonly conf: string;
  readonly data: string;
  readonly log: string;
  readonly tmp: string;
  readonly stateFile: string;

  constructor(readonly name: string) {
    this.root = join(HBASE_HOME, 'instances', name);
    this.conf = join(this.root, 'conf');
    this.data = join(this.root, 'data');
    this.log = join(this.root, 'log');
    this.tmp = join(this.root, 'tmp');
    this.stateFile = join(this.root, 'server.json');
  }
}
