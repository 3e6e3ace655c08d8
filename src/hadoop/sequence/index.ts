export { SYNC_BYTES } from './format.js';
export { type SequencePart, SequenceReader } from './reader.js';
export { SequenceWriter } from './writer.js';
