export {
  ReferenceHolderFollower,
  ReferenceTargetFollower,
} from './followers.js';
export { ReferenceHolder, ReferencePlan, ReferenceTarget } from './participants.js';
