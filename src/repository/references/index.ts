export { ReferenceHolder, ReferencePlan, ReferenceTarget } from './participants.js';
