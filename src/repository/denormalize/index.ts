export {
  CopyHolder,
  CopyHolderFollower,
  CopySource,
  CopySourceFollower,
} from './copies.js';
export { type CopyFault, CopyPlan } from './copy-plan.js';
