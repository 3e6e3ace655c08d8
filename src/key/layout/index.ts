export { type CodecResolver, compileKeyLayout, type LayoutOptions } from './compile.js';
