export { dictionaryTableDescriptor, type KeyDictionary, TableDictionary } from './dictionary.js';
export { DictionaryLayout } from './layout.js';
export { DictionaryTable } from './table.js';
