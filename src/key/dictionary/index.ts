export { dictionaryTableDescriptor, type KeyDictionary, TableDictionary } from './dictionary.js';
export { DictionaryResolver } from './resolver.js';
