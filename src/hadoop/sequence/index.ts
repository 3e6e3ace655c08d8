export { type SequencePart, SequenceReader, SequenceWriter, SYNC_BYTES } from './sequence-file.js';
