import { type ProtoWriter, tagOf, WireType } from '../../hbase/wire/proto-writer.js';
import type { Result } from '../../table/index.js';
import { noCoprocessor } from '../errors.js';
import { type Answer, writeExists, writeResult, writeResultCells } from '../rpc/answer.js';
import type { Request, Service } from '../rpc/request.js';
import { readGetCall, readMutateCall } from '../wire/read-calls.js';
import { MultiCalls } from './multi-calls.js';
import {
  catalogIsReadOnly,
  catalogTableOf,
  checkWritableTable,
  type RowParts,
  type RowPlace,
} from './parts.js';
import { applyChange, checkRowIn, hasRow, readRow } from './rows.js';
import { ScanCalls } from './scan-calls.js';

/** `ClientService`: its methods, and the two that concern one row. Several rows at once are {@link MultiCalls}, scans {@link ScanCalls}. */
export class RegionService {
  private readonly scans: ScanCalls;
  private readonly multi: MultiCalls;
  readonly methods: Service;

  constructor(private readonly parts: RowParts) {
    this.scans = new ScanCalls(parts);
    this.multi = new MultiCalls(parts);
    this.methods = {
      get: (request) => this.get(request),
      mutate: (request) => this.mutate(request),
      multi: (request) => this.multi.run(request),
      scan: (request) => this.scans.scan(request),
      execservice: () => {
        throw noCoprocessor('ExecService');
      },
      execregionserverservice: () => {
        throw noCoprocessor('ExecRegionServerService');
      },
    };
  }

  /** Scanners that are open. */
  get openScanners(): number {
    return this.scans.open;
  }

  close(): void {
    this.scans.close();
  }

  private get({ reader, peer }: Request): Answer {
    const { region, get } = readGetCall(reader);
    const result = readRow(this.parts, region, get);
    if (get.checkExistenceOnly) return new ExistsAnswer(result);
    return new GetAnswer(result, !peer.takesCellBlocksOfGets);
  }

  private async mutate({ reader, cells, peer }: Request): Promise<Answer> {
    const { region, change, condition, nonceGroup } = readMutateCall(reader, cells);
    const table = catalogTableOf(this.parts, region);
    if (table !== undefined) throw catalogIsReadOnly(table);
    const served = this.parts.regions.open(region);
    checkWritableTable(this.parts, served.state.name);
    const { mutation, nonce } = change;
    checkRowIn(served, mutation.row);
    if (condition !== undefined) {
      const outcome = await this.tableOf(served).checkAndMutate(condition.on(mutation));
      return new MutateAnswer(outcome.result, outcome.success, !peer.takesCellBlocks);
    }
    const result = await applyChange(this.parts, served, change, nonceGroup, nonce);
    const isAnswered = mutation.kind === 'increment' || mutation.kind === 'append';
    return new MutateAnswer(isAnswered ? result : undefined, true, !peer.takesCellBlocks);
  }

  private tableOf({ state }: RowPlace) {
    return this.parts.engine.table(state.name);
  }
}

const RESULT = tagOf(1, WireType.Bytes);
const PROCESSED = tagOf(2, WireType.Varint);

/** `GetResponse`. */
class GetAnswer implements Answer {
  constructor(
    private readonly result: Result,
    private readonly isInline: boolean,
  ) {}

  writeCells(writer: ProtoWriter): void {
    if (!this.isInline) writeResultCells(writer, [this.result]);
  }

  writeMessage(writer: ProtoWriter): void {
    writeResult(writer, RESULT, this.result, this.isInline);
  }
}

/** `GetResponse` of whether there is a row. */
class ExistsAnswer implements Answer {
  constructor(private readonly result: Result) {}

  writeMessage(writer: ProtoWriter): void {
    writeExists(writer, RESULT, hasRow(this.result));
  }
}

/** `MutateResponse`. */
class MutateAnswer implements Answer {
  constructor(
    private readonly result: Result | undefined,
    private readonly processed: boolean,
    private readonly isInline: boolean,
  ) {}

  writeCells(writer: ProtoWriter): void {
    if (this.result !== undefined && !this.isInline) writeResultCells(writer, [this.result]);
  }

  writeMessage(writer: ProtoWriter): void {
    writer.boolField(PROCESSED, this.processed);
    if (this.result !== undefined) writeResult(writer, RESULT, this.result, this.isInline);
  }
}
