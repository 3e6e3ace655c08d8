export { type ColumnMove, EntityMoves, EntityUpgrades } from './entity-moves.js';
export { stepMutations, unsettled, upgradeChecked, upgradeOf } from './migrate-row.js';
export { Moves } from './moves.js';
export { countTransfer, hasOldCells, moveMutations, readMoved, TableMoves } from './table-moves.js';
