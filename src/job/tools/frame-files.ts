/** What `exportTable` wrote, as rows of a table, so that a job reads it as any other. */

import { join } from 'node:path';
import { crc32 } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { Result, type ResultScanner, type Scan } from '../../table/index.js';
import { FileScanner } from '../files/file-scanner.js';
import { placeOfRow, rangesOfFiles, rowOfPlace } from '../files/place.js';
import type { JobReadable } from '../types.js';
import { END_BYTES, endOfFile, FRAME_HEAD_BYTES, HEAD, LARGEST_FRAME, rowsOfFrame } from './cell-frames.js';
import type { CellSource } from './cell-source.js';
import type { ExportedFile } from './export-manifest.js';

/** The cells of a folder whose manifest has these files; each is one split. `identity`: what sets this export apart from others in the folder. */
export function framesSource(folder: string, files: readonly ExportedFile[], identity: string): CellSource {
  return {
    signature: `${folder} (${identity})`,
    table: new FrameTable(folder, files),
    ranges: rangesOfFiles(files.length),
    rows({ row, cells }) {
      const { file, offset } = placeOfRow(row);
      return rowsOfFrame(cells[0]!.value, files[file]!.name, offset);
    },
  };
}

/** The frames of exported files as rows of a table, so that a job reads them as any other. */
class FrameTable implements JobReadable {
  readonly name = 'exported files';

  constructor(
    private readonly folder: string,
    private readonly files: readonly ExportedFile[],
  ) {}

  scan(scan: Scan): ResultScanner {
    const { file, offset } = placeOfRow(scan.startRow);
    const found = this.files[file]!;
    return new FrameScanner(join(this.folder, found.name), file, found, offset, scan.includeStartRow);
  }
}

class FrameScanner extends FileScanner {
  constructor(
    path: string,
    private readonly file: number,
    private readonly expected: ExportedFile,
    private offset: number,
    private readonly inclusive: boolean,
  ) {
    super(path);
  }

  async next(): Promise<Result | undefined> {
    if (this.ended) return undefined;
    if (this.handle === undefined) await this.begin();
    const at = this.offset;
    const head = await this.read(at, FRAME_HEAD_BYTES);
    const length = head.readUInt32BE(0);
    if (length === 0) {
      const end = await this.read(at, END_BYTES);
      if (!end.equals(endOfFile(this.expected.rows)) || at + END_BYTES !== this.expected.bytes)
        throw this.damaged(at);
      return this.finish();
    }
    if (length > LARGEST_FRAME || at + length > this.expected.bytes) throw this.damaged(at);
    const payload = await this.read(at + FRAME_HEAD_BYTES, length);
    if (crc32(payload, 0, length) >>> 0 !== head.readUInt32BE(4)) throw this.damaged(at);
    this.offset = at + FRAME_HEAD_BYTES + length;
    const row = rowOfPlace({ file: this.file, offset: at });
    return new Result(row, [{ row, family: 'f', qualifier: row, timestamp: 0, type: 4, value: payload }]);
  }

  private async begin(): Promise<void> {
    await this.openFile();
    if (this.offset === 0) {
      const head = await this.read(0, HEAD.length);
      if (!head.equals(HEAD)) throw this.damaged(0);
      this.offset = HEAD.length;
    } else if (!this.inclusive) {
      // The frame at the offset is done.
      this.offset += FRAME_HEAD_BYTES + (await this.read(this.offset, FRAME_HEAD_BYTES)).readUInt32BE(0);
    }
  }

  private async read(at: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    for (let from = 0; from < length; ) {
      const { bytesRead } = await this.handle!.read(bytes, from, length - from, at + from);
      if (bytesRead === 0) throw this.damaged(at);
      from += bytesRead;
    }
    return bytes;
  }

  private damaged(offset: number): CorruptionError {
    return new CorruptionError(
      `${this.path} is damaged at byte ${offset}: it is not what was exported. Export the table again, or copy the file again.`,
      { details: { file: this.path, offset } },
    );
  }
}
