export { type CodecResolver, compileKeyLayout, type LayoutOptions } from './compile.js';
export { checkCondition, checkPartNames } from './conditions.js';
export { takesStoredText } from './layout.js';
