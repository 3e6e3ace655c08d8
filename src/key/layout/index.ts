export { type CodecResolver, compileKeyLayout, type LayoutOptions } from './compile.js';
export { checkCondition, checkPartNames, partError } from './conditions.js';
export { appendKey, checkRowsBetween, keyFormat, takesStoredText } from './layout.js';
export type { FieldEnding, StepFormat } from './step.js';
