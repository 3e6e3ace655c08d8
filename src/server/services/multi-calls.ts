import { NameBytesPair } from '../../hbase/wire/messages-rpc.js';
import { type ProtoWriter, tagOf, WireType } from '../../hbase/wire/proto-writer.js';
import { type Put, Result, RowMutations } from '../../table/index.js';
import { exceptionOf, JavaClass, notOffered, refused, ServerException } from '../errors.js';
import { type Answer, sizeOfResult, writeExists, writeResult, writeResultCells } from '../rpc/answer.js';
import type { Request } from '../rpc/request.js';
import { readMulti, type WireAction, type WireMulti, type WireRegionAction } from '../wire/read-calls.js';
import type { WireMutation } from '../wire/read-mutation.js';
import {
  catalogIsReadOnly,
  catalogTableOf,
  checkWritableTable,
  type RowParts,
  type RowPlace,
} from './parts.js';
import { applyChange, checkRowIn, hasRow, readRow } from './rows.js';

/** The result of one action. */
interface Outcome {
  readonly index: number;
  readonly result?: Result | undefined;
  /** Whether the action only checks for existence. */
  readonly asksExistence?: boolean;
  readonly exception?: ServerException;
}

/** The result of a region's actions: of each, or of all together. */
interface RegionOutcome {
  readonly outcomes: readonly Outcome[];
  readonly exception?: ServerException;
  readonly processed?: boolean;
  /** Results of atomic actions are inline in the message. */
  readonly isInline: boolean;
}

/** How much more the response may hold. */
interface Budget {
  left: number;
}

/** `Multi`: actions on regions of this server. Each region succeeds or fails on its own. */
export class MultiCalls {
  constructor(private readonly parts: RowParts) {}

  run({ reader, cells, peer }: Request): Answer | Promise<Answer> {
    const multi = readMulti(reader, cells);
    const budget: Budget = {
      left: peer.retriesAtOnce ? this.parts.settings.maxAnswerSize : Number.POSITIVE_INFINITY,
    };
    const regions = multi.regionActions.map((action) => this.regionOutcome(action, multi, budget));
    const isInline = !peer.takesCellBlocks;
    if (!regions.some((region) => region instanceof Promise))
      return new MultiAnswer(regions as RegionOutcome[], isInline);
    return Promise.all(regions).then((outcomes) => new MultiAnswer(outcomes, isInline));
  }

  private regionOutcome(
    action: WireRegionAction,
    multi: WireMulti,
    budget: Budget,
  ): RegionOutcome | Promise<RegionOutcome> {
    try {
      const isReadOnly = action.actions.every(({ get }) => get !== undefined);
      if (isReadOnly) return { outcomes: this.reads(action, budget), isInline: false };
      const table = catalogTableOf(this.parts, action.region);
      if (table !== undefined) throw catalogIsReadOnly(table);
      const served = this.parts.regions.open(action.region);
      checkWritableTable(this.parts, served.state.name);
      const condition = action.condition ?? multi.condition;
      const outcome =
        action.atomic || condition !== undefined
          ? this.together(served, action, condition, multi.nonceGroup)
          : this.eachForItself(served, action, multi.nonceGroup, budget);
      return outcome.catch(failed);
    } catch (error) {
      return failed(error);
    }
  }

  private reads(action: WireRegionAction, budget: Budget): Outcome[] {
    // For a region that is not here, all its actions fail.
    if (catalogTableOf(this.parts, action.region) === undefined) this.parts.regions.open(action.region);
    return action.actions.map((each) => this.read(action, each, budget));
  }

  private read({ region }: WireRegionAction, { index, get }: WireAction, budget: Budget): Outcome {
    try {
      if (budget.left <= 0) {
        throw new ServerException(
          JavaClass.MultiActionResultTooLarge,
          'Max size exceeded: the answer is full, ask for the rest again.',
          false,
        );
      }
      const result = readRow(this.parts, region, get!);
      budget.left -= sizeOfResult(result);
      return { index, result, asksExistence: get!.checkExistenceOnly };
    } catch (error) {
      return { index, exception: exceptionOf(error) };
    }
  }

  /** Executes changes of one row atomically, with or without a condition. */
  private async together(
    served: RowPlace,
    { actions }: WireRegionAction,
    condition: WireRegionAction['condition'],
    nonceGroup: bigint,
  ): Promise<RegionOutcome> {
    const changes = actions.map(({ change }) => {
      if (change === undefined) throw refused('Only changes can be made together or on a condition.');
      return change;
    });
    const [first] = changes;
    if (first === undefined) throw refused('There is nothing to be done together.');
    checkRowIn(served, first.mutation.row);
    const table = this.parts.engine.table(served.state.name);
    const change =
      changes.length === 1
        ? first.mutation
        : new RowMutations(first.mutation.row).add(...changes.map(({ mutation }) => mutation));
    let result: Result | undefined;
    let processed = true;
    if (condition !== undefined) {
      ({ success: processed, result } = await table.checkAndMutate(condition.on(change)));
    } else {
      const nonce = changes.find((each) => each.nonce !== 0n)?.nonce ?? 0n;
      const all = change.kind === 'rowMutations' ? change : new RowMutations(change.row).add(change);
      result =
        nonce === 0n
          ? await table.mutateRow(all)
          : await this.parts.nonces.apply(served.state.name, all, nonceGroup, nonce);
    }
    const outcomes = actions.map((_, index) => ({
      index,
      result: index === 0 && result !== undefined && !result.isEmpty ? result : undefined,
    }));
    return { outcomes, processed, isInline: true };
  }

  private async eachForItself(
    served: RowPlace,
    action: WireRegionAction,
    nonceGroup: bigint,
    budget: Budget,
  ): Promise<RegionOutcome> {
    const { actions } = action;
    const isPutsAlone = actions.every(
      ({ change }) => change?.mutation.kind === 'put' && served.region.contains(change.mutation.row),
    );
    if (isPutsAlone) return { outcomes: await this.putEach(served, actions), isInline: false };
    const outcomes: (Outcome | Promise<Outcome>)[] = [];
    for (const each of actions) {
      if (each.get === undefined) {
        outcomes.push(this.change(served, each, nonceGroup));
        continue;
      }
      // A read sees the actions before it.
      await Promise.all(outcomes);
      outcomes.push(this.read(action, each, budget));
    }
    return { outcomes: await Promise.all(outcomes), isInline: false };
  }

  /** Puts share one WAL record. */
  private async putEach({ state }: RowPlace, actions: readonly WireAction[]): Promise<Outcome[]> {
    const puts = actions.map(({ change }) => change!.mutation as Put);
    const outcomes = await this.parts.engine.table(state.name).batch(puts);
    return outcomes.map((outcome, i) => {
      const { index } = actions[i]!;
      return outcome.ok ? { index, result: Result.EMPTY } : { index, exception: exceptionOf(outcome.error) };
    });
  }

  private async change(
    served: RowPlace,
    { index, change }: WireAction,
    nonceGroup: bigint,
  ): Promise<Outcome> {
    try {
      if (change === undefined) throw notOffered('A call of a coprocessor');
      checkRowIn(served, change.mutation.row);
      return { index, result: await this.applied(served, change, nonceGroup) };
    } catch (error) {
      return { index, exception: exceptionOf(error) };
    }
  }

  private applied(served: RowPlace, change: WireMutation, nonceGroup: bigint): Promise<Result> {
    return applyChange(this.parts, served, change, nonceGroup, change.nonce);
  }
}

function failed(error: unknown): RegionOutcome {
  return { outcomes: [], exception: exceptionOf(error), isInline: false };
}

const REGION_RESULT = tagOf(1, WireType.Bytes);
const PROCESSED = tagOf(2, WireType.Varint);
const OUTCOME = tagOf(1, WireType.Bytes);
const REGION_EXCEPTION = tagOf(2, WireType.Bytes);
const REGION_PROCESSED = tagOf(3, WireType.Varint);
const INDEX = tagOf(1, WireType.Varint);
const RESULT = tagOf(2, WireType.Bytes);
const EXCEPTION = tagOf(3, WireType.Bytes);

/** `MultiResponse`. */
class MultiAnswer implements Answer {
  constructor(
    private readonly regions: readonly RegionOutcome[],
    private readonly isInline: boolean,
  ) {}

  writeCells(writer: ProtoWriter): void {
    if (this.isInline) return;
    for (let r = this.regions.length - 1; r >= 0; r--) {
      const { outcomes, isInline } = this.regions[r]!;
      if (isInline) continue;
      for (let i = outcomes.length - 1; i >= 0; i--) {
        const { result } = outcomes[i]!;
        if (result !== undefined) writeResultCells(writer, [result]);
      }
    }
  }

  writeMessage(writer: ProtoWriter): void {
    const processed = this.regions.find((region) => region.processed !== undefined)?.processed;
    if (processed !== undefined) writer.boolField(PROCESSED, processed);
    for (let r = this.regions.length - 1; r >= 0; r--) {
      const mark = writer.mark();
      this.writeRegion(writer, this.regions[r]!);
      writer.endMessage(REGION_RESULT, mark);
    }
  }

  private writeRegion(writer: ProtoWriter, region: RegionOutcome): void {
    if (region.processed !== undefined) writer.boolField(REGION_PROCESSED, region.processed);
    if (region.exception !== undefined) writeException(writer, REGION_EXCEPTION, region.exception);
    for (let i = region.outcomes.length - 1; i >= 0; i--) {
      const { index, result, asksExistence, exception } = region.outcomes[i]!;
      const mark = writer.mark();
      if (exception !== undefined) writeException(writer, EXCEPTION, exception);
      else if (asksExistence === true) writeExists(writer, RESULT, hasRow(result!));
      else if (result !== undefined) writeResult(writer, RESULT, result, this.isInline || region.isInline);
      writer.varintField(INDEX, index);
      writer.endMessage(OUTCOME, mark);
    }
  }
}

function writeException(writer: ProtoWriter, tag: number, exception: ServerException): void {
  const mark = writer.mark();
  NameBytesPair.write(writer, { name: exception.javaClass, value: Buffer.from(exception.trace) });
  writer.endMessage(tag, mark);
}
