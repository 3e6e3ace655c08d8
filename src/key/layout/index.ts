export { type CodecResolver, compileKeyLayout, type LayoutOptions } from './compile.js';
export { checkCondition, checkPartNames } from './conditions.js';
export { appendKey, takesStoredText } from './layout.js';
