/**
 * Decodes the calls of `ClientService` that read or change single rows: `GetRequest`, `MutateRequest`, `MultiRequest`. The loops over
 * their fields are written by hand, as those of all messages on the path of cells. A tag is the number of a field times 8, plus its wire type:
 * 10 is field 1 as bytes, 16 is field 2 as a varint.
 */

import type { CellReader } from '../../hbase/wire/cell-codec.js';
import { RegionSpecifier } from '../../hbase/wire/messages-rpc.js';
import type { ProtoReader } from '../../hbase/wire/proto-reader.js';
import type { TypeOf } from '../../hbase/wire/schema.js';
import type { Get } from '../../table/index.js';
import { refused } from '../errors.js';
import { readCondition, readMutation, type WireCondition, type WireMutation } from './read-mutation.js';
import { readGet, readNested, readNestedBy } from './read-query.js';

export type Specifier = TypeOf<typeof RegionSpecifier>;

/** A `GetRequest`. */
interface WireGet {
  readonly region: Specifier;
  readonly get: Get;
}

/** A `MutateRequest`. */
interface WireMutate {
  readonly region: Specifier;
  readonly change: WireMutation;
  readonly condition: WireCondition | undefined;
  readonly nonceGroup: bigint;
}

/** Decodes a `GetRequest` up to the reader's end. */
export function readGetCall(reader: ProtoReader): WireGet {
  let region: Specifier | undefined;
  let get: Get | undefined;
  while (!reader.done) {
    const tag = reader.varint();
    if (tag === 10) region = readNested(reader, RegionSpecifier);
    else if (tag === 18) get = readNestedBy(reader, readGet);
    else reader.skip(tag);
  }
  if (region === undefined || get === undefined) throw refused('A get names no region, or no row.');
  return { region, get };
}

/** Decodes a `MutateRequest` up to the reader's end. */
export function readMutateCall(reader: ProtoReader, block: CellReader): WireMutate {
  let region: Specifier | undefined;
  let change: WireMutation | undefined;
  let condition: WireCondition | undefined;
  let nonceGroup = 0n;
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case 10:
        region = readNested(reader, RegionSpecifier);
        break;
      case 18:
        change = readNestedBy(reader, readMutation, block);
        break;
      case 26:
        condition = readNestedBy(reader, readCondition);
        break;
      case 32:
        nonceGroup = reader.bigVarint();
        break;
      default:
        reader.skip(tag);
    }
  }
  if (region === undefined || change === undefined)
    throw refused('A change names no region, or changes nothing.');
  return { region, change, condition, nonceGroup };
}

/** One action: a get, a change, or a coprocessor call, which is neither. */
export interface WireAction {
  readonly index: number;
  readonly get: Get | undefined;
  readonly change: WireMutation | undefined;
}

export interface WireRegionAction {
  readonly region: Specifier;
  readonly atomic: boolean;
  readonly actions: readonly WireAction[];
  readonly condition: WireCondition | undefined;
}

export interface WireMulti {
  readonly regionActions: readonly WireRegionAction[];
  readonly nonceGroup: bigint;
  /** The form of clients before 2.3: the condition of the only action. */
  readonly condition: WireCondition | undefined;
}

/** Decodes a `MultiRequest` up to the reader's end. */
export function readMulti(reader: ProtoReader, block: CellReader): WireMulti {
  const regionActions: WireRegionAction[] = [];
  let nonceGroup = 0n;
  let condition: WireCondition | undefined;
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case 10:
        regionActions.push(readNestedBy(reader, readRegionAction, block));
        break;
      case 16:
        nonceGroup = reader.bigVarint();
        break;
      case 26:
        condition = readNestedBy(reader, readCondition);
        break;
      default:
        reader.skip(tag);
    }
  }
  return { regionActions, nonceGroup, condition };
}

function readRegionAction(reader: ProtoReader, block: CellReader): WireRegionAction {
  const actions: WireAction[] = [];
  let region: Specifier | undefined;
  let atomic = false;
  let condition: WireCondition | undefined;
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case 10:
        region = readNested(reader, RegionSpecifier);
        break;
      case 16:
        atomic = reader.bool();
        break;
      case 26:
        actions.push(readNestedBy(reader, readAction, block));
        break;
      case 34:
        condition = readNestedBy(reader, readCondition);
        break;
      default:
        reader.skip(tag);
    }
  }
  if (region === undefined) throw refused('A part of a Multi names no region.');
  return { region, atomic, actions, condition };
}

function readAction(reader: ProtoReader, block: CellReader): WireAction {
  let index = 0;
  let get: Get | undefined;
  let change: WireMutation | undefined;
  while (!reader.done) {
    const tag = reader.varint();
    switch (tag) {
      case 8:
        index = reader.uint32();
        break;
      case 18:
        change = readNestedBy(reader, readMutation, block);
        break;
      case 26:
        get = readNestedBy(reader, readGet);
        break;
      default:
        reader.skip(tag);
    }
  }
  return { index, get, change };
}
