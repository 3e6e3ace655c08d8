export {
  ReferenceHolder,
  ReferenceHolderFollower,
  ReferencePlan,
  ReferenceTarget,
  ReferenceTargetFollower,
} from './references.js';
