import { EMPTY_BYTES } from '../../bytes/index.js';
import type { Get } from '../../table/get.js';
import { Result, StaleResult } from '../../table/result.js';
import { writeGet } from '../wire/encode-query.js';
import { type ProtoWriter, tagOf, WireType } from '../wire/proto-writer.js';
import type { WireResult } from '../wire/result-decoder.js';
import { Action } from './action.js';

const ACTION_GET = tagOf(3, WireType.Bytes);

/** Bytes of a get's request, about; its columns seldom matter. */
const GET_SIZE = 120;

/** Reads a row, or whether it is there. */
export class GetAction<T> extends Action<T> {
  readonly verb = 'get';

  constructor(
    table: string,
    readonly get: Get,
    readonly existenceOnly: boolean,
    private readonly read: (result: WireResult, get: Get) => T,
    deadline: number,
    timeout: number,
  ) {
    super(table, get.row, 'shared', GET_SIZE + get.row.length, deadline, timeout);
  }

  override get repeatable(): boolean {
    return true;
  }

  override writeCells(): void {}

  override writeBody(writer: ProtoWriter): void {
    const mark = writer.mark();
    this.writeGet(writer);
    writer.endMessage(ACTION_GET, mark);
  }

  writeGet(writer: ProtoWriter): void {
    writeGet(writer, this.get, this.existenceOnly);
  }

  override convert(result: WireResult): T {
    return this.read(result, this.get);
  }
}

/** The result of a get; a get that asks for existence only has no cells. */
export function readGetResult(result: WireResult, get: Get): Result {
  if (result.stale) return new StaleResult(result.cells.length === 0 ? EMPTY_BYTES : get.row, result.cells);
  return result.cells.length === 0 ? Result.EMPTY : new Result(get.row, result.cells);
}

export function readExists(result: WireResult): boolean {
  return result.exists || result.cells.length > 0;
}
