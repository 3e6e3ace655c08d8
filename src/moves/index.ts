export { type ColumnMove, EntityMoves, EntityUpgrades } from './entity-moves.js';
export { Moves } from './moves.js';
export { stepMutations, unsettled, upgradeChecked, upgradeOf } from './settle-row.js';
export { countTransfer, hasOldCells, moveMutations, readMoved, TableMoves } from './table-moves.js';
