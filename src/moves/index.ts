export { type ColumnMove, EntityMoves } from './entity-moves.js';
export { Moves } from './moves.js';
export { moveMutations, readMoved, TableMoves } from './table-moves.js';
