/** `VisibilityLabels.proto`, and what of `Client.proto` says who may see a cell and what a reader makes use of. */

import { NameBytesPair } from './messages-rpc.js';
import { bytes, encodeMessage, message, nested, repeated, required, string, uint32 } from './schema.js';

/** The attribute of a mutation that has an expression, and that of a get or scan that has labels. */
export const VISIBILITY = 'VISIBILITY';

const CellVisibility = message('CellVisibility', { expression: required(string(1)) });
export const Authorizations = message('Authorizations', { label: repeated(string(1)) });

/** The value of the attribute of a mutation. */
export function encodeVisibility(expression: string): Uint8Array {
  return encodeMessage(CellVisibility, { expression });
}

const VisibilityLabel = message('VisibilityLabel', { label: required(bytes(1)), ordinal: uint32(2) });
export const VisibilityLabelsRequest = message('VisibilityLabelsRequest', {
  visLabel: repeated(nested(1, VisibilityLabel)),
});
/** What became of one label: nothing of note, or an exception. */
const LabelResult = message('RegionActionResult', { exception: nested(2, NameBytesPair) });
export const VisibilityLabelsResponse = message('VisibilityLabelsResponse', {
  result: repeated(nested(1, LabelResult)),
});
export const SetAuthsRequest = message('SetAuthsRequest', {
  user: required(bytes(1)),
  auth: repeated(bytes(2)),
});
export const GetAuthsRequest = message('GetAuthsRequest', { user: required(bytes(1)) });
export const GetAuthsResponse = message('GetAuthsResponse', {
  user: required(bytes(1)),
  auth: repeated(bytes(2)),
});
export const ListLabelsRequest = message('ListLabelsRequest', { regex: string(1) });
export const ListLabelsResponse = message('ListLabelsResponse', { label: repeated(bytes(1)) });
