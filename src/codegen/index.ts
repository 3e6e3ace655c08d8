export { canGenerate, generated, withoutGenerating } from './generated.js';
